// The page of a program that watches: newer reports replace older ones under the reader, and
// what was chosen stays. The program is a small server here, with reports as qsniff prints them.
import { test, before, after } from "node:test";
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { closeBrowser, goTo, hashOf, openPage, program, root, settle, textOf, violations } from "./page.mjs";

// policy is what the page of a program that watches may do.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'";
const dist = (name) => readFileSync(join(root, "internal/render/html/dist", name), "utf8");
const parts = { csp: "", title: "qsniff", style: '<link rel="stylesheet" href="app.css">', report: '<template id="live"></template>', script: '<script src="app.js" defer></script>' };
const index = dist("index.html").replace(/{{(\w+)}}/g, (_, name) => parts[name]);

let server, port = 0, report, version, viewers, asked, unchanged, broken;

const later = (text, seconds) => new Date(Date.parse(text) + seconds * 1000).toISOString();

function answer(request, response) {
  const send = (type, text, headers = {}) => response.writeHead(200, { "Content-Type": type, "Content-Security-Policy": policy, ...headers }).end(text);
  if (request.url === "/") return send("text/html; charset=utf-8", index);
  if (request.url === "/app.js") return send("text/javascript", dist("app.js"));
  if (request.url === "/app.css") return send("text/css", dist("app.css"));
  if (request.url === "/events") {
    response.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-store" }).write(`data: ${version}\n\n`);
    viewers.add(response);
    return response.on("close", () => viewers.delete(response));
  }
  if (request.url !== "/report.json") return response.writeHead(404).end();
  asked++;
  if (broken) return response.writeHead(503).end();
  if (request.headers["if-none-match"] === `"${version}"`) return unchanged++, response.writeHead(304).end();
  send("application/json", JSON.stringify(report), { ETag: `"${version}"`, "Cache-Control": "no-store" });
}

async function serve() {
  server = createServer(answer);
  await new Promise((done) => server.listen(port, "127.0.0.1", done));
  port = server.address().port;
}

function stop() {
  server.close();
  server.closeAllConnections();
}

before(async () => {
  report = JSON.parse(execFileSync(program, ["report", "-o", "json", join(root, "pcapfiles/floods/spoofed.pcap")], { maxBuffer: 1 << 26, stdio: ["ignore", "pipe", "ignore"] }));
  [version, viewers, asked, unchanged, broken] = [1, new Set(), 0, 0, false];
  await serve();
});

after(async () => {
  stop();
  await closeBrowser();
});

const open = async (hash = "#/") => {
  const ours = `http://127.0.0.1:${port}/`;
  const page = await openPage(ours + hash, { ours });
  await page.waitForSelector(".brushline");
  return page;
};

// publish makes a report the newest one, and tells viewers.
function publish(change) {
  change(report);
  version++;
  for (const response of viewers) response.write(`data: ${version}\n\n`);
}

const shows = (page, words) => page.waitForFunction((w) => document.body.innerText.includes(w), { timeout: 15000 }, words);
const name = (n) => (doc) => { doc.stats.servers[0].name = `server of version ${n}`; };

test("a newer report is shown, and place, sort, search and range stay", async () => {
  const page = await open("#/exchanges?sort=-client&q=198.18");
  await goTo(page, "#/exchanges?sort=-client&q=198.18&t=2-45");
  assert.deepEqual(await violations(page), []);
  await page.click(".more button");
  await page.evaluate(() => { scrollTo(0, 1500); document.querySelector("tbody tr:nth-child(60) a").focus({ preventScroll: true }); });
  const state = () => page.evaluate(() => ({ top: scrollY, rows: document.querySelectorAll("tbody tr").length, focus: document.activeElement.textContent, range: document.querySelector(".rangetext").textContent }));
  const old = await state();
  assert.ok(old.top > 1000 && old.rows > 100, JSON.stringify(old));
  publish((doc) => { doc.files[0].name = "version two"; });
  await shows(page, "version two");
  await settle(page);
  assert.deepEqual(await state(), old);
  assert.equal(await hashOf(page), "#/exchanges?sort=-client&q=198.18&t=2-45");
  assert.deepEqual(page.faults, []);
  await page.close();
});

test("a range stays the same time when the window moves on, and ends when it is past", async () => {
  const page = await open("#/");
  await goTo(page, "#/?t=10-20");
  const range = await textOf(page, ".rangetext");
  for (let i = 1; i <= 3; i++) {
    publish((doc) => {
      doc.timeline.start = later(doc.timeline.start, 2.1); // no multiple of a point
      doc.files[0].name = `window ${i}`;
    });
    await shows(page, `window ${i}`);
  }
  await settle(page);
  const [from, to] = /t=([\d.]+)-([\d.]+)/.exec(await hashOf(page)).slice(1).map(Number);
  assert.ok(Math.abs(from - 3.7) < 0.5 && Math.abs(to - 13.7) < 0.5, `${from} to ${to}`);
  assert.equal((await textOf(page, ".rangetext")).slice(0, 5), range.slice(0, 5));
  publish((doc) => { doc.timeline.start = later(doc.timeline.start, 60); doc.files[0].name = "an hour later"; });
  await shows(page, "an hour later");
  await settle(page);
  assert.doesNotMatch(await hashOf(page), /t=/);
  publish((doc) => { doc.timeline.start = later(doc.timeline.start, -66.3); });
  assert.deepEqual(page.faults, []);
  await page.close();
});

test("nothing moves while a pointer is down or the page is on hold", async () => {
  const page = await open("#/servers");
  await page.mouse.move(400, 400);
  await page.mouse.down();
  publish(name(10));
  publish(name(11));
  await new Promise((done) => setTimeout(done, 500));
  assert.doesNotMatch(await textOf(page, "main"), /version 1[01]/);
  await page.mouse.up();
  await shows(page, "server of version 11");
  await page.click(".link button");
  publish(name(12));
  await new Promise((done) => setTimeout(done, 500));
  assert.match(await textOf(page, "header"), /on hold/);
  assert.doesNotMatch(await textOf(page, "main"), /version 12/);
  await page.click(".link button");
  await shows(page, "server of version 12");
  assert.deepEqual(page.faults, []);
  await page.close();
});

test("what is being read stays when newer reports no longer have it", async () => {
  const id = report.exchanges[3].id;
  const page = await open(`#/exchange/${id}`);
  publish((doc) => { doc.exchanges.splice(3, 1); doc.files[0].name = "without it"; });
  await shows(page, "without it");
  assert.match(await textOf(page, "h1"), new RegExp(`${id}$`));
  await goTo(page, `#/exchange/${id + 1000000}`);
  assert.match(await textOf(page, "main"), /are over, and the program keeps none/);
  await page.close();
});

test("a page that is told to asks anew at once, and says nothing of it", async () => {
  const page = await open("#/servers");
  await page.evaluate(() => new MutationObserver(() => document.querySelector(".link.lost") && console.error("lost")).observe(document.body, { subtree: true, childList: true, attributes: true }));
  const old = [...viewers].at(-1);
  old.write("event: again\ndata:\n\n");
  await new Promise((done) => setTimeout(done, 900));
  assert.ok(!viewers.has(old) && viewers.size > 0, "another connection");
  publish((doc) => { doc.files[0].name = "after it asked anew"; });
  await shows(page, "after it asked anew");
  assert.deepEqual(page.faults, []);
  await page.close();
});

test("a program that ends, comes back or stumbles is said, and found again", async () => {
  const page = await open("#/servers");
  const before = unchanged;
  stop();
  await page.waitForSelector(".link.lost");
  assert.match(await textOf(page, "main"), /server of version 12/, "the last report stays");
  await serve();
  await page.waitForSelector(".link:not(.lost)", { timeout: 15000 });
  assert.equal(unchanged, before + 1, "what it had was not sent again");
  broken = true;
  publish(name(20));
  await page.waitForSelector(".link.lost");
  const count = asked;
  await new Promise((done) => setTimeout(done, 3000));
  assert.ok(asked - count <= 3, `asked ${asked - count} times in 3 s`);
  broken = false;
  await shows(page, "server of version 20");
  assert.deepEqual(page.faults.filter((f) => !/Failed to load resource|ERR_/.test(f)), []);
  await page.close();
  for (let i = 0; viewers.size > 0 && i < 50; i++) await new Promise((done) => setTimeout(done, 100));
  assert.equal(viewers.size, 0, "a page that is closed leaves nothing behind");
});
