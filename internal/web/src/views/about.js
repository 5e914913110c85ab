// What the report is of: files, what was left out, what the program counted, and the keys.
import { html } from "../html.js";
import { usePage, useClock } from "../ui/context.js";
import { formatBytes, formatCount } from "../model/number.js";
import { visible } from "../model/text.js";
import { Facts, Section, Wire } from "../ui/bits.js";

const why = "A report keeps to a size that can be sent. The commands print all of it: qsniff stats, findings, follow.";

export function About() {
  const { report } = usePage();
  const clock = useClock();
  const { doc, stats, timeline } = report;
  const left = Object.entries(doc.left_out ?? {}).filter(([, n]) => n > 0);
  return html`<h1 tabindex="-1">About this report</h1>
    <${Facts} wide of=${[
      ["Made by", doc.version && html`<${Wire} text=${doc.version} />`], ["Command", doc.command && html`<code>${visible(doc.command, 2000)}</code>`],
      ["Capture", stats.packets ? `${clock.day}, ${clock.span(timeline.first, timeline.last)}` : "no packets"],
      ["Packets", `${formatCount(stats.packets ?? 0)}, ${formatBytes(stats.bytes ?? 0)}`],
      ["Point of the charts", timeline.points > 0 && `${timeline.interval} s; ${formatCount(timeline.points)} of them`],
      ["Passwords", doc.redacted === false ? "are in this report: --show-secrets was given" : "are left out, and the bytes that carried them"],
      ["Addresses", doc.anonymized ? "were replaced: --anonymize was given" : "are those of the capture"],
    ].filter(([, v]) => v !== false && v !== undefined)} />
    <${Section} id="left" title="Left out" about=${left.length ? why : ""}>
      ${left.length ? html`<${Facts} of=${left.map(([what, n]) => [what.replaceAll("_", " "), formatCount(n)])} />` : html`<p>Nothing was left out.</p>`}<//>
    <${Section} id="files" title="Files"><${Facts} of=${(doc.files ?? []).map((f) => [html`<${Wire} text=${f.name} limit=${200} />`, formatBytes(f.bytes)])} /><//>
    <${Counters} title="Skipped packets" id="skipped" of=${stats.skipped} none="No packet was skipped." />
    <${Counters} title="Joining of parts, fragments and streams" id="reassembly" of=${stats.reassembly} none="Nothing was in parts." />
    <${Keys} />`;
}

function Counters({ title, id, of = {}, none }) {
  const rows = Object.entries(of).filter(([, n]) => n > 0);
  const facts = rows.map(([name, n]) => [name.replaceAll("_", " "), formatCount(n)]);
  return html`<${Section} ...${{ id, title }}>${rows.length ? html`<${Facts} of=${facts} />` : html`<p>${none}</p>`}<//>`;
}

const keys = [
  ["/", "to the search field"], ["?", "to this page"], ["Esc", "out of the search; shows all of the capture"],
  ["← →", "in a chart: reads it point by point; with Shift: selects a range, Enter takes it"],
  ["← → at a handle", "moves begin or end of the range; Page Up and Page Down by a tenth"],
  ["↑ ↓", "among fields and bytes: from field to field"],
];

const Keys = () => html`<${Section} id="keys" title="Keys"><${Facts} wide of=${keys.map(([k, what]) => [html`<kbd>${k}</kbd>`, what])} /><//>`;
