// Text from the network is harmless: markup, controls, marks of direction, endless names.
import { test, after } from "node:test";
import assert from "node:assert/strict";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { closeBrowser, exchangeLinks, goTo, holdsNothing, makeReport, openPage, root, scratch, views } from "./page.mjs";

after(closeBrowser);

test("every hostile capture", async () => {
  const folder = join(root, "pcapfiles", "hostile");
  const names = readdirSync(folder).filter((n) => n.endsWith(".pcap"));
  assert.ok(names.length > 20);
  const page = await openPage(makeReport(...names.map((n) => `hostile/${n}`)));
  for (const hash of [...views, ...(await exchangeLinks(page))]) {
    await goTo(page, hash);
    await holdsNothing(page, hash);
  }
  assert.deepEqual(page.faults, []);
  await page.close();
});

const nasty = `<img src=x onerror=alert(1)><script>alert(2)</script>"'&amp;</td>\u0000\u0007\u001b[31m\u202etxt.exe\u2066\u200b\ufeff\u2028{{csp}}`;

test("every text of a report is nasty, and 64 KiB long", async () => {
  const url = alter(makeReport("a2s/full-poll.pcap", "floods/spoofed.pcap"), (doc) => {
    const long = nasty.repeat(Math.ceil(65536 / nasty.length));
    const words = new Set(["name", "map", "text", "value", "note", "version", "command"]);
    const spoil = (node) => {
      for (const [key, value] of Object.entries(node))
        if (typeof value === "string" && words.has(key) && !/^a2s\./.test(value)) node[key] = node === doc.stats.servers[0] ? long : nasty + value;
        else if (value && typeof value === "object") spoil(value);
    };
    spoil(doc);
  });
  const page = await openPage(url);
  for (const hash of [...views, "#/incident/1", ...(await exchangeLinks(page)).slice(0, 3)]) {
    await goTo(page, hash);
    await holdsNothing(page, hash);
  }
  assert.deepEqual(page.faults, []);
  await page.close();
});

// alter writes a report anew with a changed document, as the program would.
function alter(url, change) {
  const page = readFileSync(fileURLToPath(url), "utf8");
  const [, head, json, tail] = /^([^]*id="report"[^>]*>)([^]*?)(<\/script>[^]*)$/.exec(page);
  const doc = JSON.parse(json);
  change(doc);
  const out = join(scratch, "altered.html");
  writeFileSync(out, head + JSON.stringify(doc).replace(/[<>&\u2028\u2029]/g, (c) => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0")) + tail);
  return pathToFileURL(out).href;
}
