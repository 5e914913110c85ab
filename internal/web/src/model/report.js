// A report with what views look up in it. The document is as `qsniff report -o json` prints
// it; nothing is added to it but indexes.
import { parseTime } from "./time.js";

/** indexReport returns the document with its indexes. isLive: of a program that runs on. */
export function indexReport(doc, isLive = false) {
  const timeline = indexTimeline(doc.timeline, doc.stats);
  const exchanges = doc.exchanges ?? [];
  const report = {
    doc,
    isLive,
    stats: doc.stats ?? {},
    timeline,
    incidents: doc.incidents ?? [],
    notes: doc.notes ?? {},
    findings: doc.findings ?? [],
    exchanges,
    explain: doc.explain ?? {},
    servers: new Map((doc.stats?.servers ?? []).map((s) => [s.server, s])),
    byID: new Map(exchanges.map((x) => [String(x.id), x])),
    byFrame: new Map(),
  };
  for (const x of exchanges) {
    x.at = parseTime(x.time);
    for (const m of x.messages ?? []) for (const frame of m.frames ?? [m.frame]) report.byFrame.set(frame, x.id);
  }
  return report;
}

/** indexTimeline returns the timeline of a document, with its times as numbers. */
export function indexTimeline(timeline, stats) {
  const start = parseTime(timeline?.start ?? stats?.start);
  const interval = timeline?.interval_s || 1;
  const points = timeline?.points ?? 0;
  return {
    start, interval, points,
    first: parseTime(stats?.start), last: parseTime(stats?.end),
    end: start + points * interval,
    times: Array.from({ length: points }, (_, i) => start + i * interval),
    kinds: timeline?.kinds ?? [],
    servers: (timeline?.servers ?? []).filter((s) => !s.rest),
    clients: (timeline?.clients ?? []).filter((c) => !c.rest),
    otherServers: (timeline?.servers ?? []).find((s) => s.rest),
    otherClients: (timeline?.clients ?? []).find((c) => c.rest),
    bounds: (timeline?.bucket_ms ?? []).map((ms) => Math.min(ms, stats?.rtt_ms?.max ?? Infinity)), // no time is above the longest
  };
}

/** findExchange returns the id of the exchange in the report that one of the frames is of. */
export const findExchange = (report, frames) => frames?.map((f) => report.byFrame.get(f)).find((id) => id !== undefined);

/** kindName returns what a kind of query is called on the page. */
export const kindName = (k) => k.message ?? (k.protocol ? `${k.protocol}, unknown type` : k.rest ? "all other kinds" : "unknown");

/** explanationOf returns the words on a finding or a kind of incident, empty without any. */
export const explanationOf = (report, id) => report.explain[id] ?? {};
