// The bar over every view: the whole capture as a silhouette, with its incidents and the
// chosen range. A range is drawn with the pointer, or moved by its two handles with the keys.
import { html, useMemo, useRef, useState } from "../html.js";
import { usePage, useClock } from "./context.js";
import { setParams } from "../route.js";
import { formatRange, wholeOf } from "../model/range.js";
import { addPoints } from "../model/series.js";
import { parseTime } from "../model/time.js";

/** Brush shows and sets the range of time that narrows every table. */
export function Brush() {
  const { report, range } = usePage();
  const clock = useClock();
  const { timeline } = report;
  const [drawn, setDrawn] = useState(null); // while the pointer is down: [point, point]
  const strip = useRef(null);
  if (timeline.points < 2) return null;
  const shown = drawn ? { a: Math.min(...drawn), b: Math.max(...drawn) + 1 } : range ?? wholeOf(timeline);
  const set = (a, b, push) => setParams({ t: formatRange(a, b, timeline) }, push);
  const pointer = pointerOf({ strip, timeline, drawn, setDrawn, set });
  const bounds = { from: timeline.start + shown.a * timeline.interval, to: timeline.start + shown.b * timeline.interval };
  const text = range || drawn ? clock.span(bounds.from, bounds.to) : `All: ${clock.span(timeline.first, timeline.last)}`;
  return html`<section class="brush" aria-label="Range of time">
    <div class="brushline"><span class="rangetext">${text}</span>
      ${range
        ? html`<button type="button" onClick=${() => set(0, timeline.points, true)}>Show all</button>`
        : html`<span class="hint">drag over a chart to narrow every table</span>`}</div>
    <div class="strip" ref=${strip} ...${pointer}>
      <${Silhouette} />
      <div class="chosen ${range || drawn ? "" : "all"}" style=${{ left: percent(shown.a, timeline), width: percent(shown.b - shown.a, timeline) }}></div>
      <${Handle} name="Begin of the range" at=${shown.a} low=${0} high=${shown.b - 1} text=${clock.coarse(bounds.from)} move=${(a) => set(a, shown.b)} />
      <${Handle} name="End of the range" at=${shown.b} low=${shown.a + 1} high=${timeline.points} text=${clock.coarse(bounds.to)} move=${(b) => set(shown.a, b)} />
    </div>
  </section>`;
}

const percent = (point, timeline) => `${(100 * point) / timeline.points}%`;

// pointerOf returns the handlers that draw a range on the strip.
function pointerOf({ strip, timeline, drawn, setDrawn, set }) {
  const pointAt = (e) => {
    const box = strip.current.getBoundingClientRect();
    return Math.min(timeline.points - 1, Math.max(0, Math.floor(((e.clientX - box.left) / box.width) * timeline.points)));
  };
  return {
    onPointerDown: (e) => {
      if (e.button !== 0 || e.target.getAttribute("role") === "slider") return;
      strip.current.setPointerCapture(e.pointerId);
      setDrawn([pointAt(e), pointAt(e)]);
    },
    onPointerMove: (e) => drawn && setDrawn([drawn[0], pointAt(e)]),
    onPointerUp: () => {
      if (!drawn) return;
      setDrawn(null);
      if (drawn[0] !== drawn[1]) set(Math.min(...drawn), Math.max(...drawn) + 1, true);
    },
    onPointerCancel: () => setDrawn(null),
  };
}

function Handle({ name, at, low, high, text, move }) {
  const { report } = usePage();
  const { timeline } = report;
  const page = Math.max(1, Math.round(timeline.points / 10));
  const keys = (e) => {
    const step = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -page, PageUp: page, Home: -Infinity, End: Infinity }[e.key];
    if (step === undefined) return;
    e.preventDefault();
    move(Math.min(high, Math.max(low, at + step)));
  };
  return html`<div class="handle" role="slider" tabindex="0" aria-label=${name} aria-valuemin=${low} aria-valuemax=${high} aria-valuenow=${at} aria-valuetext=${text}
    style=${{ left: percent(at, timeline) }} onKeyDown=${keys}></div>`;
}

// Silhouette draws requests over time, and a bar for each incident.
function Silhouette() {
  const { report } = usePage();
  const { timeline, incidents } = report;
  const path = useMemo(() => silhouette(timeline), [timeline]);
  const x = (t) => Math.min(timeline.points, Math.max(0, (t - timeline.start) / timeline.interval));
  return html`<svg viewBox="0 0 ${timeline.points} 100" preserveAspectRatio="none" aria-hidden="true">
    ${incidents.filter((i) => i.level !== "info").map((i) => {
      const from = x(parseTime(i.start));
      const to = i.end ? x(parseTime(i.end)) : timeline.points;
      return html`<rect key=${i.id} class="incident ${i.level}" x=${from} y="0" width=${Math.max(to - from, timeline.points / 200)} height="100" />`;
    })}
    <path d=${path} />
  </svg>`;
}

function silhouette({ kinds, points }) {
  const totals = addPoints(kinds.flatMap((k) => [k.requests, k.answered]), points);
  const top = Math.max(1, ...totals);
  // The root keeps a quiet hour visible beside a flood.
  const steps = totals.map((n, i) => `L${i} ${(100 - 92 * Math.sqrt(n / top)).toFixed(1)}h1`);
  return `M0 100${steps.join("")}L${points} 100Z`;
}
