// A table that can be sorted and searched. Sort and search stand in the address, under the
// table's name where a view has several. On a narrow screen each row becomes a card.
import { html, useMemo, useState, useEffect } from "../html.js";
import { setParams } from "../route.js";
import { usePage } from "./context.js";
import { Empty } from "./bits.js";
import { counted, formatCount } from "../model/number.js";

// Rows that are shown at first, and added by each press of the button: of the table that is
// the view's only one, on a phone, and of one among several. Chosen: rows are made in
// milliseconds, and what comes after the table stays in reach.
const pageSize = { alone: 100, phone: 25, among: 10 };

// fewRows is how many rows are in sight at once, so that nobody sorts them on a phone.
const fewRows = 3;

/**
 * Table shows rows. A column is {key, label, cell(row), value(row), number, wide, long, help}: value is
 * what it is sorted and searched by (row[key] without it), cell what it shows (value without it).
 * A wide one may take several lines, a long one takes a line of its own on a phone.
 */
export function Table({ name = "", caption, columns, rows, sort, search, empty, total }) {
  const { route } = usePage();
  const prefix = name && name + ".";
  const order = route.params[prefix + "sort"] ?? sort;
  const query = search ? route.params[prefix + "q"] ?? "" : "";
  const page = name ? pageSize.among : matchMedia("(max-width: 700px)").matches ? pageSize.phone : pageSize.alone;
  const [limit, setLimit] = useState(page);
  useEffect(() => setLimit(page), [order, query, route.params.t]);
  const found = useMemo(() => sortRows(searchRows(rows, columns, query), columns, order), [rows, query, order]);
  const set = (what, value) => setParams({ [prefix + what]: value });
  return html`<div class="tablebox">
    <${Tools} ...${{ name, caption, columns, order, query, search, set, found: found.length, all: rows.length, total }} />
    ${found.length === 0
      ? rows.length === 0 ? empty : html`<${Empty} title="Nothing matches “${query}”.">
          <button type="button" onClick=${() => set("q", "")}>Clear the search</button><//>`
      : html`<div class="scroll" tabindex="0" role="region" aria-label=${caption}>
          <table role="table"><caption class="unseen">${caption}</caption>
            <${Head} ...${{ columns, order, set }} />
            <tbody role="rowgroup">${found.slice(0, limit).map((row) => html`<${Row} key=${row.key} ...${{ row, columns }} />`)}</tbody>
          </table>
        </div>`}
    ${found.length > limit && html`<${More} rest=${found.length - limit} show=${() => setLimit(limit + pageSize.alone)} />`}
  </div>`;
}

const More = ({ rest, show }) => html`<p class="more">
  <button type="button" onClick=${show}>Show ${formatCount(Math.min(pageSize.alone, rest))} more</button> ${counted(rest, "row")} below
</p>`;

function Tools({ name, caption, columns, order, query, search, set, found, all, total = 0 }) {
  const counts = found < all ? `${formatCount(found)} of ${formatCount(all)}` : formatCount(all);
  const says = search || found < total ? counts + (total > all ? ` of ${formatCount(total)} in the capture` : "") : "";
  return html`<div class="tools">
    ${search && html`<input type="search" class="search" placeholder=${search} aria-label="Search: ${caption}"
      value=${query} onInput=${(e) => set("q", e.target.value)} />`}
    ${found > fewRows && html`<${Sorter} ...${{ name, columns, order, set }} />`}
    <span class="count" role="status">${says}</span>
  </div>`;
}

// Sorter sorts where the head of the table has no room.
function Sorter({ name, columns, order, set }) {
  const [key, down] = [order.replace("-", ""), order.startsWith("-")];
  const id = `sort-${name || "main"}`;
  return html`<span class="sorter"><label for=${id}>Sort by</label>
    <select id=${id} value=${key} onChange=${(e) => set("sort", (down ? "-" : "") + e.target.value)}>
      ${columns.map((c) => html`<option key=${c.key} value=${c.key}>${c.label}</option>`)}
    </select>
    <button type="button" aria-label=${down ? "Descending: press for ascending" : "Ascending: press for descending"}
      onClick=${() => set("sort", (down ? "" : "-") + key)}>${down ? "▼" : "▲"}</button></span>`;
}

function Head({ columns, order, set }) {
  const [key, down] = [order.replace("-", ""), order.startsWith("-")];
  const cell = (c) => {
    const now = c.key === key;
    const next = (now ? !down : c.number) ? "-" + c.key : c.key;
    return html`<th key=${c.key} role="columnheader" scope="col" class=${c.number ? "number" : ""} title=${c.help}
      aria-sort=${now ? (down ? "descending" : "ascending") : undefined}>
      <button type="button" onClick=${() => set("sort", next)}>${c.label}<span class="arrow" aria-hidden="true">${now ? (down ? "▼" : "▲") : ""}</span></button>
    </th>`;
  };
  return html`<thead role="rowgroup"><tr role="row">${columns.map(cell)}</tr></thead>`;
}

function Row({ row, columns }) {
  const cell = (c) => html`<td key=${c.key} role="cell" class=${classOf(c)} data-label=${c.label}>
    <span class="cell">${c.cell ? c.cell(row) : valueOf(c, row)}</span>
  </td>`;
  return html`<tr role="row">${columns.map(cell)}</tr>`;
}

const classOf = (c) => ["number", "wide", "long"].filter((name) => c[name]).join(" ");

const valueOf = (c, row) => (c.value ? c.value(row) : row[c.key]);

/** searchRows returns the rows one of whose values holds every word of the query. */
export function searchRows(rows, columns, query) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return rows;
  return rows.filter((row) => {
    const text = columns.map((c) => valueOf(c, row) ?? "").join("\n").toLowerCase();
    return words.every((w) => text.includes(w));
  });
}

/** sortRows returns the rows in order: by numbers, or by text with numbers in it by value.
 * Rows without a value come last in both directions. */
export function sortRows(rows, columns, order) {
  const down = order.startsWith("-") ? -1 : 1;
  const column = columns.find((c) => c.key === order.replace("-", ""));
  if (!column) return rows;
  const compareText = new Intl.Collator("en", { numeric: true }).compare;
  const missing = (v) => v == null || v === "" || Number.isNaN(v);
  return [...rows].sort((p, q) => {
    const [x, y] = [valueOf(column, p), valueOf(column, q)];
    if (missing(x) || missing(y)) return missing(x) - missing(y);
    return down * (typeof x === "number" && typeof y === "number" ? x - y : compareText(String(x), String(y)));
  });
}
