// Small pieces that views share.
import { html, useState } from "../html.js";
import { visible } from "../model/text.js";

/** Wire shows text from the network: isolated, on one line, nothing in it hidden. */
export const Wire = ({ text, limit }) => (text == null || text === "" ? null : html`<bdi class="wire">${visible(text, limit)}</bdi>`);

const marks = { alert: "▲", error: "▲", warn: "◆", info: "●", note: "●", chat: "○", calm: "✓", none: "–" };

/** Level shows a level or a severity: by its sign and its word, not by colour alone. */
export const Level = ({ of }) => html`<span class="level ${of}"><span aria-hidden="true">${marks[of] ?? "●"}</span> ${of}</span>`;

export const Sign = ({ of }) => html`<span class="sign ${of}" aria-hidden="true">${marks[of] ?? "●"}</span>`;

/** Empty says why nothing is here and what to do. */
export const Empty = ({ title, children }) => html`<div class="empty"><p><strong>${title}</strong></p>${children && html`<p>${children}</p>`}</div>`;

/** Facts is a list of names and values; those without a value are left out. */
export function Facts({ of }) {
  const rows = of.filter(([, value]) => value != null && value !== "");
  return html`<dl class="facts">${rows.map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}

/** Section is a part of a view with its heading, and what its figures are of. */
export const Section = ({ title, about, children, id }) => html`<section class="section">
  <h2 id=${id}>${title}</h2>${about && html`<p class="about">${about}</p>`}
  ${children}
</section>`;

/** Copy is a button that copies text, and says whether that worked. */
export function Copy({ text, label = "Copy" }) {
  const [state, setState] = useState("");
  const copy = async () => {
    setState((await copyText(text)) ? "Copied" : "Select the text and copy it by hand");
    setTimeout(() => setState(""), 2500);
  };
  return html`<span class="copy"><button type="button" onClick=${copy}>${label}</button><span role="status">${state}</span></span>`;
}

// copyText also copies on pages from disk, where the clipboard's interface may be missing.
async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}
