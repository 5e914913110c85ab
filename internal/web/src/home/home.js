// The page that makes reports: a capture is dropped or chosen, or a payload pasted, and the
// program reads it here. Nothing leaves the browser.
import { html, useEffect, useMemo, useRef, useState } from "../html.js";
import { App } from "../app.js";
import { createRunner, captureSource } from "./runner.js";
import { Paste } from "./paste.js";
import { formatBytes, formatShare } from "../model/number.js";
import { Empty, Section } from "../ui/bits.js";

/** Home shows the page, and then the report of the files that were chosen. */
export function Home() {
  const runner = useMemo(() => createRunner(), []);
  const [shown, setShown] = useState(null); // {doc, source, remarks}
  const [work, setWork] = useState(null); // {names, read, total, abort}
  const [fault, setFault] = useState("");
  const open = (files) => openFiles({ files, runner, setShown, setWork, setFault });
  const leave = () => {
    setShown(null);
    history.replaceState(null, "", location.pathname + location.search);
  };
  useOffline();
  useDrop(open);
  if (shown && !work) {
    const home = html`<button type="button" onClick=${leave}>‹ Another capture</button>
      <${Save} source=${shown.source} name=${shown.doc.files?.[0]?.name} />`;
    return html`${shown.remarks && html`<p class="caveat" role="status">${shown.remarks}</p>`}
      <${App} ...${shown} home=${home} />`;
  }
  return html`<main class="home">
    <h1 tabindex="-1">qsniff: what game servers are asked, and what they answer</h1>
    <p class="lead">Choose a capture. It is read by the program in this page: nothing is sent anywhere, and it works offline.</p>
    ${work ? html`<${Working} work=${work} />` : html`<${Choose} ...${{ open, fault }} />`}
    <${Examples} ...${{ open, busy: !!work }} />
    <${Paste} ...${{ runner, busy: !!work }} />
    <${Section} id="terminal" title="On a terminal"><p>
      The same report as one file: <code>qsniff report FILE -o report.html</code>.${" "}
      On the host of a server the program also captures, watches and alerts.</p><//>
  </main>`;
}

// openFiles has the program make a report of files, and shows it.
async function openFiles({ files, runner, setShown, setWork, setFault }) {
  const list = [...files];
  if (list.length === 0) return;
  const control = new AbortController();
  const total = list.reduce((n, f) => n + f.size, 0);
  const work = { names: list.map((f) => f.name).join(", "), read: 0, total, abort: () => control.abort() };
  setFault("");
  setWork(work);
  const source = captureSource(runner, list);
  try {
    const { doc, remarks } = await source.load({ signal: control.signal, onProgress: ({ read }) => setWork({ ...work, read }) });
    setShown({ doc, source, remarks, key: Date.now() });
  } catch (err) {
    setFault(err.name === "AbortError" ? "Cancelled." : String(err.message ?? err));
  }
  setWork(null);
}

// Save gives the report as the one file that `qsniff report` writes.
function Save({ source, name = "report" }) {
  const [state, setState] = useState("");
  const save = async () => {
    setState("Writing…");
    try {
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([await source.page()], { type: "text/html" }));
      link.download = `${name.split("/").pop()}.html`;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 60000);
      setState("");
    } catch (err) {
      setState(String(err.message ?? err));
    }
  };
  return html`<button type="button" disabled=${state === "Writing…"} onClick=${save}>Save as one file</button> <span role="status" class="quiet">${state}</span>`;
}

function Choose({ open, fault }) {
  return html`<div class="drop"><label>
      <input type="file" multiple onChange=${(e) => open(e.target.files)} />
      <span><strong>Drop captures here</strong>, or press to choose them</span>
      <span class="quiet">pcap and pcapng, also as gzip, zstd, bzip2 or lz4; of any size: they are read in pieces</span>
    </label></div>
    ${fault && html`<div role="alert"><${Empty} title=${fault}>${adviceOn(fault)}<//></div>`}`;
}

// adviceOn says what to do about a fault.
function adviceOn(fault) {
  if (location.protocol === "file:")
    return "Browsers do not start programs for pages from disk. Serve the folder of this page, for example with: python3 -m http.server";
  if (fault === "Cancelled.") return "Choose a capture whenever you like.";
  return "qsniff reads captures of tcpdump, Wireshark and others. What the program said is above.";
}

function Working({ work }) {
  const part = work.total > 0 ? Math.min(1, work.read / work.total) : 0;
  return html`<div class="drop working"><p><strong>Reading ${work.names}</strong></p>
    <progress max="1" value=${part} aria-label="Bytes read"></progress>
    <p role="status">${formatBytes(work.read)} of ${formatBytes(work.total)}, ${formatShare(part)}</p>
    <button type="button" onClick=${work.abort}>Cancel</button></div>`;
}

// Examples lists captures that the page brings along, and opens the one that the address names:
// ?example=NAME.
function Examples({ open, busy }) {
  const [list, setList] = useState([]);
  const [fault, setFault] = useState("");
  useEffect(() => {
    if (location.protocol === "file:") return;
    fetch("examples/index.json").then((r) => (r.ok ? r.json() : [])).then((all) => {
      setList(all);
      const named = all.find((x) => x.name === new URLSearchParams(location.search).get("example"));
      if (named) take(named);
    }, () => {});
  }, []);
  const take = async (x) => {
    try {
      const answer = await fetch(`examples/${encodeURIComponent(x.name)}`);
      if (!answer.ok) throw new Error(`${x.name}: ${answer.status}`);
      setFault("");
      open([new File([await answer.blob()], x.name)]);
    } catch (err) {
      setFault(`The example could not be fetched: ${err.message}`);
    }
  };
  if (list.length === 0) return null;
  const item = (x) => html`<li key=${x.name}>
    <button type="button" disabled=${busy} onClick=${() => take(x)}>${x.title}</button> <span class="quiet">${x.name}, ${formatBytes(x.bytes)}</span>
  </li>`;
  return html`<${Section} id="examples" title="Examples">
    <ul class="examples">${list.map(item)}</ul>
    ${fault && html`<p role="alert" class="caveat">${fault}</p>`}<//>`;
}

// useDrop takes files that are dropped anywhere on the page.
function useDrop(open) {
  const latest = useRef(open);
  latest.current = open;
  useEffect(() => {
    const over = (e) => e.preventDefault();
    const drop = (e) => {
      e.preventDefault();
      if (e.dataTransfer?.files.length) latest.current(e.dataTransfer.files);
    };
    addEventListener("dragover", over);
    addEventListener("drop", drop);
    return () => {
      removeEventListener("dragover", over);
      removeEventListener("drop", drop);
    };
  }, []);
}

// useOffline keeps the page and the program for when there is no network.
function useOffline() {
  useEffect(() => {
    if (location.protocol.startsWith("http")) navigator.serviceWorker?.register("sw.js").catch(() => {});
  }, []);
}
