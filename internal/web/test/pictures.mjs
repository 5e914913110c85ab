// Photographs of the page for the README: npm run pictures. They are looked at, not compared,
// as fonts differ between machines.
import { join } from "node:path";
import { closeBrowser, makeReport, openPage, root, settle } from "./page.mjs";

const shots = [
  { name: "report", captures: ["floods/spoofed.pcap"], hash: "#/", width: 1280, height: 900, theme: "light" },
  { name: "report-exchange", captures: ["a2s/full-poll.pcap"], hash: "#/exchange/1?m=3&f=4", width: 1280, height: 640, theme: "dark" },
  { name: "report-phone", captures: ["floods/spoofed.pcap"], hash: "#/incident/1", width: 390, height: 844, theme: "light" },
];

for (const { name, captures, hash, width, height, theme } of shots) {
  const page = await openPage(makeReport(...captures) + hash, { width, theme });
  await page.setViewport({ width, height });
  await settle(page);
  await page.screenshot({ path: join(root, "docs", "img", `${name}.webp`), type: "webp", quality: 80 });
}
await closeBrowser();
