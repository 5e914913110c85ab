// The exchanges of the report, and one of them: its dialogue, and each message as fields and bytes.
import { html, useEffect, useMemo, useState } from "../html.js";
import { usePage, useClock } from "../ui/context.js";
import { linkTo, setParams } from "../route.js";
import { exchangeRows } from "../model/rows.js";
import { formatCount, formatMillis, counted } from "../model/number.js";
import { formatSpan, parseTime } from "../model/time.js";
import { visibleLines } from "../model/text.js";
import { Table } from "../ui/table.js";
import { Facts, FindingLine, Lost, None, NotKept, Wire } from "../ui/bits.js";
import { Inspect } from "../ui/inspect.js";

/** exchangeColumns are the columns of exchanges, wherever they are listed. */
export const exchangeColumns = (clock) => [
  { key: "at", label: "Time", cell: (r) => html`<a href=${linkTo("exchange", r.id)}>${clock.exact(r.at)}</a>` },
  { key: "kind", label: "Query", long: true },
  { key: "client", label: "Client", long: true },
  { key: "server", label: "Server", long: true, cell: (r) => r.server && html`<a href=${linkTo("server", r.server)}>${r.server}</a>` },
  { key: "outcome", label: "Outcome", cell: (r) => html`<span class="outcome ${r.outcome}">${r.outcome}</span>` },
  { key: "rtt", label: "Response", number: true, cell: (r) => formatMillis(r.rtt) },
  { key: "packets", label: "Packets", number: true, cell: (r) => formatCount(r.packets) },
  { key: "findings", label: "Findings", long: true, value: (r) => r.findings.map((f) => f.id).join(" "), cell: (r) => r.findings.map(chip) },
];

const chip = (f) => html`<a key=${f.id} class="chip ${f.severity}" href=${linkTo("finding", f.id)}>${f.id}</a> `;

/** NoExchanges says why no exchange is listed. */
export function NoExchanges() {
  const { report, source } = usePage();
  if (source.counts) return html`<${NotKept} what="exchanges" command="follow" />`;
  const left = report.doc.left_out?.exchanges;
  const why = left
    ? html`${counted(left, "exchange")} of the capture did not fit. <code>qsniff follow FILE</code> prints all of them.`
    : "Nobody asked a server anything in this capture.";
  return html`<${None} inRange="No exchange of this range is in the report." whole="No exchange is in the report.">${why}<//>`;
}

export function Exchanges() {
  const { report, range, source } = usePage();
  const clock = useClock();
  const rows = useMemo(() => exchangeRows(report, range), [report, range]);
  const left = report.doc.left_out?.exchanges ?? 0;
  return html`<h1 tabindex="-1">Exchanges</h1>
    ${left > 0 && !source.counts && html`<p class="caveat">
      ${formatCount(report.exchanges.length)} of ${formatCount(report.exchanges.length + left)} exchanges are in this report:
      ${" "}first those with a finding or in an incident, then others evenly over time. ${report.doc.sampled_after
        && `Of those that begin after packet ${formatCount(report.doc.sampled_after)}, a part was considered. `}<code>qsniff follow FILE</code> prints all.</p>`}
    <${Table} caption="Exchanges" sort="at" search="Address, query, outcome or finding" total=${report.exchanges.length + left}
      columns=${exchangeColumns(clock)} rows=${rows} empty=${html`<${NoExchanges} />`} />`;
}

export function Exchange({ id }) {
  const { report, source } = usePage();
  const [x, setX] = useState(report.byID.get(id));
  const [state, setState] = useState("");
  useEffect(() => {
    const here = report.byID.get(id);
    if (here) setX(here);
    if (here || x) return; // a newer report may have lost what is being read
    setState("loading");
    source.exchange(id).then((found) => { setX(found); setState(""); }, (err) => setState(String(err.message ?? err)));
  }, [id, report]);
  if (!x && state === "loading") return html`<${Lost} heading="Exchange ${id}" title="Reading the capture…" />`;
  if (!x)
    return html`<${Lost} heading="Exchange ${id}" title="Exchange ${id} is not in this report.">
      <code>qsniff follow --exchange ${id} FILE</code> prints it. ${state} <a href=${linkTo("exchanges")}>All exchanges in the report</a><//>`;
  return html`<${Shown} x=${x} key=${x.id} />`;
}

function Shown({ x }) {
  const { report, route } = usePage();
  const clock = useClock();
  const messages = x.messages ?? [];
  const index = Math.min(Math.max(Number(route.params.m ?? 0) || 0, 0), Math.max(messages.length - 1, 0));
  const m = messages[index];
  const chosen = route.params.f == null ? null : Number(route.params.f);
  const title = x.message ?? `${x.protocol ?? "unknown"} ${x.record}`;
  return html`<h1 tabindex="-1">${title} <span class="quiet">${x.message ? x.record : ""} ${x.id}</span></h1>
    <${Neighbours} ...${{ report, id: x.id }} />
    <${Facts} of=${[
      ["Outcome", x.outcome && html`<span class="outcome ${x.outcome}">${x.outcome}</span>`],
      ["Client", x.client], ["Server", x.server && html`<a href=${linkTo("server", x.server)}>${x.server}</a>`],
      ["Time", clock.exact(parseTime(x.time))], ["Response", x.rtt_ms != null && formatMillis(x.rtt_ms)],
      ["To the challenge", x.challenge_ms != null && formatMillis(x.challenge_ms)],
      ["In all", formatMillis(x.duration_ms)], ["Packets", formatCount(x.packets)], ["Protocol", x.protocol],
      ["Left out", x.omitted_messages && html`${counted(x.omitted_messages, "message")} of it; <code>qsniff follow --exchange ${x.id} FILE</code> prints all`],
      ["Before", x.continues && "earlier messages of it are not in the report"],
    ].filter(([, v]) => v !== false && v !== undefined)} />
    <h2 id="dialogue">Dialogue</h2>
    <ol class="dialogue" aria-labelledby="dialogue">${messages.map((each, i) => html`<${Turn} key=${i} ...${{ m: each, i, x, now: i === index }} />`)}</ol>
    ${(x.records ?? []).filter((f) => f.id).map((f) => html`<${FindingLine} key=${f.id + f.text} f=${f} />`)}
    ${m && html`<h2>${m.message ?? "Message"} <span class="quiet">${aboutMessage(m)}</span></h2>
      <${Inspect} key=${index} ...${{ m, chosen, choose: (f) => setParams({ f, m: index || "" }) }} />`}`;
}

function aboutMessage(m) {
  const parts = [`frame ${m.frame}`, counted(m.length, "byte")];
  if (m.split) parts.push(`joined from ${m.split.received} of ${m.split.total} parts`);
  if (m.frames) parts.push(`frames ${m.frames.join(", ")}`);
  if (m.split?.compressed) parts.push("compressed");
  if (m.status && m.status !== "complete") parts.push(m.status);
  return parts.join("; ");
}

function Neighbours({ report, id }) {
  const at = report.exchanges.findIndex((x) => x.id === id);
  if (at < 0) return null;
  const link = (x, words, key) => x && html`<a rel=${key} href=${linkTo("exchange", x.id)}>${words}</a>`;
  return html`<p class="neighbours">
    ${link(report.exchanges[at - 1], "‹ previous", "prev")}
    <span class="quiet">${formatCount(at + 1)} of ${formatCount(report.exchanges.length)} in the report</span>
    ${link(report.exchanges[at + 1], "next ›", "next")}
  </p>`;
}

function Turn({ m, i, x, now }) {
  const clock = useClock();
  const reply = m.direction === "reply";
  const after = i === 0 ? clock.exact(parseTime(x.time)) : `+${formatSpan(parseTime(m.time) - parseTime(x.messages[0].time))}`;
  const body = quoteOf(m);
  return html`<li class=${reply ? "reply" : "request"}>
    <button type="button" aria-current=${now ? "true" : undefined} onClick=${() => setParams({ m: i || "", f: "" })}>
      <span class="after">${after}</span>
      <span class="arrow" aria-hidden="true">${reply ? "◀" : "▶"}</span><span class="unseen">${reply ? "from the server: " : "to the server: "}</span>
      <b>${m.message ?? "unknown"}</b> <span class="quiet">${counted(m.length, "byte")}</span> <span class="gist">${gistOf(m)}</span>
    </button>
    ${body && html`<pre class="quote">${visibleLines(body)}</pre>`}
    ${(m.findings ?? []).map((f) => html`<${FindingLine} key=${f.id} f=${f} />`)}
  </li>`;
}

// quoteOf returns text of more than one line that the message carries.
const quoteOf = (m) => Object.values(m.fields ?? {}).find((v) => typeof v === "string" && v.trim().includes("\n"));

// gistOf returns the first fields of a message in a few words.
function gistOf(m) {
  const words = [];
  for (const [name, value] of Object.entries(m.fields ?? {})) {
    if (Array.isArray(value)) words.push(html`<span key=${name}>${name}: ${value.length}</span>`);
    else if (isShort(value)) words.push(html`<span key=${name}>${name} <${Wire} text=${value} limit=${40} /></span>`);
    if (words.length === 4) break;
  }
  return words;
}

const isShort = (value) => value !== null && typeof value !== "object" && value !== "" && !String(value).includes("\n");
