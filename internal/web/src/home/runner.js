// The program itself, as WebAssembly in a worker: internal/web/README.md has what the two say to each
// other. A run that is cancelled takes its worker with it, and the next one has a new one.

let counter = 0;

/** createRunner returns {run, close}. worker makes a worker that runs the program. */
export function createRunner(worker = () => new Worker("worker.js")) {
  let current = null; // the worker, and whether it is ready
  const start = () => {
    const it = worker();
    const ready = new Promise((done, fail) => {
      it.onmessage = ({ data }) => (data.ready ? done() : data.failed && fail(new Error(data.failed)));
      it.onerror = (e) => fail(new Error(e.message || "The program could not be loaded."));
    });
    ready.catch(() => {});
    return { it, ready };
  };
  const close = () => {
    current?.it.terminate();
    current = null;
  };
  /** run runs the program once and returns what it printed: {stdout, stderr, status}. */
  const run = async (args, { files = [], stdin, onProgress, signal } = {}) => {
    current ??= start();
    const { it, ready } = current;
    try {
      return await Promise.race([aborted(signal), ready.then(() => converse(it, { id: ++counter, args, files, stdin }, onProgress))]);
    } catch (err) {
      if (current?.it === it) close();
      throw err;
    }
  };
  return { run, close };
}

// converse sends a request to the worker, and collects what it answers.
function converse(worker, request, onProgress) {
  return new Promise((done, fail) => {
    const chunks = [];
    worker.onerror = (e) => fail(new Error(e.message || "The program ended unexpectedly."));
    worker.onmessage = ({ data }) => {
      if (data.id !== request.id) return;
      if (data.progress) onProgress?.(data.progress);
      if (data.stdout !== undefined) chunks.push(data.stdout);
      if (data.done) done({ stdout: chunks.join(""), ...data.done });
    };
    worker.postMessage(request);
  });
}

const aborted = (signal) => new Promise((_, fail) => signal?.addEventListener("abort", () => fail(new DOMException("cancelled", "AbortError"))));

/** pathsOf returns the names by which the program opens files. */
export const pathsOf = (files) => files.map((f, i) => `/files/${i}/${f.name}`);

/** captureSource is the source of a report that the program makes of files. */
export function captureSource(runner, files) {
  const print = async (args, options) => {
    const result = await runner.run([...args, ...pathsOf(files)], { files, ...options });
    if (!result.stdout) throw new Error(result.stderr?.trim() || `The program ended with status ${result.status}.`);
    return result;
  };
  const ask = async (args, options) => {
    const { stdout, stderr, status } = await print(args, options);
    return { doc: JSON.parse(stdout.split("\n")[0]), remarks: status === 0 ? "" : stderr?.trim() };
  };
  return {
    load: (options) => ask(["report", "-o", "json"], options),
    exchange: async (id) => (await ask(["follow", "-o", "json", "--layout", "--exchange", String(id)])).doc,
    watch: () => () => {},
    page: async () => (await print(["report", "-o", "-"])).stdout,
  };
}
