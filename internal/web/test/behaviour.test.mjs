// What a reader does: select, follow links, sort, search, press keys, copy.
import { test, after } from "node:test";
import assert from "node:assert/strict";
import { closeBrowser, goTo, hashOf, makeReport, openPage, rowsOf, settle, textOf } from "./page.mjs";

after(closeBrowser);

const flood = () => makeReport("floods/spoofed.pcap");
const stories = ["challenge-decimal", "garbage-replies", "rcon-guessing", "three-replies", "wrong-opcode"].map((n) => `stories/${n}.pcap`);

test("the verdict is the first thing, in words, with what to do", async () => {
  const page = await openPage(flood());
  assert.match(await textOf(page, "h1"), /^▲ 1 attack$/);
  const verdict = await textOf(page, ".verdict");
  for (const words of [/48\.1 s of capture, 1,984 packets/, /1,892 queries to 1 server/, /flood_spoofed on udp\/198\.18\.7\.1:27015/, /What to do: The source addresses are forged/])
    assert.match(verdict, words);
  await page.close();
});

test("dragging over a chart narrows every table, and back undoes it", async () => {
  const page = await openPage(flood());
  const queries = () => page.$eval(".figure dd", (e) => Number(e.firstChild.textContent.replace(/\D/g, "")));
  assert.equal(await queries(), 1892);
  await drag(page, ".u-over", 0.02, 0.5);
  assert.match(await hashOf(page), /[?&]t=[\d.]+-[\d.]+/);
  const before = await queries();
  assert.ok(before > 10 && before < 100, `${before} queries before the flood`);
  assert.equal((await rowsOf(page, "#kinds ~ .tablebox tbody tr"))[0][2], String(before));
  await goTo(page, "#/incidents" + (await hashOf(page)).slice(2));
  assert.match(await textOf(page, "main"), /No incident in this range/);
  await page.click("nav a:nth-child(4)");
  await settle(page);
  const exchanges = await rowsOf(page);
  assert.ok(exchanges.length > 0 && exchanges.every((r) => r[4] === "answered"), "only what was before the flood");
  for (let i = 0; i < 3; i++) await page.goBack();
  await settle(page);
  assert.equal(await queries(), 1892);
  assert.deepEqual(page.faults, []);
  await page.close();
});

test("the bar of time takes the pointer and the keys in every view", async () => {
  const page = await openPage(flood() + "#/exchanges");
  const count = async () => Number((await textOf(page, ".count")).split(" ")[0].replace(",", ""));
  const all = await count();
  await drag(page, ".strip", 0.05, 0.4);
  const some = await count();
  assert.ok(some > 0 && some < all, `${some} of ${all}`);
  await page.focus('[role=slider][aria-label^="End"]');
  const end = () => page.$eval('[role=slider][aria-label^="End"]', (e) => Number(e.getAttribute("aria-valuenow")));
  const at = await end();
  await page.keyboard.press("ArrowRight");
  await settle(page);
  assert.equal(await end(), at + 1);
  await page.keyboard.press("Escape");
  await settle(page);
  assert.equal(await count(), all);
  await page.close();
});

test("a range is selected by keys alone", async () => {
  const page = await openPage(flood());
  await page.focus(".plot");
  await page.keyboard.press("Home");
  await page.keyboard.down("Shift");
  for (let i = 0; i < 9; i++) await page.keyboard.press("ArrowRight");
  await page.keyboard.up("Shift");
  await settle(page);
  assert.match(await page.$eval(".chart > [role=status]", (e) => e.textContent), /A2S_INFO/);
  await page.keyboard.press("Enter");
  await settle(page);
  assert.match(await hashOf(page), /t=0-5$/);
  assert.match(await textOf(page, ".rangetext"), /22:13:20\.920 to 22:13:25\.920 \(5 s\)/);
  await page.close();
});

test("links restore view, sort, search and range", async () => {
  const url = makeReport(...stories);
  const page = await openPage(url + "#/servers?sort=server&q=27015&t=0-30");
  const rows = await rowsOf(page);
  assert.ok(rows.length > 1);
  assert.deepEqual(rows.map((r) => r[0]), rows.map((r) => r[0]).sort(new Intl.Collator("en", { numeric: true }).compare));
  assert.equal(await page.$eval("input[type=search]", (e) => e.value), "27015");
  assert.equal(await page.$eval("th[aria-sort]", (e) => e.getAttribute("aria-sort")), "ascending");
  await page.click("th:nth-child(5) button");
  await settle(page);
  const link = await hashOf(page);
  const shown = await rowsOf(page);
  await page.close();
  const other = await openPage(url + link);
  assert.deepEqual(await rowsOf(other), shown);
  assert.match(link, /sort=-requests/);
  await other.close();
});

test("a finding leads to its explanation and to the exchange", async () => {
  const page = await openPage(makeReport(...stories) + "#/findings");
  assert.match(await textOf(page, ".group"), /error .*What to do: /s);
  await page.click("tbody td:last-child a");
  await settle(page);
  assert.match(await hashOf(page), /^#\/exchange\/\d+/);
  assert.ok((await page.$$(".dialogue li")).length > 0);
  assert.match(await page.title(), /– qsniff$/);
  assert.equal(await page.evaluate(() => document.activeElement.tagName), "H1", "the heading has the focus");
  await page.close();
});

test("a field lights its bytes, and bytes light their field", async () => {
  const page = await openPage(makeReport("a2s/full-poll.pcap") + "#/exchange/1?m=3");
  const lit = () => page.$$eval(".hex .bytes .lit", (runs) => runs.map((r) => r.textContent).join(" "));
  await page.hover('.tree [data-f="4"]');
  await settle(page);
  assert.equal(await lit(), "64 65 5f 64 75 73 74 32 00", "de_dust2");
  await page.hover('.hex .bytes [data-f="3"]');
  await settle(page);
  assert.match(await textOf(page, ".tree .lit"), /name\s+Test server/);
  await page.hover("h1");
  await page.click('.tree [data-f="9"]');
  await settle(page);
  assert.match(await hashOf(page), /f=9/);
  await page.keyboard.press("ArrowUp");
  await settle(page);
  assert.equal(await lit(), "03");
  assert.match(await page.$eval(".tree [aria-selected=true]", (e) => e.innerText), /players\s+3/);
  await page.close();
});

test("incidents have evidence, marks, sources, and advice that is copied", async () => {
  const page = await openPage(flood() + "#/incident/1");
  const text = await textOf(page, "main");
  for (const words of [/Detected\s+22:14:01\.920000, 1\.93 s after its begin/, /In the 1 s before detection/, /limit rate over 200\/second/]) assert.match(text, words);
  assert.doesNotMatch(text, /1 to \d+/, "no bounds of single sources where none stands out");
  await page.evaluate(() => { window.copied = ""; Object.defineProperty(navigator, "clipboard", { value: { writeText: async (t) => { window.copied = t; } } }); });
  await page.click(".rules .copy button");
  await settle(page);
  assert.match(await page.evaluate(() => window.copied), /^# load: {3}nft -f FILE\b/);
  assert.equal(await textOf(page, ".rules .copy [role=status]"), "Copied");
  await page.close();
});

test("keys lead to the search and out of it; tabs are reached in order", async () => {
  const page = await openPage(flood() + "#/exchanges");
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "Skip to the content");
  await page.keyboard.press("/");
  await page.keyboard.type("answered 10.64.3.194");
  await settle(page);
  assert.equal((await rowsOf(page)).length, 1);
  await page.keyboard.press("Escape");
  assert.equal(await page.evaluate(() => document.activeElement.tagName), "BODY");
  await page.keyboard.press("?");
  await settle(page);
  assert.match(await textOf(page, "h1"), /About/);
  await page.close();
});

test("times in UTC or local, colours by the system or by choice", async () => {
  const page = await openPage(flood() + "#/exchanges");
  await page.emulateTimezone("Asia/Kolkata");
  await page.reload();
  await page.waitForSelector("tbody td");
  assert.match((await rowsOf(page))[0][0], /^22:13:/);
  await page.click(".switches button");
  await settle(page);
  assert.match((await rowsOf(page))[0][0], /2023-11-15 03:43:|^03:43:/);
  assert.equal(await textOf(page, ".switches button"), "UTC+05:30");
  const ground = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  const light = await ground();
  await page.select(".switches select", "dark");
  assert.notEqual(await ground(), light);
  await page.click(".switches button");
  await page.select(".switches select", "auto");
  await page.close();
});

async function drag(page, selector, from, to) {
  const box = await (await page.waitForSelector(selector)).boundingBox();
  const at = (share) => [box.x + box.width * share, box.y + box.height / 2];
  await page.mouse.move(...at(from));
  await page.mouse.down();
  await page.mouse.move(...at((from + to) / 2), { steps: 4 });
  await page.mouse.move(...at(to), { steps: 4 });
  await page.mouse.up();
  await settle(page);
}
