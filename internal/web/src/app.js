// The page around the views: header, range of time, and the view that the address names.
import { html, useEffect, useMemo, useRef } from "./html.js";
import { useRoute, linkTo, setParams } from "./route.js";
import { usePrefs, setPref } from "./prefs.js";
import { indexReport } from "./model/report.js";
import { parseRange } from "./model/range.js";
import { zoneName } from "./model/time.js";
import { formatCount } from "./model/number.js";
import { Page } from "./ui/context.js";
import { Brush } from "./ui/brush.js";
import { Lost, Wire } from "./ui/bits.js";
import { Overview } from "./views/overview.js";
import { Servers, Server } from "./views/servers.js";
import { Exchanges, Exchange } from "./views/exchanges.js";
import { Incidents, Incident } from "./views/incidents.js";
import { Findings, Finding } from "./views/findings.js";
import { About } from "./views/about.js";

// tabs are the views of the menu: path, words, and how many things it shows; no number where the
// report keeps none.
const tabs = [
  { path: [], words: "Overview", views: [""] },
  { path: ["incidents"], words: "Incidents", views: ["incidents", "incident"], count: (r) => r.incidents.length },
  { path: ["servers"], words: "Servers", views: ["servers", "server"], count: (r) => (r.stats.servers?.length ?? 0) + (r.stats.servers_not_listed ?? 0) },
  { path: ["exchanges"], words: "Exchanges", views: ["exchanges", "exchange"], count: (r) => !r.isLive && r.exchanges.length + (r.doc.left_out?.exchanges ?? 0) },
  { path: ["findings"], words: "Findings", views: ["findings", "finding"], count: (r) => r.doc.findings && r.findings.length + (r.doc.left_out?.findings ?? 0) },
  { path: ["about"], words: "About", views: ["about"] },
];

const views = {
  "": Overview, servers: Servers, exchanges: Exchanges, incidents: Incidents, findings: Findings, about: About,
  server: ({ name }) => html`<${Server} key=${name} address=${name} />`,
  exchange: ({ name }) => html`<${Exchange} key=${name} id=${name} />`,
  incident: ({ name }) => html`<${Incident} key=${name} id=${name} />`,
  finding: ({ name }) => html`<${Finding} key=${name} id=${name} />`,
};

/** App shows the report doc of a source. home is what the header begins with, if anything. */
export function App({ doc, source, home }) {
  const route = useRoute();
  const prefs = usePrefs();
  const report = useMemo(() => indexReport(doc, source.counts), [doc, source]);
  const range = useMemo(() => parseRange(route.params.t, report.timeline), [route.params.t, report]);
  const main = useRef(null);
  const [view = "", name = ""] = route.path;
  useShortcuts();
  useArrival(main, view, name);
  const View = views[view];
  return html`<${Page.Provider} value=${{ report, source, route, range, prefs }}>
    <a class="skip" href="#main" onClick=${(e) => { e.preventDefault(); main.current.focus(); }}>Skip to the content</a>
    <header>
      <${Head} ...${{ report, prefs, home }} />
      <nav aria-label="Views">${tabs.map((tab) => html`<${Tab} key=${tab.words} ...${{ tab, view, report }} />`)}</nav>
    </header>
    <${Brush} />
    <main id="main" tabindex="-1" ref=${main}>
      ${View
        ? html`<${View} name=${name} />`
        : html`<${Lost} heading="Nothing is here" title="The report has no view of that name."><a href=${linkTo()}>Overview</a><//>`}
    </main>
  <//>`;
}

const Tab = ({ tab, view, report }) => html`<a href=${linkTo(...tab.path)} aria-current=${tab.views.includes(view) ? "page" : undefined}>
  ${tab.words}${Number.isInteger(tab.count?.(report)) && html` <span class="badge">${formatCount(tab.count(report))}</span>`}
</a>`;

function Head({ report, prefs, home }) {
  const files = report.doc.files ?? [];
  return html`<div class="head">
    ${home ?? html`<span class="brand">qsniff</span>`}
    <span class="files">
      ${files[0] && html`<${Wire} text=${files[0].name.split(/[\\/]/).pop()} limit=${80} />`}
      ${files.length > 1 && ` and ${formatCount(files.length - 1)} more`}
    </span>
    <span class="switches"><${Zone} ...${{ report, prefs }} /><${Theme} prefs=${prefs} /></span>
  </div>`;
}

function Zone({ report, prefs }) {
  const [now, other] = prefs.zone === "utc" ? ["UTC", "your zone"] : ["your zone", "UTC"];
  const turn = () => setPref("zone", prefs.zone === "utc" ? "local" : "utc");
  return html`<button type="button" aria-label="Times in ${now}: press for ${other}" onClick=${turn}>
    ${zoneName(prefs.zone, report.timeline.first || 0)}
  </button>`;
}

const Theme = ({ prefs }) => html`<label><span class="unseen">Colours</span>
  <select value=${prefs.theme} onChange=${(e) => setPref("theme", e.target.value)}>
    <option value="auto">Auto</option><option value="light">Light</option><option value="dark">Dark</option>
  </select>
</label>`;

// useShortcuts listens for the keys that the page has everywhere.
function useShortcuts() {
  useEffect(() => {
    const press = (e) => {
      const typing = e.target.matches?.("input, textarea, select");
      if (e.ctrlKey || e.metaKey || e.altKey) return;
      if (e.key === "Escape" && !e.defaultPrevented) {
        if (typing) e.target.blur();
        else setParams({ t: "" }, true);
      } else if (!typing && e.key === "/") {
        e.preventDefault();
        document.querySelector("main input[type=search]")?.focus();
      } else if (!typing && e.key === "?") location.hash = linkTo("about");
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
}

// useArrival names the page, and moves the focus to the heading of a view that was gone to.
function useArrival(main, view, name) {
  const came = useRef(false);
  useEffect(() => {
    const heading = main.current.querySelector("h1");
    document.title = `${heading?.textContent.trim() ?? "report"} – qsniff`;
    if (came.current) {
      heading?.focus({ preventScroll: true });
      scrollTo(0, 0);
    }
    came.current = true;
  }, [view, name]);
}
