package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// wasmRun is a run of the program as WebAssembly, and its result: see internal/web/page/run.mjs.
type wasmRun struct {
	Args  []string `json:"args"`
	Files []string `json:"files"`
}

type wasmResult struct {
	Status int
	SHA256 string
	Length int
	Stderr string
	Peak   int64 // of the last line: memory of WebAssembly
}

// runWasm runs the program in Node, with the files that it has in a browser. It skips the test
// where that is not asked for, or there is no Node.
func runWasm(t *testing.T, runs []wasmRun) []wasmResult {
	t.Helper()
	if os.Getenv("QSNIFF_PAGE") == "" {
		t.Skip("make test-page runs it: the program is built for js first")
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not there")
	}
	wasm := filepath.Join(t.TempDir(), "qsniff.wasm")
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", wasm, ".")
	build.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	var lines bytes.Buffer
	enc := json.NewEncoder(&lines)
	for _, r := range runs {
		if err := enc.Encode(r); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(node, "../../internal/web/page/run.mjs", wasm, filepath.Join(strings.TrimSpace(string(root)), "lib", "wasm", "wasm_exec.js"))
	cmd.Stdin, cmd.Stderr = &lines, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var results []wasmResult
	for line := range bytes.Lines(out) {
		var r wasmResult
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		results = append(results, r)
	}
	if len(results) != len(runs)+1 {
		t.Fatalf("%d results of %d runs", len(results), len(runs))
	}
	return results
}

// TestWasm: of every capture the program prints in a browser what it prints here, byte for
// byte, with the same exit status.
func TestWasm(t *testing.T) {
	names, err := filepath.Glob(filepath.Join(pcapfiles, "*", "*.pcap*"))
	if err != nil || len(names) < 100 {
		t.Fatal(len(names), err)
	}
	var runs []wasmRun
	for i, name := range names {
		if names[i], err = filepath.Abs(name); err != nil {
			t.Fatal(err)
		}
		runs = append(runs, wasmRun{[]string{"read", "-o", "json", "--layout", "/files/0/" + filepath.Base(name)}, names[i : i+1]})
	}
	for i, got := range runWasm(t, runs)[:len(runs)] {
		out, errs, status := output(t, "read", "-o", "json", "--layout", names[i])
		sum := sha256.Sum256([]byte(out))
		if got.Status != status || got.SHA256 != hex.EncodeToString(sum[:]) {
			t.Errorf("%s: status %d, %d bytes, %s\nwant %d, %d bytes, %s", names[i], got.Status, got.Length, got.Stderr, status, len(out), errs)
		}
	}
}

// TestWasmSockets: what takes sockets is refused in a sentence.
func TestWasmSockets(t *testing.T) {
	runs := []wasmRun{{[]string{"live", "-i", "eth0"}, []string{}}, {[]string{"replay", "any.pcap"}, []string{}}}
	results := runWasm(t, runs)
	for i, want := range []string{"qsniff: a browser cannot capture\n", "qsniff: a browser cannot listen\n"} {
		if r := results[i]; r.Status != exitFailed || !strings.HasPrefix(r.Stderr, want) || strings.Count(r.Stderr, "\n") != 2 {
			t.Errorf("%v: status %d, %q", runs[i].Args, r.Status, r.Stderr)
		}
	}
}

// TestWasmMemory: a capture of 100 MB takes no more memory in a browser than one of a few.
func TestWasmMemory(t *testing.T) {
	const most = 96 << 20 // 61 MB were taken
	name := filepath.Join(t.TempDir(), "long.pcap")
	if os.Getenv("QSNIFF_PAGE") != "" {
		writeLong(t, name, 100<<20)
	}
	results := runWasm(t, []wasmRun{{[]string{"report", "-o", "json", "/files/0/long.pcap"}, []string{name}}})
	if r := results[0]; r.Status != 0 || r.Length == 0 || r.Length > reportSize {
		t.Errorf("status %d, %d bytes, %s", r.Status, r.Length, r.Stderr)
	}
	t.Logf("%d MB of memory", results[1].Peak>>20)
	if peak := results[1].Peak; peak > most {
		t.Errorf("%d bytes of memory, want at most %d", peak, most)
	}
}

// writeLong writes a capture of at least size bytes: a flood again and again, an hour apart.
func writeLong(t *testing.T, name string, size int) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(pcapfiles, "floods", "spoofed.pcap"))
	if err != nil {
		t.Fatal(err)
	}
	const header, record, hour = 24, 16, 3600
	out := bytes.NewBuffer(bytes.Clone(b[:header]))
	for out.Len() < size {
		out.Write(b[header:])
		for at := header; at < len(b); at += record + int(binary.LittleEndian.Uint32(b[at+8:])) {
			binary.LittleEndian.PutUint32(b[at:], binary.LittleEndian.Uint32(b[at:])+hour)
		}
	}
	if err := os.WriteFile(name, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}
