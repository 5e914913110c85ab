// Small pieces that views share.
import { html, useState } from "../html.js";
import { usePage } from "./context.js";
import { linkTo } from "../route.js";
import { visible } from "../model/text.js";

/** Wire shows text from the network: isolated, on one line, nothing in it hidden. */
export const Wire = ({ text, limit }) => (text == null || text === "" ? null : html`<bdi class="wire">${visible(text, limit)}</bdi>`);

const marks = { alert: "▲", error: "▲", warn: "◆", info: "●", note: "●", chat: "○", calm: "✓", none: "–" };

/** Level shows a level or a severity: by its sign and its word, not by colour alone. */
export const Level = ({ of }) => html`<span class="level ${of}"><span aria-hidden="true">${marks[of] ?? "●"}</span> ${of}</span>`;

export const Sign = ({ of }) => html`<span class="sign ${of}" aria-hidden="true">${marks[of] ?? "●"}</span>`;

/** Empty says why nothing is here and what to do. */
export const Empty = ({ title, children }) => html`<div class="empty"><p><strong>${title}</strong></p>${children && html`<p>${children}</p>`}</div>`;

/** None is the same of a table, which a range of time can have emptied. */
export function None({ inRange, whole, children }) {
  const { range } = usePage();
  return range
    ? html`<${Empty} title=${inRange}>Choose a longer range, or show all of the capture.<//>`
    : html`<${Empty} title=${whole}>${children}<//>`;
}

/** NotKept says that the program counts what is asked for, or does not even that. */
export const NotKept = ({ what, command, children }) => html`<${Empty} title="The program that watches keeps no ${what}.">
  It counts packets and does not read messages. ${children} Of a capture <code>qsniff ${command} FILE</code> prints them.<//>`;

/** Lost is the view of something that the report does not have. */
export const Lost = ({ heading, title, children }) => html`<h1 tabindex="-1">${heading}</h1>
  <${Empty} title=${title}>${children}<//>`;

/** FindingLine is a finding in one line, with the way to its explanation. */
export const FindingLine = ({ f }) => html`<p class="turnfinding">
  <${Level} of=${f.severity} /> <a href=${linkTo("finding", f.id)}>${f.id}</a> ${visible(f.text, 400)}
</p>`;

/** Card explains a kind of finding or incident: what it is, and what to do. */
export const Card = ({ level, href, name, about, texts, todo }) => html`<article class="group ${level}">
  <h2><${Level} of=${level} /> <a href=${href}>${name}</a> <span class="quiet">${about}</span></h2>
  ${texts.map((text) => html`<p key=${text}>${text}</p>`)}
  <p class="do"><b>What to do:</b> ${todo}</p>
</article>`;

/** Facts is a list of names and values; those without a value are left out. Wide ones have a
 * line each. */
export function Facts({ of, wide }) {
  const rows = of.filter(([, value]) => value != null && value !== "");
  return html`<dl class="facts ${wide ? "wide" : ""}">${rows.map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
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
