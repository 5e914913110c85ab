// Sets the colours that the reader chose, before anything is drawn. The page that decodes
// captures keeps them in the same place.
"use strict";
globalThis.sitePrefs = (() => {
  const read = () => {
    try {
      return JSON.parse(localStorage.getItem("qsniff")) ?? {};
    } catch {
      return {};
    }
  };
  const dark = matchMedia("(prefers-color-scheme: dark)");
  let chosen = read().theme; // where nothing is kept, until the page is left
  const theme = () => (chosen === "dark" || chosen === "light" ? chosen : dark.matches ? "dark" : "light");
  const apply = () => { document.documentElement.dataset.theme = theme(); };
  const choose = (value) => {
    chosen = value;
    try {
      localStorage.setItem("qsniff", JSON.stringify({ ...read(), theme: value }));
    } catch {
      // not kept
    }
    apply();
  };
  dark.addEventListener("change", apply);
  apply();
  return { theme, choose, dark };
})();
