// The files that the program sees in a browser: those that somebody dropped, read in slices
// where they are, and its standard streams. It is the part of Node's module fs that Go asks
// for (syscall/fs_js.go). Nothing can be written but standard output and standard error.
//
// A source is {size, read(offset, length)}; read returns a Uint8Array, shorter at the end.
"use strict";

globalThis.qsniffFiles = (() => {
  const directory = 0o40555, regular = 0o100444, stream = 0o10444; // modes, as of Unix
  const flags = { O_RDONLY: 0, O_WRONLY: 1, O_RDWR: 2, O_CREAT: 0o100, O_EXCL: 0o200, O_TRUNC: 0o1000, O_APPEND: 0o2000, O_DIRECTORY: 0o200000 };

  const fail = (code) => Object.assign(new Error(code), { code });

  // describe returns what stat says of a file.
  const describe = (mode, size) => ({
    dev: 1, ino: 0, mode, nlink: 1, uid: 0, gid: 0, rdev: 0, size, blksize: 4096, blocks: Math.ceil(size / 512),
    atimeMs: 0, mtimeMs: 0, ctimeMs: 0, isDirectory: () => mode === directory,
  });

  // ofBytes returns a source of bytes in memory.
  const ofBytes = (bytes) => ({ size: bytes.length, read: (offset, length) => bytes.subarray(offset, offset + length) });

  // clean returns a path without empty parts: "/files/0/a.pcap".
  const clean = (path) => "/" + path.split("/").filter((part) => part !== "" && part !== ".").join("/");

  // Tree is the paths of sources, and the folders that they are in.
  class Tree {
    constructor(sources) {
      this.sources = new Map();
      this.folders = new Map([["/", new Set()]]);
      for (const [path, source] of Object.entries(sources)) this.add(clean(path), source);
    }

    add(path, source) {
      this.sources.set(path, source);
      const parts = path.split("/");
      for (let i = parts.length - 1; i > 0; i--) {
        const parent = parts.slice(0, i).join("/") || "/";
        if (!this.folders.has(parent)) this.folders.set(parent, new Set());
        this.folders.get(parent).add(parts[i]);
      }
    }

    stat(path) {
      const name = clean(path);
      if (this.folders.has(name)) return describe(directory, 0);
      if (this.sources.has(name)) return describe(regular, this.sources.get(name).size);
      throw fail("ENOENT");
    }

    list(path) {
      const names = this.folders.get(clean(path));
      if (!names) throw fail("ENOTDIR");
      return [...names].sort();
    }
  }

  // makeCalls returns the functions of the module, which return or throw. The arguments are
  // those of makeFS.
  function makeCalls({ sources, stdin, write, progress }) {
    const tree = new Tree(sources);
    const open = new Map([[0, { source: stdin, at: 0, isStream: true }], [1, {}], [2, {}]]);
    let next = 3;
    let total = 0;
    const handle = (fd) => {
      if (!open.has(fd)) throw fail("EBADF");
      return open.get(fd);
    };
    return {
      stat: (path) => tree.stat(path),
      lstat: (path) => tree.stat(path),
      readdir: (path) => tree.list(path),
      fsync() {},
      open(path, how) {
        const name = clean(path);
        if (how & (flags.O_WRONLY | flags.O_RDWR | flags.O_CREAT)) throw fail("EROFS");
        tree.stat(name);
        open.set(next, { name, source: tree.sources.get(name), at: 0 });
        return next++;
      },
      close(fd) {
        handle(fd);
        open.delete(fd);
      },
      fstat(fd) {
        const f = handle(fd);
        return f.name ? tree.stat(f.name) : describe(stream, 0);
      },
      read(fd, buffer, offset, length, position) {
        const f = handle(fd);
        if (!f.source) throw fail(f.name ? "EISDIR" : "EBADF");
        const bytes = f.source.read(position ?? f.at, length);
        buffer.set(bytes, offset);
        if (position === null) f.at += bytes.length;
        if (progress && !f.isStream && bytes.length > 0) progress(total += bytes.length);
        return bytes.length;
      },
      write(fd, buffer, offset, length) {
        if (fd !== 1 && fd !== 2) throw fail("EBADF");
        write(fd, buffer.subarray(offset, offset + length));
        return length;
      },
    };
  }

  // refused are the functions that would change a file.
  const refused = ["chmod", "chown", "fchmod", "fchown", "ftruncate", "lchown", "link", "mkdir", "readlink", "rename", "rmdir", "symlink", "truncate", "unlink", "utimes"];

  // makeFS returns the module. sources are by path, stdin is a source; write gets the bytes
  // of standard output (1) and standard error (2), which are valid during the call only;
  // progress gets how many bytes were read of sources so far.
  function makeFS(files) {
    const calls = makeCalls(files);
    for (const name of refused) calls[name] = () => { throw fail("EROFS"); };
    const fs = { constants: flags, writeSync: (fd, buffer) => calls.write(fd, buffer, 0, buffer.length) };
    for (const [name, call] of Object.entries(calls)) {
      fs[name] = (...args) => {
        const done = args.pop();
        let result;
        try {
          result = call(...args);
        } catch (err) {
          done(err.code ? err : Object.assign(err, { code: "EIO" }));
          return;
        }
        done(null, result);
      };
    }
    return fs;
  }

  // run runs the program once, in a memory of its own, and returns its exit status. module is
  // the compiled program; the rest is as in makeFS. It takes globalThis.Go of wasm_exec.js.
  async function run(module, args, files) {
    globalThis.fs = makeFS(files);
    globalThis.process = { getuid: () => 0, getgid: () => 0, geteuid: () => 0, getegid: () => 0, getgroups: () => [], pid: 1, ppid: 0,
      umask: () => 0, cwd: () => "/", chdir() { throw fail("ENOENT"); } };
    globalThis.path = { resolve: (...parts) => clean(parts.join("/")) };
    const go = new globalThis.Go();
    go.argv = ["qsniff", ...args];
    go.env = { COLUMNS: "100", NO_COLOR: "1", TZ: "UTC" };
    let status = 0;
    go.exit = (code) => { status = code; };
    await go.run(await WebAssembly.instantiate(module, go.importObject));
    for (const timeout of go._scheduledTimeouts.values()) clearTimeout(timeout); // they would resume what has ended
    return status;
  }

  return { makeFS, ofBytes, run };
})();
