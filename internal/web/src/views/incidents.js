// The incidents: what to do first, then the evidence, the course of it and the sources.
import { html, useMemo, useState } from "../html.js";
import { usePage, useClock } from "../ui/context.js";
import { linkTo, setParams } from "../route.js";
import { incidentRows, exchangeRows } from "../model/rows.js";
import { explanationOf } from "../model/report.js";
import { rangeOfTimes, overlaps } from "../model/range.js";
import { formatCount, formatShare, formatBytes, formatGain, counted } from "../model/number.js";
import { parseTime, formatSpan, trim } from "../model/time.js";
import { visible } from "../model/text.js";
import { Table } from "../ui/table.js";
import { Chart } from "../ui/chart.js";
import { Card, Copy, Facts, Level, Lost, None, Section } from "../ui/bits.js";
import { exchangeColumns } from "./exchanges.js";

const rate = (qps) => `${trim(qps)}/s`;

/** incidentSentence says where, when and how much, in one line. */
export function incidentSentence(x, clock) {
  const when = x.goesOn
    ? `since ${clock.coarse(x.at)}, and it goes on`
    : `${clock.coarse(x.at)} to ${x.end ? clock.coarse(x.until) : "the end of the capture"}`;
  const much = x.class ? `${counted(x.packets, "packet")} (${x.class})` : counted(x.requests, "request");
  const rates = `at most ${rate(x.peak_qps)} ${x.baseline_qps > 0 ? `where ${rate(x.baseline_qps)} are usual` : "(normal rate: unknown)"}`;
  return `on ${x.target}, ${when}: ${much}, ${rates}${x.succeeded ? ", with success" : ""}`;
}

/** incidentColumns are the columns of incidents, wherever they are listed. */
export const incidentColumns = (clock) => [
  { key: "rank", label: "Level", cell: (x) => html`<${Level} of=${x.level} />` },
  { key: "kind", label: "Kind", cell: (x) => html`<a href=${linkTo("incident", x.id)}>${x.kind}</a>` },
  { key: "target", label: "Target", long: true },
  { key: "at", label: "Begin", cell: (x) => clock.coarse(x.at) },
  { key: "length", label: "Length", number: true, value: (x) => x.until - x.at, cell: (x) => formatSpan(x.until - x.at) + (x.goesOn ? " so far" : x.end ? "" : " +") },
  { key: "peak_qps", label: "Peak", number: true, cell: (x) => rate(x.peak_qps) },
  { key: "baseline_qps", label: "Usual", number: true, cell: (x) => (x.baseline_qps > 0 ? rate(x.baseline_qps) : "unknown") },
  { key: "sources", label: "Sources", number: true, cell: (x) => formatCount(x.sources) },
  { key: "confidence", label: "Sure", number: true, cell: (x) => formatShare(x.confidence) },
];

export function Incidents() {
  const { report, range } = usePage();
  const clock = useClock();
  const rows = useMemo(() => incidentRows(report, range), [report, range]);
  const scope = `${formatCount(report.stats.requests ?? 0)} queries in ${formatSpan(report.stats.duration_s)} were examined.`;
  return html`<h1 tabindex="-1">Incidents</h1>
    <${Table} caption="Incidents" sort="-rank" search="Kind or target" columns=${incidentColumns(clock)} rows=${rows}
      empty=${html`<${None} inRange="No incident in this range." whole="No floods in this capture.">
        ${scope} To see which rules were tried: <code>qsniff floods --explain FILE</code><//>`} />
    ${rows.map((x) => html`<${Card} key=${x.id} level=${x.level} href=${linkTo("incident", x.id)} name=${x.kind} about=${x.target}
      texts=${[explanationOf(report, x.kind).what]} todo=${x.advice_words?.[0] ?? explanationOf(report, x.kind).do} />`)}`;
}

export function Incident({ id }) {
  const { report } = usePage();
  const clock = useClock();
  const x = incidentRows(report).find((each) => String(each.id) === id);
  if (!x)
    return html`<${Lost} heading="Incident ${id}" title="There is no incident ${id} in this report."><a href=${linkTo("incidents")}>All incidents</a><//>`;
  const explained = explanationOf(report, x.kind);
  return html`<h1 tabindex="-1"><${Level} of=${x.level} /> ${x.kind} <span class="quiet">${x.target}</span></h1>
    <p class="lead">${explained.what}</p>
    <p>It ${x.goesOn ? "is" : "was"} ${incidentSentence(x, clock)}.</p>
    <${Advice} ...${{ x, explained }} /><${Course} ...${{ x, clock }} /><${Evidence} ...${{ x, clock, explained }} />
    <${Sources} ...${{ x, clock }} /><${Came} x=${x} /><${Exchanges} ...${{ x, clock }} />`;
}

function Advice({ x, explained }) {
  const words = x.advice_words?.length ? x.advice_words : [explained.do].filter(Boolean);
  return html`<${Section} id="advice" title="What to do">
    ${words.map((w) => html`<p key=${w}>${w}</p>`)}
    <p><${Copy} text=${x.advice ?? words.join("\n\n")} label="Copy all of the advice" /></p>
    ${x.rules && html`<${Rules} rules=${x.rules} />`}
  <//>`;
}

function Rules({ rules }) {
  const [form, setForm] = useState("nftables");
  const tab = (f) => html`<button type="button" key=${f} aria-pressed=${f === form} onClick=${() => setForm(f)}>${f}</button>`;
  return html`<div class="rules">
    <div class="tabs" role="group" aria-label="Form of the rules">
      ${["nftables", "iptables"].filter((f) => rules[f]).map(tab)}<${Copy} text=${rules[form]} label="Copy these rules" /></div>
    <pre tabindex="0" role="region" aria-label="Rules for ${form}">${rules[form]}</pre>
    ${rules.measured && html`<p class="about">${rules.measured}</p>`}
  </div>`;
}

function Course({ x, clock }) {
  const { report } = usePage();
  const { timeline } = report;
  const all = useMemo(() => [x], [x.id]);
  const series = useMemo(() => courseSeries(x, timeline), [x.id, timeline]);
  const detected = parseTime(x.detected);
  const select = () => setParams({ t: rangeOfTimes(x.at, x.until, timeline, 2) }, true);
  return html`<${Section} id="course" title="When">
    <${Facts} of=${[["Begin", clock.exact(x.at)], ["Detected", `${clock.exact(detected)}, ${formatSpan(detected - x.at)} after its begin`],
      ["End", x.end ? `${clock.exact(x.until)}, ${formatSpan(x.until - x.at)} after its begin` : x.goesOn ? `it goes on, for ${formatSpan(x.until - x.at)} so far` : "not before the end of the capture"],
      ["Pulses", x.pulses > 1 && formatCount(x.pulses)], ["Campaign", x.campaign && html`<a href=${linkTo("incidents")}>${x.campaign}</a>`],
      ...(x.kind_history ?? []).map((k) => ["Taken for", `${k.kind} until ${clock.exact(parseTime(k.until))}`])].filter(([, v]) => v !== false)} />
    ${series.length > 0 && html`<${Chart} title="Requests a second; shaded: the incident, dashed: its detection"
      summary="Requests over time with begin, detection and end of the incident." ...${{ series }} incidents=${all} format=${rate} />`}
    <p><button type="button" onClick=${select}>Show this time in every table</button></p>
  <//>`;
}

// courseSeries returns the requests of the target, or of all servers where it is none of those
// that the timeline has.
function courseSeries(x, timeline) {
  const server = timeline.servers.find((s) => x.target.endsWith("/" + s.server));
  const at = (values) => Array.from({ length: timeline.points }, (_, i) => (values?.[i] ?? 0) / timeline.interval);
  if (server) return [{ label: "requests", color: "--s1", values: at(server.requests) }, { label: "replies", color: "--s2", values: at(server.replies) }];
  if (timeline.kinds.length === 0) return [];
  const total = timeline.times.map((_, i) => timeline.kinds.reduce((n, k) => n + (k.requests?.[i] ?? 0), 0));
  return [{ label: "all requests in the capture", color: "--s1", values: at(total) }];
}

function Evidence({ x, clock, explained }) {
  const { report } = usePage();
  const groups = new Map();
  for (const e of x.evidence ?? []) {
    const window = e.from ? windowOf(x, e, clock) : "Besides";
    groups.set(window, [...(groups.get(window) ?? []), e.text]);
  }
  const words = report.explain.features ?? {};
  const missing = (x.missing ?? []).map((m) => words[m]).filter(Boolean);
  return html`<${Section} id="evidence" title="Evidence" about="Confidence ${formatShare(x.confidence)}. ${explained.apart ?? ""}">
    ${[...groups].map(([window, texts]) => html`<div key=${window}>
      <h3>${window}</h3><ul>${texts.map((t) => html`<li key=${t}>${visible(t, 1000)}</li>`)}</ul>
    </div>`)}
    ${missing.length > 0 && html`<p class="about">Unknown in this capture: ${missing.join("; ")}.</p>`}
  <//>`;
}

// windowOf says which stretch of time a sentence is of, by words that need no clock where it can.
function windowOf(x, { from, to }, clock) {
  const [a, b] = [parseTime(from), parseTime(to)];
  const near = (p, q) => Math.abs(p - q) < 1e-3;
  if (near(a, x.at) && near(b, x.until)) return `Over the whole ${formatSpan(b - a)}`;
  if (near(b, parseTime(x.detected))) return `In the ${formatSpan(b - a)} before detection`;
  return clock.span(a, b);
}

// standsOut tells whether a source sent more than one packet and a share that is worth a rule: the detector's figure.
const standsOut = (s, window) => s.count_low >= 2 && (!window?.packets || s.count_low / window.packets >= 0.005);

function Sources({ x, clock }) {
  const bounds = (s) => (s.count_low === s.count_high ? formatCount(s.count_low) : `${formatCount(s.count_low)} to ${formatCount(s.count_high)}`);
  const w = x.top_window;
  const about = [
    w && `Of ${counted(w.packets, "packet")}${w.from ? `, ${clock.span(parseTime(w.from), parseTime(w.to))}` : ""}.`,
    `About ${counted(x.sources, "source")} in all${x.sources_error ? ` (within ${formatShare(x.sources_error)})` : ""}.`,
    "Proven: it brought a challenge back, so that the address is its own.",
  ].filter(Boolean).join(" ");
  const columns = [
    { key: "address", label: "Address" },
    { key: "count_low", label: "Packets", number: true, cell: bounds, help: "at least, and at most" },
    { key: "verified", label: "Proven", cell: (s) => (s.verified ? "yes" : "no") },
    { key: "ports", label: "Ports", number: true }, { key: "ttl", label: "TTL", number: true, cell: (s) => s.ttl ?? "–" },
  ];
  const networks = [
    { key: "prefix", label: "Network" }, { key: "count_low", label: "Packets", number: true, cell: bounds, help: "at least, and at most" },
    { key: "hosts", label: "Hosts at least", number: true, cell: (p) => formatCount(p.hosts) },
  ];
  const list = (name, caption, cols, key, rows) => rows?.length > 0 && html`<${Table} name=${name} caption=${caption} sort="-count_low"
    columns=${cols} rows=${rows.map((r) => ({ ...r, key: r[key] }))} />`;
  const sources = x.top_sources?.filter((s) => standsOut(s, w)), prefixes = x.top_prefixes?.filter((p) => standsOut(p, w));
  if (!sources?.length && !prefixes?.length) {
    return x.top_sources?.length > 0 && html`<${Section} id="sources" title="Sources" about=${about}><p>No source stands out: blocking single addresses is useless.</p><//>`;
  }
  return html`<${Section} id="sources" title="Sources" about=${about}>
    <div class="pair">
      ${list("sources", "Busiest sources", columns, "address", sources)}
      ${list("networks", "Busiest networks", networks, "prefix", prefixes)}
    </div><//>`;
}

function Came({ x }) {
  const length = (k) => (k.min_length === k.max_length ? formatBytes(k.min_length) : `${k.min_length} to ${formatBytes(k.max_length)}`);
  return html`<${Section} id="came" title="What came">
    <${Facts} of=${[
      ["Asked", x.kinds?.map((k) => `${k.type} ${formatShare(k.share)}${k.min_length == null ? "" : ` (${length(k)})`}`).join(", ")],
      ["Peak, mean, usual", `${rate(x.peak_qps)}, ${rate(x.mean_qps)}, ${x.baseline_qps > 0 ? rate(x.baseline_qps) : "unknown"}`],
      ["Requests, replies", `${formatCount(x.requests)}, ${formatCount(x.replies)}`],
      ["Packets", x.packets && formatCount(x.packets)],
      ["Bytes in, out", `${formatBytes(x.bytes_in)}, ${formatBytes(x.bytes_out)}`],
      ["Gain", x.bytes_out > 0 && formatGain(x.amplification)],
      ["Got any reply", x.answered != null && formatShare(x.answered)],
      ["Proven clients served", x.proven_served != null && formatShare(x.proven_served)],
      ["Challenges brought back", x.challenge_completion != null && `${formatShare(x.challenge_completion)} of ${counted(x.challenged, "challenged source")}`],
      ["In the capture", `from frame ${x.frame} on`],
      ["Targets", x.targets?.join(", ")],
    ].filter(([, v]) => v !== false && v !== undefined)} /><//>`;
}

function Exchanges({ x, clock }) {
  const { report, range } = usePage();
  const ofIt = (e) => x.target.endsWith("/" + e.server) && overlaps({ from: x.at, to: x.until }, e.at, e.at);
  const rows = useMemo(() => exchangeRows(report, range, ofIt), [x.id, report, range]);
  if (rows.length === 0) return null;
  return html`<${Section} id="exchanges" title="Exchanges of it" about=${report.doc.left_out?.exchanges ? "Those that are in this report." : ""}>
    <${Table} name="exchanges" caption="Exchanges of the incident" sort="at" search="Client, query or finding"
      columns=${exchangeColumns(clock)} rows=${rows} /><//>`;
}
