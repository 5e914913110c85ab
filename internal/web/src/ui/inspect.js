// A message as an annotated tree beside its bytes. What is hovered or focused in one lights
// what belongs to it in the other.
import { html, useEffect, useMemo, useRef, useState } from "../html.js";
import { treeRows, byteMap, hexRows, bytesOf, asciiOf } from "../model/layout.js";
import { visible } from "../model/text.js";
import { counted, formatCount } from "../model/number.js";
import { Empty } from "./bits.js";

// Rows that are drawn before a button is asked for more. Chosen: a message of 8 KiB at once,
// as a page of 64 KiB takes a phone a second.
const rowsAtOnce = 512;

/** Inspect shows the message m. chosen is the index of the element that stays lit, and choose
 * sets it. */
export function Inspect({ m, chosen, choose }) {
  const layout = m.layout ?? [];
  const map = useMemo(() => byteMap(layout, m.length), [m]);
  const [hovered, hover] = useState(null);
  const root = useRef(null);
  const lit = hovered ?? chosen;
  useEffect(() => light(root.current, lit, layout, map), [lit, m]);
  if (layout.length === 0) return html`<${Empty} title="Nothing of this message was read.">Its bytes are in the capture, in frame ${m.frame}.<//>`;
  const over = {
    onMouseOver: (e) => hover(indexAt(e.target)),
    onMouseLeave: () => hover(null),
    onClick: (e) => indexAt(e.target) != null && choose(indexAt(e.target)),
    onKeyDown: (e) => onArrows(e, chosen, layout.length, (next) => {
      hover(null); // the pointer may rest on another field
      choose(next);
    }),
  };
  return html`<div class="inspect" ref=${root}>
    <${Tree} ...${{ layout, chosen, over }} />
    <${Hex} ...${{ map, over }} />
    <p class="unseen" role="status">${chosen != null && layout[chosen] ? describe(layout[chosen]) : ""}</p>
  </div>`;
}

const indexAt = (target) => {
  const index = target.closest?.("[data-f]")?.dataset.f;
  return index === undefined ? null : Number(index);
};

const describe = (e) => `${e.name}, ${counted(e.length, "byte")} at ${e.offset}${e.value == null ? "" : `, ${visible(e.value, 80)}`}`;

// light marks the row of an element and its bytes, wherever these are drawn.
function light(root, index, layout, map) {
  if (!root) return;
  for (const node of root.querySelectorAll(".lit")) node.classList.remove("lit");
  const element = layout[index];
  if (!element) return;
  root.querySelector(`.tree [data-f="${index}"]`)?.classList.add("lit");
  const bytes = bytesOf(element, map);
  if (!bytes) return;
  for (const run of root.querySelectorAll(".hex [data-f]")) {
    const from = Number(run.dataset.at);
    if (from < bytes.to && from + Number(run.dataset.n) > bytes.from) run.classList.add("lit");
  }
}

// onArrows calls choose with the next element as the arrow keys say.
function onArrows(e, chosen, count, choose) {
  const steps = { ArrowDown: 1, ArrowUp: -1, ArrowRight: 1, ArrowLeft: -1, Home: -Infinity, End: Infinity };
  if (steps[e.key] === undefined) return;
  e.preventDefault();
  const next = Math.min(count - 1, Math.max(0, chosen == null ? 0 : chosen + steps[e.key]));
  choose(next);
  const row = e.currentTarget.querySelector(`[data-f="${next}"]`);
  row?.scrollIntoView({ block: "nearest" });
  if (e.currentTarget.matches(".tree")) row?.focus();
}

function Tree({ layout, chosen, over }) {
  const [limit, setLimit] = useState(rowsAtOnce);
  const rows = useMemo(() => treeRows(layout), [layout]);
  return html`<div class="tree" role="treegrid" aria-label="Fields" ...${over}>
    <div role="row" class="treehead"><span role="columnheader">Offset</span><span role="columnheader">Field</span><span role="columnheader">Value</span></div>
    ${rows.slice(0, limit).map((row, i) => html`<${row.list ? ListRow : FieldRow} key=${i} ...${{ row, chosen }} />`)}
    ${rows.length > limit && html`<div role="row"><span role="gridcell">
      <button type="button" onClick=${() => setLimit(Infinity)}>Show all ${formatCount(rows.length)} fields</button>
    </span></div>`}
  </div>`;
}

const ListRow = ({ row }) => html`<div role="row" aria-level="1" class="field list">
  <span role="gridcell"></span><span role="gridcell">${row.label}</span>
  <span role="gridcell" class="note">${counted(row.entries, "entry", "entries")}</span>
</div>`;

function FieldRow({ row, chosen }) {
  const { element: e, index, depth } = row;
  const focusable = chosen === index || (chosen == null && index === 0);
  const places = e.from?.map((p) => `frame ${p.frame} +${p.offset}`).join(", ");
  const shape = `field ${e.aux ? "aux" : ""} ${depth ? "deep" : ""}`;
  return html`<div role="row" aria-level=${depth + 1} aria-selected=${chosen === index} tabindex=${focusable ? 0 : -1} data-f=${index} class=${shape}>
    <span role="gridcell" class="offset">${e.offset}</span>
    <span role="gridcell" class="name" title=${e.name}>
      ${row.entry === undefined ? "" : html`<span class="entry">[${row.entry}]</span> `}${row.label}</span>
    <span role="gridcell" class="value">
      <bdi class="wire">${e.value == null ? "" : visible(e.value, 2000)}</bdi>
      ${e.note && html` <span class="note">${visible(e.note, 300)}</span>`}
      ${places && html` <span class="note">${places}</span>`}</span>
  </div>`;
}

function Hex({ map, over }) {
  const narrow = matchMedia("(max-width: 700px)").matches;
  const rows = useMemo(() => hexRows(map, narrow ? 8 : 16), [map, narrow]);
  const [limit, setLimit] = useState(rowsAtOnce);
  const run = (r, text, gap) => {
    const place = { "data-f": r.index < 0 ? undefined : r.index, "data-at": r.offset, "data-n": r.bytes.length };
    return html`<span key=${r.offset} class="run" ...${place}>${r.bytes.map(text).join(gap)}</span>`;
  };
  const line = (row) => html`<div class="hexrow" key=${row.offset}>
    <span class="offset">${row.offset.toString(16).padStart(4, "0")}</span>
    <span class="bytes">${row.runs.map((r) => run(r, (b) => b, " "))}</span>
    <span class="ascii" aria-hidden="true">${row.runs.map((r) => run(r, asciiOf, ""))}</span></div>`;
  return html`<div class="hex" role="group" aria-label="Bytes, ${formatCount(map.bytes.length)}. Arrow keys go from field to field." tabindex="0" ...${over}>
    ${rows.slice(0, limit).map(line)}
    ${rows.length > limit && html`<p><button type="button" onClick=${() => setLimit(Infinity)}>Show all ${formatCount(map.bytes.length)} bytes</button></p>`}
  </div>`;
}
