// The findings: which occur, with what they mean and what to do, and where.
import { html, useMemo } from "../html.js";
import { usePage, useClock } from "../ui/context.js";
import { linkTo } from "../route.js";
import { findingGroups, findingRows } from "../model/rows.js";
import { explanationOf } from "../model/report.js";
import { formatCount, counted } from "../model/number.js";
import { visible } from "../model/text.js";
import { Table } from "../ui/table.js";
import { Card, Facts, Level, Lost, None, NotKept, Section } from "../ui/bits.js";

/** findingColumns are the columns of single findings, wherever they are listed. A program that runs on
 * has no exchanges, and says when it saw them last. */
export const findingColumns = (clock, isLive) => [
  { key: "rank", label: "Severity", cell: (f) => html`<${Level} of=${f.severity} />` },
  { key: "id", label: "Finding", cell: (f) => html`<a href=${linkTo("finding", f.id)}>${f.id}</a>` },
  { key: "at", label: "Time", cell: (f) => clock.time(f.at) },
  { key: "text", label: "What", wide: true, cell: (f) => visible(f.text, 300) },
  { key: "server", label: "Server", long: true, cell: (f) => f.server && html`<a href=${linkTo("server", f.server)}>${f.server}</a>` },
  { key: "client", label: "Client", long: true },
  { key: "count", label: "Times", number: true, cell: (f) => formatCount(f.count) },
  isLive
    ? { key: "until", label: "Last", cell: (f) => clock.time(f.until) }
    : { key: "exchange", label: "Exchange", value: (f) => f.frame, cell: place },
];

// place links a finding to its exchange, where the report has that.
const place = (f) => (f.exchange === undefined
  ? html`<span class="quiet">frame ${f.frame}</span>`
  : html`<a href=${linkTo("exchange", f.exchange)}>frame ${f.frame}</a>`);

export function Findings() {
  const { report, range, source } = usePage();
  const clock = useClock();
  const groups = useMemo(() => findingGroups(report, range), [report, range]);
  const rows = useMemo(() => findingRows(report, range), [report, range]);
  const left = report.doc.left_out?.findings ?? 0;
  if (source.counts && !report.doc.findings)
    return html`<h1 tabindex="-1">Findings</h1><${NotKept} what="findings" command="findings">With <code>--tell-findings warn</code> it reads them, too.<//>`;
  return html`<h1 tabindex="-1">Findings</h1>
    ${range && rows.some((f) => f.count > 1) && html`<p class="caveat">Findings that occur in the range are listed; how many times is counted over the whole capture.</p>`}
    ${left > 0 && html`<p class="caveat">${counted(left, "finding")} did not fit in this report. ${!report.isLive && html`<code>qsniff findings FILE</code> prints all.`}</p>`}
    ${groups.length === 0
      ? html`<${None} inRange="No findings in this range." whole=${report.isLive ? "No findings in the last hour." : "No findings in this capture."}>
          What clients and servers sent keeps to their protocols, as far as the capture shows.<//>`
      : html`<div class="groups">${groups.map((g) => html`<${Group} key=${g.id} g=${g} />`)}</div>
        <${Section} id="all" title="Where they occur">
          <${Table} caption="Findings" sort="-rank" search="Finding, address or words" total=${report.findings.length + left}
            columns=${findingColumns(clock, report.isLive)} rows=${rows} /><//>`}`;
}

function Group({ g }) {
  const { report } = usePage();
  const x = explanationOf(report, g.id);
  const about = `${counted(g.count, "time")}, between ${counted(g.between, "pair")} of ends; look at the ${g.fault}`;
  return html`<${Card} level=${g.severity} href=${linkTo("finding", g.id)} name=${g.id} texts=${[x.seen, x.means]} todo=${x.do} about=${about} />`;
}

export function Finding({ id }) {
  const { report, range } = usePage();
  const clock = useClock();
  const x = explanationOf(report, id);
  const rows = useMemo(() => findingRows(report, range).filter((f) => f.id === id), [report, range, id]);
  if (!x.seen && !report.findings.some((f) => f.id === id))
    return html`<${Lost} heading=${id} title="${id} does not occur in this capture.">
      <code>qsniff explain ${id}</code> says what it is. <a href=${linkTo("findings")}>All findings</a><//>`;
  const none = html`<${None} inRange="Not in this range." whole="It is in messages that the report has, and in no line of its own.">
    <a href=${linkTo("exchanges") + "?q=" + id}>Exchanges with ${id}</a><//>`;
  return html`<h1 tabindex="-1"><${Level} of=${x.severity} /> ${id}</h1>
    <${Facts} of=${[["Seen", x.seen], ["What it means", x.means], ["What to do", html`<b>${x.do}</b>`],
      ["Look at", x.fault && `the ${x.fault}`], ["Read on", x.reference]]} />
    <${Section} id="where" title="Where it occurs">
      <${Table} caption="Where ${id} occurs" sort="at" search="Address or words" rows=${rows} empty=${none}
        columns=${findingColumns(clock, report.isLive).filter((c) => c.key !== "id" && c.key !== "rank")} /><//>`;
}
