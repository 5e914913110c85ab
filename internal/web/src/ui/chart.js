// A chart over the time of the capture. Dragging over it, or Shift and the arrow keys, choose
// a range; the legend reads the values at the cursor.
import uPlot from "uplot";
import { html, useEffect, useRef, useState } from "../html.js";
import { usePage, useClock } from "./context.js";
import { Empty } from "./bits.js";
import { setParams } from "../route.js";
import { formatRange, wholeOf } from "../model/range.js";
import { timeMarks, parseTime } from "../model/time.js";
import { formatShort } from "../model/number.js";

const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const height = 190;

/**
 * Chart draws series of {label, values, color, format} over the points of the timeline. Its
 * summary is what a screen reader says of it. max fixes the top of the axis.
 */
export function Chart({ title, summary, series, incidents = [], max, format = formatShort }) {
  const { report, range, prefs } = usePage();
  const clock = useClock();
  const { timeline } = report;
  const box = useRef(null);
  const plot = useRef(null);
  const [at, setAt] = useState(null); // the point under the cursor
  const [off, setOff] = useState({});
  const shown = range ?? wholeOf(timeline);

  useEffect(() => {
    const frame = box.current;
    if (!frame) return;
    const u = makePlot({ box: frame, timeline, series, incidents, max, format, zone: prefs.zone, shown, setAt });
    plot.current = u;
    const observer = new ResizeObserver(() => u.setSize({ width: frame.clientWidth, height }));
    observer.observe(frame);
    const redraw = () => u.redraw(false, true);
    addEventListener("themechange", redraw);
    return () => {
      observer.disconnect();
      removeEventListener("themechange", redraw);
      u.destroy();
    };
  }, [series, incidents, prefs.zone, shown.a, shown.b]);

  if (series.every((s) => s.values.every((v) => v == null))) return html`<${Unknown} ...${{ title, report }} />`;
  const toggle = (i) => {
    plot.current.setSeries(i + 1, { show: !!off[i] });
    setOff({ ...off, [i]: !off[i] });
  };
  const keys = (e) => onKeys(e, { plot: plot.current, shown, timeline });
  const reading = at == null ? "" : clock.coarse(timeline.times[at]);
  const valueOf = (s) => (at == null ? "" : s.values[at] == null ? "–" : (s.format ?? format)(s.values[at]));
  const label = `${summary} Arrow keys read it, Shift and arrow keys select a range, Enter takes it.`;
  return html`<figure class="chart" aria-label=${title}>
    <figcaption><span class="title">${title}</span><span class="reading">${reading}</span></figcaption>
    <div class="plot" ref=${box} tabindex="0" role="group" aria-roledescription="chart" aria-label=${label} onKeyDown=${keys}></div>
    <ul class="legend">${series.map((s, i) => html`<li key=${s.label}>
      <button type="button" aria-pressed=${!off[i]} onClick=${() => toggle(i)}>
        <span class="swatch ${s.color.slice(2)}" aria-hidden="true"></span>${s.label} <b>${valueOf(s)}</b>
      </button></li>`)}</ul>
    <span class="unseen" role="status">${reading && `${reading}: ${series.map((s) => `${s.label} ${valueOf(s)}`).join(", ")}`}</span>
  </figure>`;
}

// Unknown stands for a chart without a single value.
const Unknown = ({ title, report }) => html`<figure class="chart" aria-label=${title}>
  <figcaption><span class="title">${title}</span></figcaption>
  <${Empty} title="Unknown in this capture.">
    ${report.stats.only ? `Only ${report.stats.only} were captured.` : "Nothing that it could be measured by was captured."}
  <//>
</figure>`;

function makePlot({ box, timeline, series, incidents, max, format, zone, shown, setAt }) {
  const grid = { stroke: () => color("--grid"), width: 1 };
  const axis = { stroke: () => color("--quiet"), grid, ticks: { show: false }, font: "11px system-ui, sans-serif" };
  const marksOf = (u) => timeMarks(u.scales.x.min, u.scales.x.max, Math.max(2, u.bbox.width / devicePixelRatio / 90), zone);
  // Each point is drawn from its begin to its end: one more closes the last.
  const xs = [...timeline.times, timeline.end];
  const options = {
    width: box.clientWidth, height, padding: [8, 10, 0, 0],
    legend: { show: false },
    scales: { x: { time: false, range: () => [shown.from, shown.to] }, y: { range: (u, low, high) => [0, max ?? (high > 0 ? high * 1.05 : 1)] } },
    axes: [
      { ...axis, size: 24, splits: (u) => marksOf(u).map((m) => m.at), values: (u) => marksOf(u).map((m) => m.label) },
      { ...axis, size: (u, labels) => 14 + 6.2 * Math.max(4, ...(labels ?? []).map((l) => l.length)), values: (u, splits) => splits.map((v) => format(v)) },
    ],
    series: [{}, ...series.map((s, i) => ({
      label: s.label, stroke: () => color(s.color), width: 1.5, points: { show: false }, spanGaps: false,
      fill: i === 0 && series.length === 1 ? () => color(s.color) + "22" : undefined, paths: drawSteps,
    }))],
    cursor: { drag: { x: true, y: false, setScale: false }, sync: { key: "time" }, points: { size: 6 } },
    hooks: {
      drawClear: [(u) => incidents.forEach((x) => shadeIncident(u, x, timeline))],
      setCursor: [(u) => setAt(u.cursor.idx == null || u.cursor.left < 0 ? null : Math.min(u.cursor.idx, timeline.points - 1))],
      setSelect: [(u) => u.select.width > 4 && takeSelection(u, timeline)],
    },
  };
  return new uPlot(options, [xs, ...series.map((s) => [...s.values, s.values.at(-1)])], box);
}

// drawSteps returns the line of a series: each point from its begin to its end, joined with
// its neighbours; nothing where there is no value.
function drawSteps(u, index) {
  const [xs, ys] = [u.data[0], u.data[index]];
  const [stroke, fill] = [new Path2D(), new Path2D()];
  const [x, y] = [(v) => u.valToPos(v, "x", true), (v) => u.valToPos(v, "y", true)];
  const floor = y(0);
  let joined = false;
  for (let i = 0; i < xs.length - 1; i++) {
    if (ys[i] == null) {
      joined = false;
      continue;
    }
    const [from, to, at] = [x(xs[i]), x(xs[i + 1]), y(ys[i])];
    if (joined) stroke.lineTo(from, at);
    else stroke.moveTo(from, at);
    stroke.lineTo(to, at);
    fill.rect(from, at, to - from, floor - at);
    joined = true;
  }
  return { stroke, fill, clip: null, band: null, gaps: null, flags: 0 };
}

// takeSelection makes what was selected the range: whole points.
function takeSelection(u, timeline) {
  const point = (left) => (u.posToVal(left, "x") - timeline.start) / timeline.interval;
  const a = Math.max(0, Math.floor(point(u.select.left)));
  const b = Math.min(timeline.points, Math.max(a + 1, Math.ceil(point(u.select.left + u.select.width))));
  u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
  setParams({ t: formatRange(a, b, timeline) }, true);
}

// shadeIncident draws an incident behind the lines: from its begin to its end, with a line
// at its detection.
function shadeIncident(u, incident, timeline) {
  const x = (t) => Math.round(u.valToPos(Math.min(Math.max(t, u.scales.x.min), u.scales.x.max), "x", true));
  const from = x(parseTime(incident.start));
  const to = x(incident.end ? parseTime(incident.end) : timeline.end);
  const { top, height: tall } = u.bbox;
  u.ctx.save();
  u.ctx.fillStyle = color(`--${incident.level}-soft`);
  u.ctx.fillRect(from, top, Math.max(to - from, 2), tall);
  u.ctx.strokeStyle = color(`--${incident.level}`);
  u.ctx.lineWidth = devicePixelRatio;
  u.ctx.setLineDash([4, 3]);
  const detected = x(parseTime(incident.detected));
  u.ctx.beginPath();
  u.ctx.moveTo(detected, top);
  u.ctx.lineTo(detected, top + tall);
  u.ctx.stroke();
  u.ctx.restore();
}

// onKeys moves the cursor by arrow keys, selects with Shift, and takes the selection with Enter.
function onKeys(e, { plot: u, shown, timeline }) {
  const step = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[e.key];
  if (step !== undefined) {
    const now = u.cursor.idx ?? shown.a;
    const next = Math.min(Math.max(now + step, shown.a), shown.b - 1);
    if (e.shiftKey) u.anchor ??= now;
    else u.anchor = undefined;
    u.setCursor({ left: u.valToPos(timeline.times[next] + timeline.interval / 4, "x"), top: 10 });
    markKeys(u, next, timeline);
  } else if (e.key === "Enter" && u.select.width > 0) {
    const [a, b] = u.chosen;
    setParams({ t: formatRange(a, b, timeline) }, true);
  } else if (e.key === "Escape") {
    setParams({ t: "" }, true);
  } else return;
  e.preventDefault();
}

function markKeys(u, next, timeline) {
  if (u.anchor === undefined) return u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
  u.chosen = [Math.min(u.anchor, next), Math.max(u.anchor, next) + 1];
  const left = u.valToPos(timeline.start + u.chosen[0] * timeline.interval, "x");
  const right = u.valToPos(timeline.start + u.chosen[1] * timeline.interval, "x");
  u.setSelect({ left, top: 0, width: right - left, height: u.bbox.height / devicePixelRatio }, false);
}
