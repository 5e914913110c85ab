// Every view of reports of several kinds: no error, no message, no request, nothing that the
// policy forbids, nothing wider than the screen, and nothing that axe finds.
import { test, after } from "node:test";
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { closeBrowser, goTo, makeReport, openPage, settle, violations } from "./page.mjs";

const pictures = process.env.PICTURES; // a folder: each view is photographed

after(closeBrowser);

// Reports, and the views that only they have.
const reports = {
  flood: [["floods/spoofed.pcap"], ["#/incident/1", "#/server/198.18.7.1%3A27015", "#/?t=35-45"]],
  poll: [["a2s/full-poll.pcap"], ["#/exchange/1", "#/exchange/1?m=3&f=9", "#/exchange/99"]],
  console: [["rcon/srcds-login-status.pcap"], ["#/exchange/4", "#/finding/RCN-02", "#/finding/NO-99"]],
  parts: [["split/source-six-parts.pcap", "a2s/rules-arma3.pcap"], ["#/exchanges?q=rules", "#/exchange/1?m=3"]],
  hostile: [["hostile/name-html.pcap", "hostile/name-bidi.pcap", "hostile/name-8k.pcap", "hostile/rcon-escape.pcap"], ["#/server/nobody"]],
  other: [["floods/other-syn.pcap"], ["#/incident/1"]],
  empty: [["split/game-traffic-like-players.pcap"], []],
};
const everywhere = ["#/", "#/servers", "#/exchanges", "#/incidents", "#/findings", "#/about", "#/nowhere"];

for (const [name, [captures, own]] of Object.entries(reports))
  for (const [width, theme] of [[1280, "light"], [1280, "dark"], [390, "light"], [390, "dark"]])
    test(`${name} at ${width}, ${theme}`, async () => {
      const page = await openPage(makeReport(...captures), { width, theme });
      for (const hash of [...everywhere, ...own]) {
        await goTo(page, hash);
        await settle(page);
        assert.equal((await page.$$("main h1")).length, 1, `${hash} has one heading`);
        const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        assert.ok(over <= 0, `${hash} is ${over} pixels wider than the screen`);
        if ((width === 1280) === (theme === "light")) assert.deepEqual(await violations(page), [], hash);
        if (pictures) await photograph(page, `${name}-${hash.replace(/\W+/g, "_")}-${width}-${theme}`);
      }
      assert.deepEqual(page.faults, []);
      await page.close();
    });

test("the tests see what the policy forbids", async () => {
  const page = await openPage(makeReport("a2s/full-poll.pcap"));
  await page.evaluate(() => document.body.setAttribute("style", "color: red"));
  await settle(page);
  assert.match(page.faults.join(), /style-src/);
  await page.close();
});

async function photograph(page, name) {
  mkdirSync(pictures, { recursive: true });
  await page.screenshot({ path: join(pictures, `${name}.png`), fullPage: true });
}
