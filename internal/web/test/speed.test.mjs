// The report of a flood of five million packets is small and opens quickly. Time is that of
// the page's thread, so that other programs on the machine do not count.
import { test, after } from "node:test";
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { statSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { flood } from "./flood.mjs";
import { closeBrowser, goTo, openPage, program, scratch } from "./page.mjs";

after(closeBrowser);

const packets = 5_000_000;
const [mostBytes, mostSeconds] = [3 * 2 ** 20, 2];

test(`the report of ${packets} packets`, async (t) => {
  const out = join(scratch, "flood.html");
  await reportOf(flood(packets), out);
  const bytes = statSync(out).size;
  assert.ok(bytes < mostBytes, `${bytes} bytes`);

  const page = await openPage("about:blank", { bare: true });
  const client = await page.createCDPSession();
  await client.send("Performance.enable", { timeDomain: "threadTicks" });
  const began = Date.now();
  await page.goto(pathToFileURL(out).href);
  await page.waitForSelector(".verdict");
  const wall = Date.now() - began;
  const { metrics } = await client.send("Performance.getMetrics");
  const seconds = metrics.find((m) => m.name === "TaskDuration").value;
  t.diagnostic(`${bytes} bytes; ${seconds.toFixed(2)} s of the page's thread, ${wall / 1000} s by the clock`);
  assert.ok(seconds < mostSeconds, `${seconds} s`);
  await goTo(page, "#/exchanges");
  assert.deepEqual(page.faults, []);
  await page.close();
});

async function reportOf(chunks, out) {
  const child = spawn(program, ["report", "-", "-o", out], { stdio: ["pipe", "ignore", "inherit"] });
  const ended = once(child, "exit");
  try {
    for (const chunk of chunks) if (!child.stdin.write(chunk)) await Promise.race([once(child.stdin, "drain"), ended]);
    child.stdin.end();
    assert.equal((await ended)[0], 0);
  } finally {
    child.kill();
  }
}
