// Builds the front end into ../render/html/dist: one script, one style, the template of the
// page, and the licences of what is built in. The same sources give the same bytes.
import { build } from "esbuild";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const out = process.argv[2] ?? here("../render/html/dist");
const vendored = ["preact", "htm", "uplot"];

await mkdir(out, { recursive: true });
await build({
  entryPoints: { app: here("src/main.js") },
  outdir: out,
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
  absWorkingDir: here("."),
});
await writeFile(`${out}/index.html`, await readFile(here("src/index.html")));

const texts = await Promise.all(vendored.map(async (name) => {
  const { version } = JSON.parse(await readFile(here(`node_modules/${name}/package.json`)));
  return `${name} ${version}\n\n${(await readFile(here(`node_modules/${name}/LICENSE`), "utf8")).trim()}\n`;
}));
await writeFile(`${out}/LICENSES.txt`, texts.join("\n----\n\n"));
