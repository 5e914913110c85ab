// Runs the program off the main thread. internal/web/README.md has the messages.
"use strict";

importScripts("wasm_exec.js", "files.js");

// progressBytes is how often progress is reported. Chosen: ten times a second at the speed
// of a slow machine.
const progressBytes = 1 << 20;

// load compiles the program. It comes compressed, whatever the server can do, under a name by
// which no server takes it for something that it is to expand itself; one that does it all the
// same is answered, too.
async function load() {
  const response = await fetch("qsniff.bin");
  if (!response.ok) throw new Error(`qsniff.bin: ${response.status} ${response.statusText}`);
  let bytes = new Uint8Array(await response.arrayBuffer());
  if (bytes[0] === 0x1f && bytes[1] === 0x8b) {
    const expanded = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    bytes = new Uint8Array(await new Response(expanded).arrayBuffer());
  }
  return WebAssembly.compile(bytes);
}

// ofFile returns a source that reads slices of a file.
function ofFile(file) {
  const reader = new FileReaderSync();
  return { size: file.size, read: (offset, length) => new Uint8Array(reader.readAsArrayBuffer(file.slice(offset, offset + length))) };
}

const program = load();
program.then(() => postMessage({ ready: true }), (err) => postMessage({ failed: String(err.message ?? err) }));

// handle runs the program as a message asks for.
async function handle({ id, args, files = [], stdin = "" }) {
  const sources = Object.fromEntries(files.map((file, i) => [`/files/${i}/${file.name}`, ofFile(file)]));
  const total = files.reduce((sum, file) => sum + file.size, 0);
  const text = [null, new TextDecoder(), new TextDecoder()]; // by file descriptor
  let stderr = "";
  let reported = 0;
  const status = await globalThis.qsniffFiles.run(await program, args, {
    sources,
    stdin: globalThis.qsniffFiles.ofBytes(new TextEncoder().encode(stdin)),
    write(fd, bytes) {
      const chunk = text[fd].decode(bytes, { stream: true });
      if (fd === 1) postMessage({ id, stdout: chunk });
      else stderr += chunk;
    },
    progress(read) {
      if (read - reported < progressBytes && read < total) return;
      reported = read;
      postMessage({ id, progress: { read, total } });
    },
  });
  postMessage({ id, done: { status, stderr } });
}

let queue = Promise.resolve(); // one after the other: the program's files are a global
onmessage = ({ data }) => {
  queue = queue.then(() => handle(data)).catch((err) => postMessage({ id: data.id, done: { status: -1, stderr: String(err.message ?? err) } }));
};
