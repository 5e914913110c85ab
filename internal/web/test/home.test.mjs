// The page that takes captures, as `make page` builds it, on a static server: the program as
// WebAssembly in a worker.
import { test, after, before } from "node:test";
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { execFileSync } from "node:child_process";
import { copyFileSync, createReadStream, existsSync, openSync, readFileSync, readdirSync, statSync, writeSync, closeSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { join, normalize, extname } from "node:path";
import { closeBrowser, exchangeLinks, goTo, holdsNothing, openPage, program, root, rowsOf, scratch, settle, textOf, views, violations } from "./page.mjs";
import { flood } from "./flood.mjs";

const folder = join(root, "page");
const types = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".json": "application/json" };
const capture = (name) => join(root, "pcapfiles", name);
let server;
let address;

before(async () => {
  if (!existsSync(join(folder, "index.html"))) execFileSync("make", ["-s", "page"], { cwd: root, timeout: 300000 });
  await serve(0);
});
after(async () => {
  server.close();
  server.closeAllConnections();
  await closeBrowser();
});

async function serve(port) {
  server = createServer((request, response) => {
    const file = join(folder, normalize(new URL(request.url, "http://x").pathname).replace(/\/$/, "/index.html"));
    if (!existsSync(file)) return response.writeHead(404).end();
    response.writeHead(200, { "content-type": types[extname(file)] ?? "application/octet-stream" });
    createReadStream(file).pipe(response);
  });
  await new Promise((done) => server.listen(port, "127.0.0.1", done));
  address = `http://127.0.0.1:${server.address().port}/`;
}

const open = async (options) => {
  const page = await openPage(address, { ours: address, ...options });
  page.setDefaultTimeout(90000);
  return page;
};

const choose = async (page, ...files) => (await page.waitForSelector("input[type=file]")).uploadFile(...files);

test("an example becomes a report, and back again", async () => {
  const page = await open();
  assert.match(await textOf(page, "main"), /nothing is sent anywhere/);
  await page.waitForSelector(".examples button");
  assert.ok((await page.$$(".examples button")).length >= 3);
  assert.deepEqual(await violations(page), []);
  await page.click(".examples button");
  await page.waitForSelector(".verdict");
  assert.match(await textOf(page, ".head .files"), /\.pcap$/);
  await page.click(".head button");
  await page.waitForSelector(".drop");
  assert.deepEqual(page.faults, []);
  await page.close();
});

test("a capture gives the figures that the program gives", async () => {
  const page = await open({ width: 390, theme: "dark" });
  assert.ok((await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)) <= 0);
  assert.deepEqual(await violations(page), []);
  await choose(page, capture("floods/reflection.pcap"), capture("a2s/full-poll.pcap"));
  await page.waitForSelector(".verdict");
  const doc = JSON.parse(execFileSync(program, ["report", "-o", "json", capture("floods/reflection.pcap"), capture("a2s/full-poll.pcap")], { maxBuffer: 1 << 28 }));
  await goTo(page, "#/servers?sort=server");
  const servers = await rowsOf(page);
  assert.deepEqual(servers.map((r) => r[0]).sort(), doc.stats.servers.map((s) => s.server).sort());
  await goTo(page, "#/incident/1");
  assert.match(await textOf(page, "main"), new RegExp(doc.incidents[0].evidence[0].text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")));
  assert.deepEqual(page.faults, []);
  await page.close();
});

test("a dropped capture becomes a report, which is saved as one file", async () => {
  const page = await open();
  const bytes = readFileSync(capture("a2s/full-poll.pcap")).toString("base64");
  await page.evaluate((text) => {
    const dropped = new DataTransfer();
    dropped.items.add(new File([Uint8Array.from(atob(text), (c) => c.charCodeAt(0))], "poll.pcap"));
    document.body.dispatchEvent(new DragEvent("drop", { dataTransfer: dropped, bubbles: true, cancelable: true }));
  }, bytes);
  await page.waitForSelector(".verdict");
  const client = await page.createCDPSession();
  await client.send("Browser.setDownloadBehavior", { behavior: "allow", downloadPath: scratch });
  await page.click(".head button:nth-of-type(2)");
  const saved = join(scratch, "poll.pcap.html");
  for (let i = 0; i < 300 && !existsSync(saved); i++) await new Promise((done) => setTimeout(done, 100));
  await page.close();
  const report = await openPage(pathToFileURL(saved).href);
  assert.match(await textOf(report, ".verdict"), /8 packets/);
  assert.deepEqual(report.faults, []);
  await report.close();
});

test("hostile captures, in files whose names are markup, turn text and have two lines", async () => {
  const page = await open();
  const hostile = readdirSync(capture("hostile")).filter((n) => n.endsWith(".pcap")).map((n) => capture(`hostile/${n}`));
  assert.ok(hostile.length > 20);
  const named = ["<img src=x onerror=alert(1)><script>alert(2)<", "\u202egnp.\u2066x\u200b", "a\nb\u001b[31m\"'&amp;"].map((n) => join(scratch, `${n}.pcap`));
  for (const name of named) copyFileSync(capture("hostile/name-html.pcap"), name);
  await choose(page, ...named, ...hostile);
  await page.waitForSelector(".verdict");
  for (const hash of [...views, ...(await exchangeLinks(page)).slice(0, 40)]) {
    await goTo(page, hash);
    await holdsNothing(page, hash);
  }
  assert.deepEqual(page.faults, []);
  await page.close();
});

test("a large capture shows progress, can be cancelled, and what was left out is read on demand", async () => {
  const file = join(scratch, "large.pcap");
  const fd = openSync(file, "w");
  for (const chunk of flood(150000)) writeSync(fd, chunk);
  closeSync(fd);
  const page = await open();
  await choose(page, file);
  await page.waitForFunction(() => document.querySelector("progress")?.value > 0);
  await page.click(".working button");
  await page.waitForSelector("[role=alert]");
  assert.match(await textOf(page, "[role=alert]"), /Cancelled/);
  await choose(page, file);
  await page.waitForSelector(".verdict");
  await goTo(page, "#/about");
  const [, left] = /exchanges\s+([\d,]+)/.exec(await textOf(page, "main"));
  assert.ok(Number(left.replaceAll(",", "")) > 100000, `${left} exchanges were left out`);
  await goTo(page, "#/exchanges");
  const ids = await page.$$eval("tbody a[href*=exchange]", (links) => links.map((a) => Number(/\d+$/.exec(a.getAttribute("href"))[0])));
  const absent = Array.from({ length: 150000 }, (_, i) => i + 1).find((id) => id > 1000 && !ids.includes(id));
  await goTo(page, `#/exchange/${absent}`);
  await page.waitForSelector(".tree");
  assert.match(await textOf(page, "main h2:last-of-type"), new RegExp(`frame ${absent}\\b`));
  assert.match(await textOf(page, "main .facts"), /Time\s+22:13:2\d\.\d{6}/);
  assert.deepEqual(page.faults, []);
  await page.close();
});

// The memory of the program, and that of the script around it, in bytes. Chosen: 47 and 10 MiB
// were taken.
const mostMemory = 80 * 2 ** 20, mostOfScript = 32 * 2 ** 20;

test("a capture of 100 MB is read in bounded memory, and stops when it is cancelled", async () => {
  const file = join(scratch, "100mb.pcap");
  const fd = openSync(file, "w");
  for (const chunk of flood(1500000)) writeSync(fd, chunk);
  closeSync(fd);
  assert.ok(statSync(file).size > 100e6);
  const page = await open();
  // start chooses the file and returns the worker, which keeps what it instantiates.
  const start = async () => {
    const [worker] = await Promise.all([new Promise((done) => page.once("workercreated", done)), choose(page, file)]);
    await worker.evaluate(() => {
      const { instantiate } = WebAssembly;
      WebAssembly.instantiate = async (...args) => (globalThis.last = await instantiate(...args));
    });
    return worker;
  };
  await start();
  await page.waitForFunction(() => document.querySelector("progress")?.value > 0.02);
  await page.click(".working button");
  await page.waitForSelector("[role=alert]");
  for (let i = 0; page.workers().length > 0 && i < 100; i++) await new Promise((done) => setTimeout(done, 100)); // browsers give it two seconds
  assert.deepEqual(page.workers().map((w) => w.url()), [], "the worker ended with the run");

  const worker = await start();
  await page.waitForSelector("progress");
  await page.waitForSelector(".verdict", { timeout: 180000 });
  const memory = await worker.evaluate(() => globalThis.last.exports.mem.buffer.byteLength);
  await worker.client.send("HeapProfiler.collectGarbage"); // a busy machine is late with it: what is held counts
  const { usedSize, backingStorageSize = 0 } = await worker.client.send("Runtime.getHeapUsage");
  console.log(`# ${memory >> 20} MiB of the program; ${(usedSize + backingStorageSize) >> 20} MiB of the script`);
  assert.ok(memory > 2 ** 20 && memory < mostMemory, `${memory} bytes of the program`);
  assert.ok(usedSize + backingStorageSize < mostOfScript, `${usedSize} and ${backingStorageSize} bytes of the script`);
  await goTo(page, "#/about");
  assert.match(await textOf(page, "main"), /1,500,000/);
  assert.deepEqual(page.faults, []);
  await page.close();
});

test("a payload that is pasted is decoded", async () => {
  const page = await open();
  await page.type("textarea", "ffffffff41 4ba1d522");
  await page.click("form button");
  await page.waitForSelector(".tree");
  assert.match(await textOf(page, ".tree"), /challenge\s+584425803/);
  await page.hover('.tree [data-f="2"]');
  await settle(page);
  assert.equal(await page.$eval(".hex .bytes .lit", (e) => e.textContent), "4b a1 d5 22");
  await page.$eval("textarea", (e) => { e.value = ""; });
  await page.type("textarea", "hello there");
  await page.click("form button");
  await page.waitForSelector("#paste ~ div .caveat");
  assert.ok((await textOf(page, "#paste ~ div .caveat")).length > 10);
  assert.deepEqual(page.faults, []);
  await page.close();
});

test("what is no capture is refused with the program's words", async () => {
  const file = join(scratch, "note.txt");
  writeFileSync(file, "this is no capture\n".repeat(50));
  const page = await open();
  await choose(page, file);
  await page.waitForSelector("[role=alert]");
  assert.match(await textOf(page, "[role=alert]"), /note\.txt/);
  await page.close();
});

test("without a network the page still works", async () => {
  const page = await open();
  await page.evaluate(() => navigator.serviceWorker.ready.then(() => {}));
  const port = server.address().port;
  server.close();
  server.closeAllConnections();
  try {
    await page.reload();
    await choose(page, capture("a2s/full-poll.pcap"));
    await page.waitForSelector(".verdict");
  } finally {
    await serve(port);
  }
  await page.close();
});
