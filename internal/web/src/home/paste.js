// A payload that somebody pasted, decoded as `qsniff decode` does it.
import { html, useState } from "../html.js";
import { Inspect } from "../ui/inspect.js";
import { Level, Section } from "../ui/bits.js";
import { visible } from "../model/text.js";
import { counted } from "../model/number.js";

const about = "Hexadecimal, base64, strings with \\xff, or dumps of tcpdump, xxd, hexdump and Wireshark. " +
  "All parts of one reply together, with blank lines between them.";

export function Paste({ runner, busy }) {
  const [text, setText] = useState("");
  const [as, setAs] = useState("");
  const [dir, setDir] = useState("");
  const [result, setResult] = useState(null);
  const decode = async (e) => {
    e.preventDefault();
    setResult({ waiting: true });
    setResult(await decodeText(runner, { text, as, dir }));
  };
  return html`<${Section} id="paste" title="Paste a payload" about=${about}>
    <form onSubmit=${decode}>
      <textarea rows="4" aria-label="Payload" spellcheck="false" value=${text} onInput=${(e) => setText(e.target.value)}></textarea>
      <p class="tools"><label>Protocol <input type="text" size="10" placeholder="any" value=${as} onInput=${(e) => setAs(e.target.value.trim())} /></label>
        <label>Direction <select value=${dir} onChange=${(e) => setDir(e.target.value)}>
          <option value="">any</option><option value="request">request</option><option value="reply">reply</option>
        </select></label>
        <button type="submit" disabled=${busy || !text.trim() || result?.waiting}>Decode</button></p>
    </form>
    <div aria-live="polite">${result?.waiting && html`<p>Decoding…</p>`}${(result?.remarks ?? []).map((line) => html`<p key=${line} class="caveat">${visible(line, 400)}</p>`)}</div>
    ${result?.messages?.map((m, i) => html`<${Decoded} key=${i} m=${m} />`)}
  <//>`;
}

async function decodeText(runner, { text, as, dir }) {
  const args = ["decode", "-o", "json", "--layout"];
  if (as) args.push("--as", as);
  if (dir) args.push("--dir", dir);
  try {
    const { stdout, stderr } = await runner.run([...args, "-"], { stdin: text });
    const messages = stdout.split("\n").filter(Boolean).map((line) => JSON.parse(line)).filter((m) => !m.record);
    const remarks = (stderr ?? "").split("\n").map((line) => line.trim()).filter(Boolean);
    if (!messages.length && !remarks.length) remarks.push("Nothing in it could be decoded.");
    return { messages, remarks };
  } catch (err) {
    return { remarks: [String(err.message ?? err)] };
  }
}

function Decoded({ m }) {
  const [chosen, choose] = useState(null);
  return html`<h3>${m.message ?? "unknown"} <span class="quiet">${m.protocol} ${m.direction}, ${counted(m.length, "byte")}, ${m.status}</span></h3>
    ${(m.findings ?? []).map((f) => html`<p key=${f.id}><${Level} of=${f.severity} /> ${f.id} ${visible(f.text, 400)}</p>`)}
    <${Inspect} ...${{ m, chosen, choose }} />`;
}
