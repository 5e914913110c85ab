// What the pages of the manual do beyond showing text: search, colours, copying. Without it all
// text is there. The index is a script, because a page from disk may load no other data.
"use strict";
const make = (name, props = {}, ...children) => {
  const e = Object.assign(document.createElement(name), props);
  e.append(...children);
  return e;
};
const input = document.getElementById("search"), results = document.getElementById("results");
const mostResults = 30;

// The index is loaded when the search is first used.
let index;
const loadIndex = () => index ??= new Promise((done, fail) => {
  document.head.append(make("script", { src: "search.js", onload: () => done(prepare(globalThis.siteIndex)), onerror: fail }));
});

const prepare = ({ pages, entries }) => entries.map((e) => ({
  href: `${pages[e.p][0]}${e.id ? `#${e.id}` : ""}`, page: pages[e.p][1], title: e.t, under: e.u ?? "", text: e.x ?? "",
  lowTitle: e.t.toLowerCase(), low: `${e.t} ${e.u ?? ""} ${e.x ?? ""} ${pages[e.p][1]}`.toLowerCase(),
}));

// find returns entries that have all words, best first: the title itself, a title that begins so, one that has it, the text.
function find(all, query) {
  const whole = query.trim().toLowerCase(), words = whole.split(/\s+/).filter(Boolean);
  const score = (e) => {
    if (e.lowTitle === whole || e.lowTitle === `qsniff ${whole}`) return 0;
    if (e.lowTitle.startsWith(whole)) return 1;
    if (words.every((w) => e.lowTitle.includes(w))) return 2;
    return e.low.includes(whole) ? 3 : 4;
  };
  return words.length === 0 ? [] : all.filter((e) => words.every((w) => e.low.includes(w)))
    .map((e, at) => ({ e, at, score: score(e) })).sort((a, b) => a.score - b.score || a.at - b.at).map((x) => x.e);
}

// marked returns text with the words marked, as elements: no markup is made of strings.
function marked(text, words) {
  const low = text.toLowerCase(), parts = [];
  for (let at = 0; at < text.length;) {
    const hits = words.map((w) => [low.indexOf(w, at), w.length]).filter(([i]) => i >= 0).sort((a, b) => a[0] - b[0]);
    const [from, length] = hits[0] ?? [text.length, 0];
    parts.push(text.slice(at, from));
    if (length) parts.push(make("mark", { textContent: text.slice(from, from + length) }));
    at = from + length;
  }
  return parts;
}

// excerpt returns the text around the first word that is in it.
function excerpt(text, words) {
  const low = text.toLowerCase(), hits = words.map((w) => low.indexOf(w)).filter((i) => i >= 0);
  const from = Math.max(0, Math.min(...hits, text.length) - 50);
  const start = hits.length === 0 || from === 0 ? 0 : text.indexOf(" ", from) + 1;
  const end = text.length > start + 150 ? text.lastIndexOf(" ", start + 150) : -1;
  return (start ? "… " : "") + (end > start ? `${text.slice(start, end)} …` : text.slice(start));
}

async function search() {
  const query = input.value, words = query.toLowerCase().split(/\s+/).filter(Boolean);
  results.hidden = words.length === 0;
  if (words.length === 0) return;
  let found;
  try {
    found = find(await loadIndex(), query);
  } catch {
    results.replaceChildren(make("p", { role: "alert", textContent: "The index of the search could not be loaded." }));
    return;
  }
  if (input.value !== query) return; // the reader typed on
  const item = (e) => make("li", {}, make("a", { href: e.href },
    make("strong", {}, ...marked(e.title, words)), make("small", { textContent: e.under ? `${e.page}: ${e.under}` : e.page }),
    make("span", {}, ...marked(excerpt(e.text, words), words))));
  const count = found.length === 0 ? "Nothing has all of these words." : `${found.length} ${found.length === 1 ? "place" : "places"}${found.length > mostResults ? `, the best ${mostResults}` : ""}`;
  results.replaceChildren(make("p", { role: "status", textContent: count }), make("ul", {}, ...found.slice(0, mostResults).map(item)));
}

function startSearch() {
  const links = () => [...results.querySelectorAll("a")];
  const close = () => { results.hidden = true; };
  input.hidden = input.nextElementSibling.hidden = false;
  input.addEventListener("focus", () => { loadIndex().catch(() => {}); search(); });
  input.addEventListener("input", search);
  addEventListener("keydown", (e) => {
    const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(e.target.tagName), inside = e.target.closest?.("search");
    if (e.key === "/" && !typing && !e.ctrlKey && !e.metaKey && !e.altKey) input.focus();
    else if (e.key === "Escape" && inside) { input.focus(); close(); }
    else if (e.key === "Enter" && e.target === input) links()[0]?.click();
    else if (inside && (e.key === "ArrowDown" || e.key === "ArrowUp")) {
      const all = [input, ...links()], at = all.indexOf(document.activeElement) + (e.key === "ArrowDown" ? 1 : -1);
      all[Math.min(Math.max(at, 0), all.length - 1)].focus();
    } else return;
    e.preventDefault();
  });
  document.addEventListener("click", (e) => { if (!e.target.closest("search") || e.target.closest("a")) close(); });
}

function startTheme() {
  const button = document.getElementById("theme");
  const show = () => {
    const dark = sitePrefs.theme() === "dark";
    button.textContent = dark ? "Light" : "Dark";
    button.setAttribute("aria-label", dark ? "Light colours" : "Dark colours");
  };
  button.hidden = false;
  button.addEventListener("click", () => { sitePrefs.choose(sitePrefs.theme() === "dark" ? "light" : "dark"); show(); });
  sitePrefs.dark.addEventListener("change", show);
  show();
}

// copy goes without the clipboard where that is for pages from a safe origin only.
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = make("textarea", { value: text, className: "unseen" });
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}

function startCopying() {
  for (const block of document.querySelectorAll(".code, details.file")) {
    const button = make("button", { type: "button", className: "copy", textContent: "Copy" });
    const code = block.querySelector(".cmd") ?? block.querySelector("code");
    button.setAttribute("aria-label", `Copy ${code.textContent.slice(0, 60)}`);
    button.addEventListener("click", async () => {
      await copy(code.textContent);
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
    block.append(button);
  }
}

startSearch();
startTheme();
startCopying();
// What scrolls by itself can be reached with the keyboard.
for (const e of document.querySelectorAll("pre, .scroll")) if (e.scrollWidth > e.clientWidth) e.tabIndex = 0;
// From disk browsers start no programs: there the page to try qsniff on says what to do instead.
document.querySelector(location.protocol === "file:" ? ".analyser" : ".disk")?.remove();
// A link to a file unfolds it.
const unfold = () => {
  const next = document.getElementById(location.hash.slice(1))?.nextElementSibling;
  if (next?.matches("details.file")) next.open = true;
};
addEventListener("hashchange", unfold);
unfold();
// Paper unfolds nothing.
addEventListener("beforeprint", () => { for (const d of document.querySelectorAll("details.output")) d.open = true; });
