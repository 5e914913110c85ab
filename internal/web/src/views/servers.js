// The servers of the capture, and one of them.
import { html, useMemo } from "../html.js";
import { usePage, useClock } from "../ui/context.js";
import { linkTo } from "../route.js";
import { serverRows, exchangeRows, findingRows, incidentRows, partnersOf } from "../model/rows.js";
import { formatCount, formatShare, formatMillis, formatGain, formatBytes, formatShort, counted } from "../model/number.js";
import { Table } from "../ui/table.js";
import { Facts, Lost, None, Section, Wire } from "../ui/bits.js";
import { Chart } from "../ui/chart.js";
import { quantilePoints } from "../model/series.js";
import { exchangeColumns, NoExchanges } from "./exchanges.js";
import { findingColumns } from "./findings.js";
import { incidentColumns } from "./incidents.js";

const players = (r) => (r.players == null ? "–" : `${r.players}/${r.max ?? "?"}`);

export function Servers() {
  const { report, range } = usePage();
  const rows = useMemo(() => serverRows(report, range), [report, range]);
  const columns = [
    { key: "server", label: "Server", long: true, cell: (r) => r.server && html`<a href=${linkTo("server", r.server)}>${r.server}</a>` },
    { key: "name", label: "Name", wide: true, cell: (r) => (r.rest ? html`<em>${r.name}</em>` : html`<${Wire} text=${r.name} limit=${80} />`) },
    { key: "map", label: "Map", cell: (r) => html`<${Wire} text=${r.map} limit=${30} />` },
    { key: "players", label: "Players", number: true, cell: players },
    { key: "requests", label: "Requests", number: true, cell: (r) => formatCount(r.requests) },
    { key: "any", label: "Any reply", number: true, cell: (r) => formatShare(r.any), help: "share of the requests that got any reply, a challenge included" },
    { key: "served", label: "Served", number: true, cell: (r) => formatShare(r.served), help: "of the requests that brought back a challenge, the share that got what they asked for" },
    { key: "p50", label: "p50", number: true, cell: (r) => formatMillis(r.p50) },
    { key: "p95", label: "p95", number: true, cell: (r) => formatMillis(r.p95) },
    { key: "gain", label: "Gain", number: true, cell: (r) => formatGain(r.gain), help: "bytes out for each byte in, of payloads" },
  ];
  const { stats, timeline } = report;
  const none = html`<${None} inRange="No server was asked in this range." whole="No server was asked anything, and none answered.">
    A server is known by its queries. qsniff looks for them on all ports; -d udp.port==N,PROTOCOL names one to try harder on.<//>`;
  const all = (stats.servers?.length ?? 0) + (stats.servers_not_listed ?? 0);
  return html`<h1 tabindex="-1">Servers</h1>
    ${range && timeline.servers.length < all && html`<p class="caveat">
      In a range of time the ${counted(timeline.servers.length, "busiest server")} of ${formatCount(all)} have a row of their own; the others are in one together.</p>`}
    <${Table} caption="Servers" sort="-requests" search="Address, name or map" total=${all} ...${{ columns, rows }} empty=${none} />`;
}

export function Server({ address }) {
  const { report, range } = usePage();
  const s = report.servers.get(address);
  const mine = (x) => x.server === address;
  const series = report.timeline.servers.find(mine);
  if (!s && !series && !report.exchanges.some(mine))
    return html`<${Lost} heading="Server" title="There is no server ${address} in this report."><a href=${linkTo("servers")}>All servers</a><//>`;
  const row = serverRows(report, range).find(mine) ?? {};
  return html`<h1 tabindex="-1">${address} ${s?.name && html`<${Wire} text=${s.name} />`}</h1>
    <${About} ...${{ s, row }} />
    ${series && html`<${ServerCharts} ...${{ series, address }} />`}
    <${Incidents} address=${address} /><${Partners} ...${{ mine, address }} />
    <${Findings} ...${{ mine }} /><${Exchanges} ...${{ mine, s }} />`;
}

function About({ s, row }) {
  const { range } = usePage();
  return html`<${Facts} of=${[
    ["Map", s?.map && html`<${Wire} text=${s.map} />`],
    ["Players", s?.players != null && players({ players: s.players, max: s.max_players })],
    ["Bots", s?.bots > 0 && formatCount(s.bots)],
    ["Waiting", s?.queue > 0 && formatCount(s.queue)],
    ["Asks for a challenge", s?.challenged],
    ["Requests", formatCount(row.requests ?? 0)],
    ["Got any reply", row.any != null && formatShare(row.any)],
    ["Proven clients served", row.served != null && formatShare(row.served)],
    ["Late", !range && s?.late > 0 && formatCount(s.late)],
    ["Response p50, p95", row.p50 >= 0 && `${formatMillis(row.p50)}, ${formatMillis(row.p95)}`],
    ["Bytes in, out", `${formatBytes(row.bytesIn ?? 0)}, ${formatBytes(row.bytesOut ?? 0)}`],
    ["Gain", row.gain != null && formatGain(row.gain)],
  ].filter(([, v]) => v !== false)} />`;
}

const targets = (x, address) => x.target === address || x.target?.endsWith("/" + address) || x.targets?.some((t) => t.endsWith("/" + address));

function ServerCharts({ series, address }) {
  const { report } = usePage();
  const { timeline } = report;
  const incidents = useMemo(() => report.incidents.filter((x) => targets(x, address)), [report, address]);
  const charts = useMemo(() => {
    const at = (values) => Array.from({ length: timeline.points }, (_, i) => (values?.[i] ?? 0) / timeline.interval);
    return [
      { title: "Requests and replies a second", summary: `Requests to ${address} and its replies, a second.`, format: (v) => `${formatShort(v)}/s`, series: [
        { label: "requests", color: "--s1", values: at(series.requests) }, { label: "replies", color: "--s2", values: at(series.replies) }] },
      { title: "Response time, estimated", summary: `Response times of ${address}, estimated from buckets.`, format: formatMillis, series: [
        { label: "p50", color: "--s1", values: quantilePoints([series.rtt], 0.5, timeline.bounds, timeline.points) },
        { label: "p95", color: "--s3", values: quantilePoints([series.rtt], 0.95, timeline.bounds, timeline.points) }] },
    ];
  }, [series]);
  return html`<section class="charts" aria-label="Over time">${charts.map((c) => html`<${Chart} key=${c.title} ...${c} incidents=${incidents} />`)}</section>`;
}

function Incidents({ address }) {
  const { report, range } = usePage();
  const clock = useClock();
  const rows = incidentRows(report, range).filter((x) => targets(x, address));
  if (rows.length === 0) return null;
  return html`<${Section} id="incidents" title="Incidents">
    <${Table} name="incidents" caption="Incidents of this server" sort="-rank" columns=${incidentColumns(clock)} rows=${rows} /><//>`;
}

// groupBy counts the exchanges in the report by a key.
function groupBy(rows, keyOf) {
  const groups = new Map();
  for (const x of rows) {
    const key = keyOf(x);
    const g = groups.get(key) ?? { key, name: key, exchanges: 0, answered: 0, at: x.at };
    g.exchanges++;
    g.answered += x.outcome === "answered" ? 1 : 0;
    groups.set(key, g);
  }
  return [...groups.values()].map((g) => ({ ...g, share: g.answered / g.exchanges }));
}

// Partners are what the server was asked and by whom: as counted, or, where that is unknown, of
// the exchanges that are in the report.
function Partners({ mine, address }) {
  const { report, range } = usePage();
  const counts = useMemo(() => range ? null : partnersOf(report, address), [report, range, address]);
  const rows = useMemo(() => counts ? [] : exchangeRows(report, range, mine), [counts, report, range, address]);
  const left = report.doc.left_out?.exchanges;
  const about = counts || !left ? "" : `Of the ${counted(rows.length, "exchange")} with it that are in this report${range ? " and in the range" : ""}, not of all.`;
  const column = counts
    ? { key: "requests", label: "Requests", number: true, cell: (r) => (r.error ? "about " : "") + formatCount(r.requests) }
    : { key: "exchanges", label: "Exchanges", number: true, cell: (r) => formatCount(r.exchanges) };
  const list = (id, title, label, found, part) => found.length > 0 && html`<${Section} ...${{ id, title, about }}>
    <${Table} name=${id} caption=${title} sort=${"-" + column.key} search=${label} rows=${found}
      columns=${[{ key: "name", label }, column, { key: "share", label: part, number: true, cell: (r) => formatShare(r.share) }]} /><//>`;
  return html`${list("kinds", "What it was asked", "Query", counts?.kinds ?? groupBy(rows, (x) => x.kind), "Answered")}
    ${list("clients", counts ? "Its busiest clients" : "Its clients", "Client", counts?.clients ?? groupBy(rows, (x) => hostOf(x.client)), counts ? "Share" : "Answered")}`;
}

const hostOf = (end) => (end ?? "unknown").replace(/:\d+$/, "");

function Findings({ mine }) {
  const { report, range } = usePage();
  const clock = useClock();
  const rows = findingRows(report, range).filter(mine);
  if (rows.length === 0) return null;
  return html`<${Section} id="findings" title="Findings">
    <${Table} name="findings" caption="Findings at this server" sort="-rank" columns=${findingColumns(clock, report.isLive)} rows=${rows} /><//>`;
}

function Exchanges({ mine }) {
  const { report, range } = usePage();
  const clock = useClock();
  const rows = useMemo(() => exchangeRows(report, range, mine), [report, range]);
  return html`<${Section} id="exchanges" title="Exchanges">
    <${Table} name="exchanges" caption="Exchanges with this server" sort="at" search="Client, query or finding" rows=${rows}
      columns=${exchangeColumns(clock).filter((c) => c.key !== "server")} empty=${html`<${NoExchanges} />`} /><//>`;
}
