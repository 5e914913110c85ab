// What a reader chose for every report: the colours, and the zone of times. A browser that
// keeps nothing for files from disk forgets it with the page.
import { useEffect, useState } from "./html.js";

const defaults = { theme: "auto", zone: "utc" };
const kept = { ...defaults, ...read() };
const listeners = new Set();
const dark = matchMedia("(prefers-color-scheme: dark)");

function read() {
  try {
    return JSON.parse(localStorage.getItem("qsniff")) ?? {};
  } catch {
    return {};
  }
}

/** setPref changes a preference, keeps it where it can, and shows it. */
export function setPref(name, value) {
  kept[name] = value;
  try {
    localStorage.setItem("qsniff", JSON.stringify(kept));
  } catch {
    // not kept
  }
  applyTheme();
  for (const tell of listeners) tell({ ...kept });
}

function applyTheme() {
  const theme = kept.theme === "auto" ? (dark.matches ? "dark" : "light") : kept.theme;
  document.documentElement.dataset.theme = theme;
  dispatchEvent(new Event("themechange"));
}

// A page that has this one in a frame, or another one of these, may change them.
addEventListener("storage", (e) => {
  if (e.key !== "qsniff") return;
  Object.assign(kept, read());
  applyTheme();
  for (const tell of listeners) tell({ ...kept });
});
dark.addEventListener("change", applyTheme);
applyTheme();

/** usePrefs returns the preferences, and follows them. */
export function usePrefs() {
  const [prefs, set] = useState({ ...kept });
  useEffect(() => {
    listeners.add(set);
    return () => listeners.delete(set);
  }, []);
  return prefs;
}
