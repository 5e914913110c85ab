// Runs the program in Node as worker.js does in a browser: with the same files.js, over the
// same slices. Each line of standard input is a run, {"args": [...], "files": [paths]}; each
// line of standard output is its result: {"status", "sha256", "length", "stderr"}, and at the
// end {"peak": bytes of memory of WebAssembly}.
//
//   node run.mjs WASM WASM_EXEC
import { createHash } from "node:crypto";
import { closeSync, fstatSync, openSync, readFileSync, readSync, writeSync } from "node:fs";
import { basename } from "node:path";
import { createInterface } from "node:readline";
import { runInThisContext } from "node:vm";

const [wasm, wasmExec] = process.argv.slice(2);
for (const name of [wasmExec, new URL("files.js", import.meta.url)]) runInThisContext(readFileSync(name, "utf8"));
const node = globalThis.process;
const module = await WebAssembly.compile(readFileSync(wasm));

let peak = 0;
const instantiate = WebAssembly.instantiate;
let memory;
WebAssembly.instantiate = async (...args) => {
  const instance = await instantiate(...args);
  memory = instance.exports.mem;
  return instance;
};

function ofFile(path) {
  const fd = openSync(path);
  return {
    size: fstatSync(fd).size,
    close: () => closeSync(fd),
    read(offset, length) {
      const buffer = new Uint8Array(length);
      return buffer.subarray(0, readSync(fd, buffer, 0, length, offset));
    },
  };
}

for await (const line of createInterface({ input: node.stdin })) {
  const { args, files } = JSON.parse(line);
  const sources = Object.fromEntries(files.map((path, i) => [`/files/${i}/${basename(path)}`, ofFile(path)]));
  const hash = createHash("sha256");
  let length = 0, stderr = "";
  const status = await globalThis.qsniffFiles.run(module, args, {
    sources, stdin: globalThis.qsniffFiles.ofBytes(new Uint8Array()),
    write(fd, bytes) {
      if (fd === 2) {
        stderr += new TextDecoder().decode(bytes);
      } else {
        hash.update(bytes);
        length += bytes.length;
      }
    },
  });
  peak = Math.max(peak, memory.buffer.byteLength);
  for (const source of Object.values(sources)) source.close();
  writeSync(1, JSON.stringify({ status, sha256: hash.digest("hex"), length, stderr }) + "\n");
}
writeSync(1, JSON.stringify({ peak }) + "\n");
