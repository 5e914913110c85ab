// Helpers of tests: reports made by the program, and a browser that watches what they do.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import puppeteer from "puppeteer-core";

export const root = fileURLToPath(new URL("../../..", import.meta.url));
export const program = process.env.QSNIFF ?? join(root, "qsniff");
export const scratch = mkdtempSync(join(tmpdir(), "qsniff-page-"));
process.on("exit", () => rmSync(scratch, { recursive: true, force: true }));

const made = new Map();

/** makeReport returns the address of the report of captures below pcapfiles, or of whole paths. */
export function makeReport(...captures) {
  const key = captures.join(" ");
  if (!made.has(key)) {
    const out = join(scratch, `${made.size}.html`);
    const files = captures.map((c) => (c.startsWith("/") ? c : join(root, "pcapfiles", c)));
    execFileSync(program, ["report", ...files, "-o", out], { stdio: ["ignore", "ignore", "pipe"], timeout: 120000 });
    made.set(key, pathToFileURL(out).href);
  }
  return made.get(key);
}

let browser;

/** openBrowser starts Chromium once for a file of tests. */
export async function openBrowser() {
  browser ??= await puppeteer.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", headless: true, args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"] });
  return browser;
}

export const closeBrowser = async () => browser?.close();

/** openPage opens an address in a page of the given width and theme, and waits for a view
 * unless it is bare. page.faults lists what must not be: errors, messages on the console,
 * violations of the policy, requests elsewhere than to ours. */
export async function openPage(url, { width = 1280, theme = "light", bare = false, ours } = {}) {
  const page = await (await openBrowser()).newPage();
  page.faults = [];
  page.on("pageerror", (err) => page.faults.push(`error: ${err.message}`));
  page.on("console", (m) => page.faults.push(`console ${m.type()}: ${m.text()}`));
  page.on("dialog", (d) => { page.faults.push(`dialog: ${d.message()}`); d.dismiss(); });
  page.on("request", (r) => !/^(file|data|about):/.test(r.url()) && !(ours && r.url().startsWith(ours)) && !r.url().startsWith("blob:") && page.faults.push(`request: ${r.url()}`));
  await page.evaluateOnNewDocument(() => addEventListener("securitypolicyviolation", (e) => console.error(`policy: ${e.violatedDirective} ${e.blockedURI}`)));
  await page.setViewport({ width, height: width < 500 ? 844 : 900 });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: theme }]);
  await page.goto(url, { waitUntil: "load" });
  if (!bare) await page.waitForSelector("h1");
  return page;
}

/** goTo changes the address behind # and waits for the view. */
export async function goTo(page, hash) {
  await page.evaluate((h) => { location.hash = h; }, hash);
  await settle(page);
}

/** settle waits until what was drawn is on the screen. */
export const settle = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 30)))));

export const textOf = (page, selector) => page.$eval(selector, (e) => e.innerText);
export const rowsOf = (page, selector = "tbody tr") => page.$$eval(selector, (rows) => rows.map((r) => [...r.children].map((c) => c.innerText.trim())));
export const hashOf = (page) => page.evaluate(() => location.hash);

/** views are the addresses behind # that every report has. */
export const views = ["#/", "#/servers", "#/exchanges", "#/incidents", "#/findings", "#/about"];

// What must not be on a page as such: controls but line breaks and tabs, and what changes the order of text.
const unseen = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]/;

/** exchangeLinks returns the addresses of the exchanges that are listed. */
export async function exchangeLinks(page) {
  await goTo(page, "#/exchanges");
  return page.$$eval("tbody td:first-child a", (links) => links.map((a) => a.getAttribute("href")));
}

/** holdsNothing checks that no text of a capture became more than text on the view at hash. */
export async function holdsNothing(page, hash) {
  const found = await page.evaluate(() => ({
    made: [...document.querySelectorAll("main img, main script, main iframe, main object, main style, [onerror], [onload]")].map((e) => e.outerHTML),
    text: document.body.innerText,
    title: document.title,
    tall: Math.max(0, ...[...document.querySelectorAll("td")].map((e) => e.offsetHeight)),
  }));
  assert.deepEqual(found.made, [], hash);
  assert.doesNotMatch(found.text + found.title, unseen, hash);
  assert.ok(found.tall < 600, `${hash} has a cell ${found.tall} pixels tall`);
}

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** violations returns what axe finds, each with its place. The script goes in by the debugger,
 * past the policy, in a world of its own. */
export async function violations(page) {
  const world = page.mainFrame().isolatedRealm();
  await world.evaluate(axe);
  return world.evaluate(async () => {
    const found = await axe.run(document, { resultTypes: ["violations"] });
    return found.violations.map((v) => `${v.id}: ${v.nodes.slice(0, 3).map((n) => `${n.target} ${n.failureSummary}`).join("; ")}`);
  });
}
