// The overview: the verdict and what to do, then figures, rates over time, and what was asked.
import { html, useMemo } from "../html.js";
import { usePage, useClock } from "../ui/context.js";
import { linkTo } from "../route.js";
import { verdictOf } from "../model/verdict.js";
import { kindRows, clientRows, totalRow, incidentRows, findingGroups } from "../model/rows.js";
import { kindName, explanationOf } from "../model/report.js";
import { addPoints, quantilePoints, sum } from "../model/series.js";
import { counted, formatCount, formatShare, formatMillis, formatGain, formatBytes, formatShort } from "../model/number.js";
import { formatSpan, trim } from "../model/time.js";
import { Chart } from "../ui/chart.js";
import { Table } from "../ui/table.js";
import { Level, None, Section, Sign } from "../ui/bits.js";
import { incidentSentence } from "./incidents.js";

// worst is how many incidents the verdict names, and chartKinds how many kinds have a line of
// their own. Chosen: what fits on a screen, and what eyes keep apart.
const worst = 3;
const chartKinds = 5;

export function Overview() {
  const { report } = usePage();
  return html`<${Verdict} /><${Figures} />
    ${report.timeline.kinds.length > 0 && html`<${Charts} />`}
    <${Kinds} /><${Amplification} /><${Clients} />`;
}

function Verdict() {
  const { report } = usePage();
  const clock = useClock();
  const verdict = useMemo(() => verdictOf(report), [report]);
  const incidents = incidentRows(report).filter((x) => x.level !== "info").sort((p, q) => q.rank - p.rank || q.peak_qps - p.peak_qps);
  const errors = findingGroups(report).filter((g) => g.severity === "error").slice(0, worst);
  return html`<section class="verdict ${verdict.level}" aria-label="Verdict">
    <h1 tabindex="-1"><${Sign} of=${verdict.level} /> ${verdict.headline}</h1>
    <p class="scope">${clock.day}: ${verdict.scope}.</p>
    ${incidents.slice(0, worst).map((x) => html`<${Attack} key=${x.id} x=${x} />`)}
    ${incidents.length > worst && html`<p><a href=${linkTo("incidents")}>All ${incidents.length} incidents</a></p>`}
    ${errors.map((g) => html`<${Fault} key=${g.id} g=${g} />`)}
    ${verdict.caveats.map((text) => html`<p class="caveat" key=${text}>${text}</p>`)}
  </section>`;
}

function Attack({ x }) {
  const { report } = usePage();
  const clock = useClock();
  const explained = explanationOf(report, x.kind);
  return html`<div class="action">
    <p><${Level} of=${x.level} /> <a href=${linkTo("incident", x.id)}><b>${x.kind}</b></a> ${incidentSentence(x, clock)}</p>
    ${explained.what && html`<p>${explained.what}</p>`}
    <p class="do"><b>What to do:</b> ${x.advice_words?.[0] ?? explained.do} <a href=${linkTo("incident", x.id)}>Evidence, sources and rules to load</a></p>
  </div>`;
}

function Fault({ g }) {
  const { report } = usePage();
  return html`<div class="action">
    <p><${Level} of=${g.severity} /> <a href=${linkTo("finding", g.id)}>${g.id}</a> ${g.seen} <span class="quiet">${formatCount(g.count)}×</span></p>
    <p class="do"><b>What to do:</b> ${explanationOf(report, g.id).do}</p>
  </div>`;
}

function Figures() {
  const { report, range, source } = usePage();
  const row = totalRow(report, range);
  const { stats } = report;
  const clients = stats.distinct_clients;
  const figure = (name, value, about) => html`<div class="figure" key=${name}><dt>${name}</dt><dd>${value}${about && html`<small>${about}</small>`}</dd></div>`;
  return html`<dl class="figures" aria-label="Figures">
    ${figure("Queries", formatCount(row.requests), row.seconds > 0 ? `${trim(row.requests / row.seconds)}/s in the mean` : "")}
    ${figure("Got any reply", stats.only ? "–" : formatShare(row.any), stats.only ? `only ${stats.only} were captured` : "challenges included")}
    ${figure("Proven clients served", stats.only ? "–" : formatShare(row.served), "got what they asked for")}
    ${figure("Response p50", formatMillis(row.p50), "network included")}
    ${figure("Response p95", formatMillis(row.p95))}
    ${figure("Gain", formatGain(row.gain), `${formatBytes(row.bytesIn)} in, ${formatBytes(row.bytesOut)} out`)}
    ${!range && (clients?.estimate || !source.counts) && figure("Clients", formatCount(clients?.estimate), clients?.error ? `within ${formatShare(clients.error)}` : "addresses")}
  </dl>`;
}

function Charts() {
  const { report } = usePage();
  const { timeline } = report;
  const charts = useMemo(() => chartsOf(timeline), [timeline]);
  const attacks = useMemo(() => report.incidents.filter((x) => x.level !== "info"), [report]);
  return html`<section class="charts" aria-label="Over time">${charts.map((c) => html`<${Chart} key=${c.title} ...${c} incidents=${attacks} />`)}</section>`;
}

function chartsOf(timeline) {
  const { kinds, points, interval, bounds } = timeline;
  const total = (name) => addPoints(kinds.map((k) => k[name]), points);
  const rate = (values) => Array.from({ length: points }, (_, i) => (values?.[i] ?? 0) / interval);
  const [requests, replied, unanswered, proven, served] = ["requests", "replied", "unanswered", "proven", "proven_served"].map(total);
  const shares = (part, whole) => whole.map((n, i) => (n > 0 ? part[i] / n : null));
  const times = kinds.map((k) => k.rtt);
  const peak = Math.max(0, ...rate(requests));
  const perSecond = (v) => `${formatShort(v)}/s`;
  const bytes = (v) => `${formatBytes(v)}/s`;
  return [
    { title: "Queries a second, by kind", summary: `Queries a second by kind; at most ${trim(peak)}.`, series: rateSeries(timeline, rate), format: perSecond },
    { title: "Got a reply", summary: "Share of the requests of that time that got any reply, and of those of clients that proved their address, that got what they asked for.", max: 1.02, format: (v) => formatShare(v), series: [
      { label: "any reply", color: "--s3", values: shares(replied, replied.map((n, i) => n + unanswered[i])) },
      { label: "proven clients served", color: "--s2", values: shares(served, proven) }] },
    { title: "Response time, estimated", summary: "Response times of half and of 95 % of the answers, estimated from buckets.", format: formatMillis, series: [
      { label: "p50", color: "--s1", values: quantilePoints(times, 0.5, bounds, points) },
      { label: "p95", color: "--s3", values: quantilePoints(times, 0.95, bounds, points) }] },
    { title: "Bytes in and out", summary: "Bytes of queries and of replies a second.", format: bytes, series: [
      { label: "in", color: "--s1", values: rate(total("bytes_in")) },
      { label: "out", color: "--s4", values: rate(total("bytes_out")) }] },
  ];
}

function rateSeries({ kinds, points }, rate) {
  const sized = kinds.map((k) => ({ k, n: sum(k.requests, 0, points) })).filter((x) => x.n > 0).sort((p, q) => q.n - p.n);
  const series = sized.slice(0, chartKinds).map(({ k }, i) => ({ label: kindName(k), color: `--s${i + 1}`, values: rate(k.requests) }));
  const others = sized.slice(chartKinds).map((x) => x.k.requests);
  if (others.length > 0) series.push({ label: counted(others.length, "other kind"), color: "--s6", values: rate(addPoints(others, points)) });
  return series;
}

const estimated = "response time, estimated from the buckets of the timeline";

function Kinds() {
  const { report, range } = usePage();
  const rows = useMemo(() => kindRows(report, range), [report, range]);
  const columns = [
    { key: "name", label: "Message" }, { key: "protocol", label: "Protocol" },
    { key: "requests", label: "Requests", number: true, cell: (r) => formatCount(r.requests) },
    { key: "any", label: "Any reply", number: true, cell: (r) => formatShare(r.any), help: "share of the requests that got any reply, a challenge included" },
    { key: "served", label: "Served", number: true, cell: (r) => formatShare(r.served), help: "of the requests that brought back a challenge, the share that got what they asked for" },
    { key: "p50", label: "p50", number: true, help: estimated, cell: (r) => formatMillis(r.p50) },
    { key: "p95", label: "p95", number: true, help: estimated, cell: (r) => formatMillis(r.p95) },
    { key: "bytesIn", label: "In", number: true, cell: (r) => formatBytes(r.bytesIn) },
    { key: "bytesOut", label: "Out", number: true, cell: (r) => formatBytes(r.bytesOut) },
    { key: "gain", label: "Gain", number: true, cell: (r) => formatGain(r.gain), help: "bytes out for each byte in, of payloads" },
  ];
  const none = html`<${None} inRange="Nothing was asked in this range." whole="Nobody asked a server anything in this capture.">
    The capture may have been taken at another host, or with a filter that leaves queries out.<//>`;
  return html`<${Section} id="kinds" title="What was asked and answered">
    <${Table} name="kinds" caption="What was asked and answered" sort="-requests" ...${{ columns, rows }} empty=${none} /><//>`;
}

function Amplification() {
  const { report, range } = usePage();
  const rows = (report.stats.amplification ?? []).map((a) => ({
    key: `${a.protocol}/${a.message}`, name: kindName(a),
    open: a.before_challenge?.answers, openGain: a.before_challenge?.payload, openWire: a.before_challenge?.wire,
    closed: a.after_challenge?.answers, closedGain: a.after_challenge?.payload, closedWire: a.after_challenge?.wire,
  }));
  if (rows.length === 0) return null;
  if (range)
    return html`<${Section} id="amplification" title="Amplification" about="The gain of the range is in the table above. Open answers are counted over the whole capture only." />`;
  const gain = (key, label, help) => ({ key, label, help, number: true, cell: (r) => formatGain(r[key]) });
  const columns = [
    { key: "name", label: "Query" },
    { key: "open", label: "Open answers", number: true, cell: (r) => formatCount(r.open), help: "to clients without a challenge, as far as the capture shows" },
    gain("openGain", "Gain"), gain("openWire", "On the wire", "with the headers of packets"),
    { key: "closed", label: "After a challenge", number: true, cell: (r) => formatCount(r.closed), help: "to clients that brought one back" },
    gain("closedGain", "Gain"), gain("closedWire", "On the wire", "with the headers of packets"),
  ];
  const about = "Bytes of an answer for each byte of a request, in all of the capture. " +
    "Open answers can be turned against others: anybody's address gets them.";
  return html`<${Section} id="amplification" title="Amplification" about=${about}>
    <${Table} name="gain" caption="Amplification" sort="-open" ...${{ columns, rows }} /><//>`;
}

function Clients() {
  const { report, range } = usePage();
  const rows = useMemo(() => clientRows(report, range), [report, range]);
  const columns = [
    { key: "address", label: "Address", cell: (r) => (r.rest ? html`<em>${r.address}</em>` : r.address) },
    { key: "requests", label: "Requests", number: true, cell: (r) => formatCount(r.requests) },
    { key: "share", label: "Share", number: true, cell: (r) => formatShare(r.share) },
  ];
  if (rows.length === 0) return null;
  const all = report.stats.distinct_clients?.estimate;
  const own = rows.filter((r) => !r.rest).length;
  const about = all > own && `${formatCount(own)} of about ${formatCount(Math.round(all))} addresses${range ? ", in the chosen range" : ""}.`;
  return html`<${Section} id="clients" title="Busiest clients" about=${about}>
    <${Table} name="clients" caption="Busiest clients" sort="-requests" search="Address" ...${{ columns, rows }} /><//>`;
}
