// The report of a flood of five million packets is small and opens quickly. Time is that of
// the page's thread, so that other programs on the machine do not count.
import { test, after } from "node:test";
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { statSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
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

// flood gives a capture in chunks: one request from an invented address after the other.
function* flood(count) {
  const header = Buffer.alloc(24);
  header.writeUInt32LE(0xa1b2c3d4, 0);
  header.writeUInt16LE(2, 4);
  header.writeUInt16LE(4, 6);
  header.writeUInt32LE(65535, 16);
  header.writeUInt32LE(101, 20); // raw IP
  yield header;
  const payload = Buffer.from("ffffffff54536f7572636520456e67696e6520517565727900", "hex");
  const size = 28 + payload.length;
  const record = Buffer.alloc(16 + size);
  record.writeUInt32LE(size, 8);
  record.writeUInt32LE(size, 12);
  Buffer.from("4500003500000000f3110000", "hex").copy(record, 16);
  Buffer.from([198, 18, 0, 1]).copy(record, 32);
  record.writeUInt16BE(27015, 38);
  record.writeUInt16BE(8 + payload.length, 40);
  payload.copy(record, 44);
  const perChunk = 1000;
  for (let i = 0; i < count; i += perChunk) {
    const chunk = Buffer.alloc(perChunk * record.length);
    for (let k = 0; k < perChunk; k++) {
      const at = (i + k) * 20; // microseconds: 50,000 packets a second
      record.writeUInt32LE(1700000000 + Math.floor(at / 1e6), 0);
      record.writeUInt32LE(at % 1e6, 4);
      record.writeUInt32BE((Math.imul(i + k, 2654435761) | 0x01000000) >>> 0, 28);
      record.writeUInt16BE(1024 + ((i + k) % 60000), 36);
      record.copy(chunk, k * record.length);
    }
    yield chunk;
  }
}
