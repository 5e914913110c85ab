// The manual as a site, as `make site` builds it: from disk, and the page to try qsniff on from a static
// server. With QSNIFF_SHOTS=DIR pictures of what was looked at are left there.
import { test, after, before } from "node:test";
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { createReadStream, existsSync, readdirSync, readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { extname, join, normalize } from "node:path";
import { closeBrowser, openPage, root, settle, textOf, violations } from "./page.mjs";

const folder = join(root, "site");
const pages = readdirSync(folder).filter((name) => name.endsWith(".html"));
const types = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".json": "application/json", ".svg": "image/svg+xml" };
const widths = [360, 1400], themes = ["light", "dark"];
let server;
let address;

before(async () => {
  server = createServer((request, response) => {
    const file = join(folder, normalize(new URL(request.url, "http://x").pathname).replace(/\/$/, "/index.html"));
    if (!existsSync(file)) return response.writeHead(404).end();
    response.writeHead(200, { "content-type": types[extname(file)] ?? "application/octet-stream" });
    createReadStream(file).pipe(response);
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  address = `http://127.0.0.1:${server.address().port}/`;
});
after(async () => {
  server.close();
  server.closeAllConnections();
  await closeBrowser();
});

const onDisk = (name, options) => openPage(pathToFileURL(join(folder, name)).href, options);
const shoot = async (page, name) => process.env.QSNIFF_SHOTS && page.screenshot({ path: join(process.env.QSNIFF_SHOTS, `${name}.png`) });

// seek types words into the search and returns what it finds, best first: {title, href}.
async function seek(page, words) {
  await page.$eval("#search", (e) => { e.value = ""; });
  await page.type("#search", words);
  await page.waitForFunction((n) => document.querySelector("#results [role=status], #results p") && document.getElementById("search").value === n, {}, words);
  await settle(page);
  return page.$$eval("#results a", (links) => links.map((a) => ({ title: a.querySelector("strong").textContent, href: a.getAttribute("href") })));
}

test("every page fits its width, in light and in dark", async () => {
  for (const name of pages.filter((name) => name !== "try.html")) {
    for (const [i, width] of widths.entries()) {
      const page = await onDisk(name, { width, theme: themes[i] });
      assert.ok((await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)) <= 0, `${name} at ${width} px`);
      assert.deepEqual(page.faults, [], name);
      await page.close();
    }
  }
});

test("what is seen, read and pressed is accessible", async () => {
  for (const name of ["index.html", "findings.html", "filters.html", "live.html", "files.html", "a2s.html"]) {
    for (const theme of themes) {
      for (const width of widths) {
        const page = await onDisk(name, { width, theme });
        assert.deepEqual(await violations(page), [], `${name}, ${theme}, ${width} px`);
        await shoot(page, `${name}-${width}-${theme}`);
        await page.close();
      }
    }
  }
});

test("the search finds every command and every finding, with the keyboard alone", async () => {
  const page = await onDisk("index.html");
  await page.keyboard.press("/");
  assert.equal(await page.evaluate(() => document.activeElement.id), "search");
  const places = (name, level) => [...readFileSync(join(folder, name), "utf8").matchAll(new RegExp(`<${level} id="([^"]+)">([^<]+)<`, "g"))].map(([, id, title]) => ({ id, title }));
  const wanted = [...places("findings.html", "h2").map((x) => ({ ...x, name: "findings.html" })), ...places("commands.html", "h2").map((x) => ({ ...x, name: "commands.html" }))];
  assert.ok(wanted.length > 100);
  await seek(page, "a2s");
  const found = await page.evaluate(async (titles) => {
    const all = await loadIndex();
    return titles.map((title) => find(all, title).filter((e) => e.title === title).map((e) => e.href));
  }, wanted.map((x) => x.title));
  wanted.forEach((x, i) => assert.ok(found[i].includes(`${x.name}#${x.id}`), `${x.title}: ${found[i]}`));
  assert.equal((await seek(page, "stats"))[0].title, "qsniff stats");
  const [first] = await seek(page, "a2s-c01");
  assert.equal(first.title, "A2S-C01");
  await shoot(page, "search");
  await page.keyboard.press("ArrowDown");
  assert.equal(await page.evaluate(() => document.activeElement.getAttribute("href")), first.href);
  await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
  assert.match(page.url(), /#a2s-c01$/);
  assert.match(await page.$eval(":target", (e) => e.textContent), /A2S-C01/);
  assert.ok(await page.evaluate(() => document.querySelector(":target").getBoundingClientRect().top >= document.querySelector("header").getBoundingClientRect().bottom), "the heading is not below the bar");
  assert.deepEqual(page.faults, []);
  await seek(page, "challenge");
  assert.deepEqual(await violations(page), []); // it asks for the style anew, which the policy refuses
  await page.close();
});

test("the search marks words, says when nothing has them, and makes no markup of either", async () => {
  const page = await onDisk("index.html", { width: 360, theme: "dark" });
  await seek(page, "reflection <b>");
  assert.match(await textOf(page, "#results"), /Nothing has all of these words/);
  assert.ok((await seek(page, "reflection challenge")).length > 1);
  assert.ok((await page.$$eval("#results mark", (m) => m.map((e) => e.textContent.toLowerCase()))).every((w) => ["reflection", "challenge"].includes(w)));
  assert.ok((await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)) <= 0);
  await shoot(page, "search-360");
  await page.keyboard.press("Escape");
  assert.equal(await page.$eval("#results", (e) => e.hidden), true);
  await page.close();
});

test("the colours that were chosen are remembered, and follow the system until then", async () => {
  const page = await onDisk("index.html", { theme: "light" });
  const theme = () => page.evaluate(() => document.documentElement.dataset.theme);
  const ground = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  assert.equal(await theme(), "light");
  const light = await ground();
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: "dark" }]);
  await page.waitForFunction(() => document.documentElement.dataset.theme === "dark");
  await page.click("#theme");
  assert.equal(await theme(), "light");
  assert.equal(await ground(), light);
  await page.goto(pathToFileURL(join(folder, "findings.html")).href);
  assert.equal(await theme(), "light");
  assert.equal(await textOf(page, "#theme"), "Dark");
  await page.evaluate(() => localStorage.clear());
  await page.close();
});

test("on a phone the topics are a list to open and close", async () => {
  const page = await onDisk("stories.html", { width: 360 });
  assert.equal(await page.$eval("#topics", (e) => getComputedStyle(e).display), "none");
  await page.click(".menu");
  await settle(page);
  assert.equal(await page.$eval("#topics", (e) => getComputedStyle(e).display), "block");
  await shoot(page, "topics-360");
  assert.deepEqual(await violations(page), []);
  await page.click("#topics .close");
  await settle(page);
  assert.equal(await page.$eval("#topics", (e) => getComputedStyle(e).display), "none");
  await page.close();
});

test("a command is copied without its prompt", async () => {
  const page = await openPage(`${address}index.html`, { ours: address });
  await (await page.createCDPSession()).send("Browser.grantPermissions", { permissions: ["clipboardReadWrite", "clipboardSanitizedWrite"] });
  await page.bringToFront();
  const command = await textOf(page, ".example .cmd");
  await page.click(".example .copy");
  await page.waitForFunction(() => document.querySelector(".example .copy").textContent === "Copied");
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), command);
  assert.match(command, /^sudo qsniff/);
  await page.close();
});

test("a link to a file shows it unfolded", async () => {
  const page = await onDisk("install.html");
  await Promise.all([page.waitForNavigation(), page.click('main a[href^="files.html#"]')]);
  assert.ok(await page.$eval(":target + details", (d) => d.open && d.textContent.length > 100));
  assert.deepEqual(page.faults, []);
  await page.close();
});

test("on paper there is the text, with outputs", async () => {
  const page = await onDisk("commands.html");
  await page.emulateMediaType("print");
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  assert.equal(await page.$eval("header", (e) => getComputedStyle(e).display), "none");
  assert.equal(await page.$$eval("details.output:not([open])", (d) => d.length), 0);
  await page.close();
});

test("the program decodes a sample in the page, and another one", async () => {
  const page = await openPage(`${address}try.html`, { ours: address, width: 1400, theme: "dark" });
  page.setDefaultTimeout(90000);
  const frame = async () => (await page.waitForSelector("iframe")).contentFrame();
  const verdict = async () => {
    const inside = await frame();
    await inside.waitForSelector(".verdict");
    return inside.$eval("body", (e) => e.innerText);
  };
  assert.match(await verdict(), /spoofed\.pcap/);
  assert.equal(await (await frame()).$eval(":root", (e) => e.dataset.theme), "dark");
  await shoot(page, "try-1400-dark");
  await page.click("#theme");
  await (await frame()).waitForFunction(() => document.documentElement.dataset.theme === "light");
  await page.click(".samples li:nth-child(2) a");
  await (await frame()).waitForFunction(() => /reflection\.pcap/.test(document.body.innerText) && document.querySelector(".verdict"));
  await page.setViewport({ width: 360, height: 844 });
  await settle(page);
  assert.ok((await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)) <= 0);
  await shoot(page, "try-360-light");
  assert.deepEqual(page.faults, []);
  await page.evaluate(() => localStorage.clear());
  await page.close();
});
