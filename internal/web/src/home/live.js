// The page of a program that watches: its report is replaced by newer ones while somebody reads.
// What was chosen stays: view, sort, search and place stand in the address and in the elements,
// and a range of time stays the same time.
import { html, useEffect, useRef, useState } from "../html.js";
import { App } from "../app.js";
import { Empty } from "../ui/bits.js";
import { parseHash, setParams } from "../route.js";
import { indexTimeline } from "../model/report.js";
import { parseRange, rangeOfTimes } from "../model/range.js";
import { formatClock } from "../model/time.js";

const advice = "The program that watches may have ended, or cannot be reached from here. This page tries again by itself.";

/** Live shows the newest report of a source, and what the page knows of the connection. */
export function Live({ source }) {
  const [doc, setDoc] = useState(null);
  const [link, setLink] = useState({ fault: "" });
  const [held, setHeld] = useState(false);
  const take = useHold(held, (newer) => setDoc((old) => { carryRange(old, newer); return newer; }));
  useEffect(() => source.watch(take, setLink), [source]);
  if (!doc)
    return html`<main><h1>${link.fault ? "No report yet" : "Waiting for the first report…"}</h1>
      ${link.fault && html`<${Empty} title=${link.fault}>${advice}<//>`}</main>`;
  const home = html`<span class="brand">qsniff</span> <${Link} ...${{ link, held, hold: () => setHeld(!held) }} />`;
  return html`<${App} ...${{ doc, source, home }} />`;
}

// Link says how new the figures are, and stops them.
const Link = ({ link, held, hold }) => html`<span class="link ${link.fault ? "lost" : ""}">
  <span role="status">${held ? "on hold" : link.fault ? "no connection" : "live"}</span>
  ${link.at && html` <span class="quiet">${formatClock(link.at / 1000, "local", 0)}</span>`}
  <button type="button" aria-pressed=${held} onClick=${hold}>${held ? "Go on" : "Hold"}</button>
</span>`;

// useHold passes newer reports on, but while the page is on hold, or a pointer is down: somebody
// draws a range or marks text then. The last one is passed on afterwards.
function useHold(held, show) {
  const state = useRef({}).current;
  Object.assign(state, { held, show });
  const pass = () => {
    if (state.held || state.down || !state.doc) return;
    state.show(state.doc);
    state.doc = null;
  };
  useEffect(pass, [held]);
  useEffect(() => {
    const press = () => { state.down = true; };
    const lift = () => { state.down = false; setTimeout(pass); };
    addEventListener("pointerdown", press, true);
    for (const name of ["pointerup", "pointercancel"]) addEventListener(name, lift, true);
    return () => {
      removeEventListener("pointerdown", press, true);
      for (const name of ["pointerup", "pointercancel"]) removeEventListener(name, lift, true);
    };
  }, []);
  return (doc) => {
    state.doc = doc;
    pass();
  };
}

// The range as it was chosen, and how it stands in the address: points of newer reports may lie
// elsewhere, and a range that was rounded to points again and again would grow.
let chosen = { text: "", from: 0, to: 0 };

// carryRange makes the range in the address of one report the same time in another.
function carryRange(old, newer) {
  const { t } = parseHash(location.hash).params;
  if (!t || !old) return;
  if (t !== chosen.text) {
    const range = parseRange(t, indexTimeline(old.timeline, old.stats));
    if (!range) return;
    chosen = { text: t, from: range.from, to: range.to };
  }
  const timeline = indexTimeline(newer.timeline, newer.stats);
  const isOver = chosen.to <= timeline.start || chosen.from >= timeline.end;
  const inside = timeline.interval / 1000; // the end of a range is the begin of what is not in it
  chosen.text = isOver ? "" : rangeOfTimes(chosen.from + inside, chosen.to - inside, timeline);
  if (chosen.text !== t) setParams({ t: chosen.text });
}
