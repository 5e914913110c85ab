// The model, without a browser.
import { test } from "node:test";
import assert from "node:assert/strict";
import { parseTime, formatClock, formatSpan, timeMarks } from "../src/model/time.js";
import { formatShare, formatShort, formatBytes } from "../src/model/number.js";
import { parseRange, formatRange, rangeOfTimes, overlaps } from "../src/model/range.js";
import { quantile, mergeTimes, sum } from "../src/model/series.js";
import { treeRows, byteMap, hexRows, bytesOf } from "../src/model/layout.js";
import { visible, visibleLines } from "../src/model/text.js";
import { sortRows, searchRows } from "../src/ui/table.js";
import { indexReport } from "../src/model/report.js";
import { clientRows, partnersOf, serverRows, totalRow } from "../src/model/rows.js";
import { verdictOf } from "../src/model/verdict.js";

test("times keep microseconds", () => {
  const t = parseTime("2023-11-14T22:13:59.993328Z");
  assert.equal(formatClock(t, "utc", 6), "22:13:59.993328");
  assert.equal(formatClock(t, "utc", 3), "22:13:59.993");
  assert.equal(formatClock(parseTime("2023-11-14T22:13:59.999900Z"), "utc", 3), "22:14:00.000");
  assert.ok(Number.isNaN(parseTime(undefined)));
});

test("spans have the unit that fits", () => {
  assert.deepEqual([0.0002, 0.14, 48.0588, 125, 7300, 400000].map(formatSpan), ["200 µs", "140 ms", "48.1 s", "2 min 5 s", "2 h 2 min", "4.63 days"]);
});

test("marks of a time axis lie on whole steps", () => {
  const start = parseTime("2023-11-14T22:13:20.920000Z");
  assert.deepEqual(timeMarks(start, start + 48, 5, "utc").map((m) => m.label), ["22:13:30", "22:13:40", "22:13:50", "22:14:00"]);
  assert.deepEqual(timeMarks(start, start + 0.14, 4, "utc").map((m) => m.label), ["22:13:20.95", "22:13:21.00", "22:13:21.05"]);
});

test("numbers", () => {
  assert.deepEqual([formatShare(1, 10000), formatShare(9999, 10000), formatShare(1, 1), formatShare(0, 0), formatShare(1, 3)], ["< 0.1 %", "> 99.9 %", "100 %", "–", "33.3 %"]);
  assert.deepEqual([0.25, 999, 25000, 3.2e6].map(formatShort), ["0.25", "999", "25 k", "3.2 M"]);
  assert.deepEqual([0, 1023, 1024, 3 * 2 ** 20].map(formatBytes), ["0 B", "1,023 B", "1 KiB", "3 MiB"]);
});

const timeline = { start: 1000, interval: 0.5, points: 40 };

test("ranges are whole points and survive the address", () => {
  const range = parseRange("2.6-5.1", timeline);
  assert.deepEqual(range, { a: 5, b: 11, from: 1002.5, to: 1005.5 });
  assert.equal(formatRange(range.a, range.b, timeline), "2.5-5.5");
  assert.deepEqual(parseRange("2.5-5.5", timeline), range);
  for (const odd of ["", "x", "5-2", "-1-3", "0-20", "0-999"]) assert.equal(parseRange(odd, timeline), null, odd);
  assert.equal(rangeOfTimes(1003, 1004.2, timeline, 1), "2.5-5");
  assert.equal(overlaps(range, 1000, 1002), false);
  assert.equal(overlaps(range, 1000, 1003), true);
  assert.equal(overlaps(null, 0, 0), true);
});

test("no estimate is above the longest time", () => {
  const { timeline } = indexReport({ timeline: { points: 1, bucket_ms: [0, 16, 24] }, stats: { rtt_ms: { max: 20 } } });
  assert.deepEqual(timeline.bounds, [0, 16, 20]);
  assert.equal(quantile([[1, 10]], 1, timeline.bounds), 20);
});

test("quantiles of buckets", () => {
  const bounds = [0, 1, 2, 4, 8];
  const times = mergeTimes([[[1, 2], [1, 2, 0, 4]], [[], [3, 4]]], 0, 2);
  assert.deepEqual(times, [[1, 4], [3, 8]]);
  assert.equal(quantile(times, 0.5, bounds), 5);
  assert.ok(Number.isNaN(quantile([], 0.5, bounds)));
  assert.equal(sum([1, 2], 0, 9), 3);
});

const layout = [
  { name: "x.head", offset: 0, length: 1, hex: "ff", value: 255 },
  { name: "x.list.name", offset: 1, length: 2, hex: "4100", value: "A" },
  { name: "x.list.score", offset: 3, length: 1, hex: "**", value: "<redacted>" },
  { name: "x.list.name", offset: 4, length: 2, hex: "4200", value: "B" },
  { name: "x.list.score", offset: 6, length: 1, hex: "02", value: 2 },
  { name: "x.tags.word", offset: 1, length: 1, hex: "41", value: "A", aux: true },
  { name: "x.inner.id", offset: 1, length: 1, hex: "99", value: 153, aux: true },
];

test("a layout becomes a tree with lists", () => {
  assert.deepEqual(treeRows(layout).map((r) => (r.list ? `${r.label} (${r.entries})` : `${r.entry === undefined ? "" : `[${r.entry}] `}${r.label}`)),
    ["head", "list (2)", "[0] name", "score", "[1] name", "score", "word", "id"]);
});

test("bytes belong to one field each", () => {
  const map = byteMap(layout, 7);
  assert.equal(map.bytes.join(""), "ff4100**420002");
  assert.deepEqual(hexRows(map, 4).map((r) => r.runs.map((run) => [run.index, run.bytes.length])), [[[0, 1], [1, 2], [2, 1]], [[3, 2], [4, 1]]]);
  assert.deepEqual(bytesOf(layout[5], map), { from: 1, to: 2 });
  assert.equal(bytesOf(layout[6], map), null, "decoded from other bytes");
});

test("hidden characters are seen", () => {
  assert.equal(visible("a\u0000b\u202ec\u200bd\u{e0041}\n"), "a\\x00b\\u{202e}c\\u{200b}d\\u{e0041}\\x0a");
  assert.equal(visible("x".repeat(65536), 10), "x".repeat(10) + "… (65536 characters)");
  assert.equal(visibleLines("a\r\nb\u001b[31m"), "a\nb\\x1b[31m");
});

test("tables sort by value and search by every word", () => {
  const rows = [{ k: "10.0.0.10:1", n: 5 }, { k: "10.0.0.9:1", n: undefined }, { k: "10.0.0.2:1", n: 7 }];
  const columns = [{ key: "k" }, { key: "n" }];
  assert.deepEqual(sortRows(rows, columns, "k").map((r) => r.k), ["10.0.0.2:1", "10.0.0.9:1", "10.0.0.10:1"]);
  assert.deepEqual(sortRows(rows, columns, "-n").map((r) => r.n), [7, 5, undefined]);
  assert.deepEqual(sortRows(rows, columns, "n").map((r) => r.n), [5, 7, undefined]);
  assert.deepEqual(searchRows(rows, columns, " 7  0.2 "), [rows[2]]);
});

test("the verdict has a scope, and no packets are no calm", () => {
  const of = (stats, incidents = []) => verdictOf(indexReport({ stats, incidents }));
  const calm = of({ packets: 100, duration_s: 60, requests: 10, replies: 10, replied: 10, unanswered: 0, proven: 8, proven_served: 6, servers: [{}], servers_not_listed: 2 });
  assert.deepEqual([calm.level, calm.headline], ["calm", "No floods"]);
  assert.match(calm.scope, /60 s of capture, 100 packets; 10 queries to 3 servers, 10 replies; 100 % of them got any reply; 75 % of those of proven clients what they asked for/);
  assert.equal(of({ packets: 0 }).level, "none");
  assert.equal(of({ packets: 2, duration_s: 60 }).headline, "No query traffic in this capture");
  const both = of({ packets: 9, duration_s: 60, requests: 9 }, [{ level: "alert" }, { level: "alert" }, { level: "warn" }, { level: "info" }]);
  assert.deepEqual([both.level, both.headline], ["alert", "2 attacks, 1 warning"]);
});

// busy is a report with more servers and clients than have rows of their own.
const busy = () => indexReport({
  stats: { start: "2023-11-14T22:13:20.000000Z", requests: 30, answered: 20, unanswered: 5, servers: [{ server: "a", requests: 12, name: "first" }, { server: "b", requests: 9 }, { server: "c", requests: 9 }] },
  timeline: {
    start: "2023-11-14T22:13:20.000000Z", interval_s: 1, points: 3, bucket_ms: [0, 1, 2],
    kinds: [{ protocol: "p", message: "ask", requests: [10, 10, 10], answered: [5, 5, 10], unanswered: [5], rtt: [[1, 5], [0, 2, 3], [1, 10]] }],
    servers: [
      { server: "a", requests: [2, 4, 6], answered: [2, 4, 6], replied: [2, 4, 5], unanswered: [0, 0, 1], proven: [0, 2, 3], proven_served: [0, 1, 3], kinds: [{ protocol: "p", message: "ask", requests: 12, answered: 9, unanswered: 3 }], clients: [{ address: "x", requests: 6, error: 1 }] },
      { server: "b", requests: [0, 3, 3], kinds: [{ protocol: "p", message: "ask", requests: 6, answered: 0, unanswered: 0 }] },
      { rest: true, requests: [8, 3, 1], answered: [3, 1, 1] },
    ],
    clients: [{ address: "x", requests: [1, 1, 1] }, { rest: true, requests: [9, 9, 9] }],
  },
});

test("tables of a range are whole: what has no row is in one together", () => {
  const report = busy();
  const range = parseRange("1-3", report.timeline);
  const all = totalRow(report, range).requests;
  for (const rows of [serverRows(report, range), clientRows(report, range)]) assert.equal(rows.reduce((n, r) => n + r.requests, 0), all);
  assert.deepEqual(serverRows(report, range).map((r) => [r.server, r.name, r.requests]), [["a", "first", 10], ["b", undefined, 6], [undefined, "all other servers", 4]]);
  assert.deepEqual(clientRows(report, range).map((r) => [r.address, r.share]), [["x", 0.1], ["all other addresses", 0.9]]);
  assert.equal(serverRows(report).length, 3);
  const [a, b] = serverRows(report, range);
  assert.deepEqual([a.any, a.served, b.any, b.served], [0.9, 0.8, undefined, undefined], "any reply, and proven clients served");
});

test("what a server was asked and by whom is counted, where all of it was", () => {
  const { kinds, clients } = partnersOf(busy(), "a");
  assert.deepEqual(kinds.map((k) => [k.name, k.requests, k.share]), [["ask", 12, 0.75]]);
  assert.deepEqual(clients.map((c) => [c.name, c.requests, c.share]), [["x", 6, 0.5]]);
  assert.equal(partnersOf(busy(), "b"), null, "its row came after three requests to it");
  assert.equal(partnersOf(busy(), "c"), null);
});
