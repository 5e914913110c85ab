// Rows of tables. Without a range they are the totals of `stats`; with one they are sums of the
// timeline, which has the busiest servers and clients, and the others together in one row.
import { sum, mergeTimes, quantile } from "./series.js";
import { parseTime } from "./time.js";
import { overlaps, wholeOf } from "./range.js";
import { explanationOf, findExchange, kindName } from "./report.js";

const share = (part, whole) => (whole > 0 ? part / whole : undefined);
// decided is the share of the exchanges whose end is known that were answered.
const decided = ({ answered, unanswered }) => share(answered, answered + unanswered);
// fates are the two shares of how requests fared: that got any reply, a challenge included, and, of
// clients that proved their address, that got what they asked for.
const fates = ({ replied, unanswered, proven, served }) => ({ any: share(replied, replied + unanswered), served: share(served, proven) });
const severities = ["chat", "note", "warn", "error"];
const levels = ["info", "warn", "alert"];

/** rankOf orders severities and levels by weight. */
export const rankOf = (word) => Math.max(severities.indexOf(word), levels.indexOf(word));

/** totalsOf adds up one entry of the timeline in a range. */
function totalsOf(entry, range, timeline) {
  const { a, b } = range ?? wholeOf(timeline);
  const add = (name) => sum(entry[name], a, b);
  const times = mergeTimes([entry.rtt], a, b);
  const of = (q) => quantile(times, q, timeline.bounds);
  const row = {
    requests: add("requests"), replies: add("replies"), answered: add("answered"), unanswered: add("unanswered"),
    replied: add("replied"), proven: add("proven"), served: add("proven_served"),
    bytesIn: add("bytes_in"), bytesOut: add("bytes_out"),
    p50: of(0.5), p95: of(0.95),
  };
  row.gain = share(row.bytesOut, row.bytesIn);
  return row;
}

/** kindRows returns a row for each kind of query. */
export function kindRows({ timeline }, range) {
  return timeline.kinds
    .map((k) => {
      const row = totalsOf(k, range, timeline);
      return { ...row, key: `${k.protocol}/${k.message}`, name: kindName(k), protocol: k.protocol, ...fates(row) };
    })
    .filter((row) => row.requests + row.answered + row.bytesIn + row.bytesOut > 0);
}

/** serverRows returns a row for each server. */
export function serverRows(report, range) {
  const told = (s) => ({ key: s.server, server: s.server, name: s.name, map: s.map, players: s.players, max: s.max_players });
  if (!range)
    return report.stats.servers?.map((s) => ({
      ...told(s), requests: s.requests, replies: s.replies, answered: s.answered,
      ...fates({ replied: s.replied, unanswered: s.unanswered, proven: s.proven, served: s.proven_served }),
      p50: s.rtt_ms?.p50, p95: s.rtt_ms?.p95, bytesIn: s.bytes_in, bytesOut: s.bytes_out, gain: s.amplification?.payload,
    })) ?? [];
  const { servers, otherServers } = report.timeline;
  return [...servers, otherServers]
    .filter(Boolean)
    .map((s) => {
      const row = totalsOf(s, range, report.timeline);
      const names = s.rest ? { key: "", name: "all other servers", rest: true } : told(report.servers.get(s.server) ?? s);
      return { ...row, ...names, ...fates(row) };
    })
    .filter((row) => row.requests + row.replies > 0);
}

/** clientRows returns a row for each of the busiest clients. */
export function clientRows({ stats, timeline }, range) {
  const all = range ? sumOfKinds(timeline, range) : stats.requests;
  const listed = range || !stats.clients?.length ? requestsOf(timeline, range ?? wholeOf(timeline)) : stats.clients;
  return listed.filter((c) => c.requests > 0).map((c) => ({ ...c, key: c.address, share: share(c.requests, all) }));
}

const requestsOf = ({ clients, otherClients }, { a, b }) => [...clients, otherClients].filter(Boolean)
  .map((c) => ({ address: c.rest ? "all other addresses" : c.address, rest: c.rest, requests: sum(c.requests, a, b) }));

/** partnersOf returns what a server was asked and by whom, as it was counted over the whole
 * capture; null where it was not, or only since other servers had come first. */
export function partnersOf({ timeline, servers }, address) {
  const row = timeline.servers.find((s) => s.server === address);
  const requests = servers.get(address)?.requests;
  if (!row?.kinds || (requests !== undefined && sum(row.requests, 0, timeline.points) !== requests)) return null;
  return {
    kinds: row.kinds.filter((k) => k.requests || k.answered).map((k) => ({ key: kindName(k), name: kindName(k), requests: k.requests, share: decided(k) })),
    clients: (row.clients ?? []).map((c) => ({ key: c.address, name: c.address, requests: c.requests, error: c.error, share: share(c.requests, sum(row.requests, 0, timeline.points)) })),
  };
}

const sumOfKinds = (timeline, { a, b }) => timeline.kinds.reduce((n, k) => n + sum(k.requests, a, b), 0);

/** totalRow returns the figures of all queries. */
export function totalRow(report, range) {
  const { stats, timeline } = report;
  const { a, b } = range ?? wholeOf(timeline);
  const all = (name) => timeline.kinds.reduce((n, k) => n + sum(k[name], a, b), 0);
  const times = mergeTimes(timeline.kinds.map((k) => k.rtt), a, b);
  const bytes = { bytesIn: all("bytes_in"), bytesOut: all("bytes_out") };
  const row = { ...bytes, gain: share(bytes.bytesOut, bytes.bytesIn), seconds: (b - a) * timeline.interval };
  if (range)
    return { ...row, requests: all("requests"), ...fates({ replied: all("replied"), unanswered: all("unanswered"), proven: all("proven"), served: all("proven_served") }),
      p50: quantile(times, 0.5, timeline.bounds), p95: quantile(times, 0.95, timeline.bounds) };
  return { ...row, requests: stats.requests, ...fates({ ...stats, served: stats.proven_served }),
    p50: stats.rtt_ms?.p50, p95: stats.rtt_ms?.p95, seconds: stats.duration_s };
}

/** exchangeRows returns a row for each exchange and connection in the report. */
export function exchangeRows(report, range, keep = () => true) {
  return report.exchanges.filter((x) => overlaps(range, x.at, x.at + (x.duration_ms ?? 0) / 1e3) && keep(x)).map((x) => ({
    key: x.id, id: x.id, at: x.at, server: x.server, client: x.client, protocol: x.protocol,
    kind: x.record === "connection" ? `${x.protocol ?? ""} connection` : kindName(x),
    outcome: x.outcome ?? (x.open ? "open" : "closed"), rtt: x.rtt_ms, duration: x.duration_ms, packets: x.packets,
    findings: findingsOf(x),
  }));
}

/** findingsOf returns the findings of an exchange: those of its messages and about it. */
function findingsOf(x) {
  const all = [...(x.messages ?? []).flatMap((m) => m.findings ?? []), ...(x.records ?? [])];
  return [...new Map(all.filter((f) => f.id).map((f) => [f.id, f])).values()].sort((p, q) => rankOf(q.severity) - rankOf(p.severity));
}

/** incidentRows returns a row for each incident. */
export function incidentRows(report, range) {
  return report.incidents
    .map((x) => ({ ...x, key: x.id, at: parseTime(x.start), until: x.end ? parseTime(x.end) : report.timeline.last, goesOn: report.isLive && !x.end, rank: rankOf(x.level) }))
    .filter((x) => overlaps(range, x.at, x.until));
}

/** findingRows returns a row for each line of `findings`. */
export function findingRows(report, range) {
  return report.findings
    .map((f, i) => ({ ...f, key: i, at: parseTime(f.time), until: parseTime(f.last ?? f.time), rank: rankOf(f.severity), frame: f.frame ?? f.frames?.[0], exchange: findExchange(report, [f.frame, ...(f.frames ?? [])]) }))
    .filter((f) => overlaps(range, f.at, f.until));
}

/** findingGroups returns a row for each finding that occurs, with its explanation. */
export function findingGroups(report, range) {
  const groups = new Map();
  for (const f of findingRows(report, range)) {
    const g = groups.get(f.id) ?? { key: f.id, id: f.id, severity: f.severity, fault: f.fault, rank: f.rank, count: 0, between: 0, at: f.at };
    g.count += f.count ?? 1;
    g.between++;
    groups.set(f.id, g);
  }
  return [...groups.values()].map((g) => ({ ...g, seen: explanationOf(report, g.id).seen })).sort((p, q) => q.rank - p.rank || q.count - p.count);
}
