// The page of qsniff monitor, which reads a capture that grows: what is in it shows without a reload.
import { test, before, after } from "node:test";
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { closeBrowser, goTo, openPage, program, root, scratch, settle, textOf, violations } from "./page.mjs";

const capture = readFileSync(join(root, "pcapfiles/floods/spoofed.pcap"));
const growing = join(scratch, "growing.pcap");
const token = "a-token-of-the-test-of-the-page";

// cut returns where a record begins, at least so many seconds after the first one.
function cut(seconds) {
  let first;
  for (let at = 24; at < capture.length; at += 16 + capture.readUInt32LE(at + 8)) {
    const time = capture.readUInt32LE(at);
    first ??= time;
    if (time - first >= seconds) return at;
  }
  throw new Error("the capture is too short");
}

let monitor, home;

before(async () => {
  writeFileSync(growing, capture.subarray(0, cut(20)));
  writeFileSync(join(scratch, "token"), token, { mode: 0o600 });
  monitor = spawn(program, ["monitor", growing, "--listen", "127.0.0.1:0", "--web-token-file", join(scratch, "token")], { stdio: ["ignore", "ignore", "pipe"] });
  let log = "";
  home = await new Promise((done, fail) => {
    monitor.stderr.on("data", (text) => {
      log += text;
      const m = /listen=(127\.0\.0\.1:\d+)/.exec(log);
      if (m) done(`http://${m[1]}/`);
    });
    monitor.on("exit", () => fail(new Error(log)));
  });
});

after(async () => {
  monitor.kill("SIGTERM");
  await closeBrowser();
});

// shoot writes a picture where PICTURES names a folder.
async function shoot(page, name) {
  for (const width of [1280, 390]) {
    await page.setViewport({ width, height: width < 500 ? 844 : 900 });
    await settle(page);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${name} is wider than ${width}`);
    if (process.env.PICTURES) await page.screenshot({ path: join(process.env.PICTURES, `monitor-${name}-${width}.png`), fullPage: true });
  }
  await page.setViewport({ width: 1280, height: 900 });
}

const shows = (page, words) => page.waitForFunction((w) => document.body.innerText.includes(w), { timeout: 30000 }, words);

test("without the token there is no page", async () => {
  for (const path of ["", "report.json", "events", "app.js", "?token=another-token-of-that-length"])
    assert.equal((await fetch(home + path, { redirect: "manual" })).status, 401, path);
});

test("a flood shows without a reload", async () => {
  const page = await openPage(`${home}?token=${token}`, { ours: home });
  await page.waitForSelector(".figures");
  assert.equal(page.url().split("#")[0], home, "the token is not in the address");
  assert.match(await textOf(page, "h1"), /No floods/);
  await shoot(page, "calm");
  let loads = 0;
  page.on("load", () => loads++);
  appendFileSync(growing, capture.subarray(cut(20)));
  await shows(page, "flood_spoofed");
  await settle(page);
  assert.equal(loads, 0);
  assert.match(await textOf(page, "h1"), /1 attack going on/);
  assert.match(await textOf(page, ".verdict"), /, since \d\d:\d\d:\d\d, and it goes on: /);
  assert.deepEqual(await violations(page), []);
  await shoot(page, "flood");
  for (const [view, words] of [["exchanges", "keeps no exchanges"], ["findings", "keeps no findings"], ["servers", "Example arena"], ["incidents", "flood_spoofed"], ["server/198.18.7.1:27015", "Example arena"], ["incident/1", "flood_spoofed"]]) {
    await goTo(page, `#/${view}`);
    await shows(page, words);
    await shoot(page, view.replace(/\W/g, "-"));
  }
  assert.deepEqual(page.faults, []);
  await page.close();
});
