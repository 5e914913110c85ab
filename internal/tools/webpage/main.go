// Command webpage writes a folder of static files: the front end of reports, and qsniff itself
// as WebAssembly, which decodes captures in the browser that opens it. Nothing in it refers to
// anything outside of it. It runs in the root of the repository:
//
//	go run ./internal/tools/webpage DIR
package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"qsniff/internal/base/digits"
	"qsniff/internal/render/html"
)

// policy is what the page may do: run its own files, and compile WebAssembly.
const policy = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' data:; connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'"

// sources has the parts of the page that are not of the front end.
const sources = "internal/web/page"

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: webpage DIR")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "webpage:", err)
		os.Exit(1)
	}
}

// folder is the files to write, by their names.
type folder map[string][]byte

// write writes the page to dir.
func write(dir string) error {
	all := folder{"app.css": html.Style(), "app.js": html.Script()}
	frame := html.Page{CSP: html.AppendPolicy(nil, policy), Title: []byte("qsniff"),
		Style: []byte(`<link rel="stylesheet" href="app.css">`), Script: []byte(`<script src="app.js" defer></script>`)}
	all["index.html"] = frame.Append(nil)
	size, err := all.addProgram()
	if err == nil {
		err = all.addSources()
	}
	if err == nil {
		err = all.addExamples()
	}
	if err == nil {
		err = all.addServiceWorker()
	}
	for name, b := range all {
		if err == nil {
			err = os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), b, 0o644)
		}
	}
	if err != nil {
		return err
	}
	fmt.Printf("%s: %d files; the program is %s, to download %s, with all of the page %s\n", dir, len(all),
		digits.Bytes(float64(size)), digits.Bytes(float64(len(all["qsniff.bin"]))), digits.Bytes(float64(all.size())))
	return nil
}

// size is the length of all files that a browser loads at first.
func (f folder) size() (n int) {
	for name, b := range f {
		if !strings.HasPrefix(name, "examples/") {
			n += len(b)
		}
	}
	return n
}

// addProgram builds the program and adds it, compressed, with what Go's runtime needs. It
// returns how long the program is.
func (f folder) addProgram() (size int, err error) {
	tmp, err := os.MkdirTemp("", "webpage")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(tmp)
	wasm := filepath.Join(tmp, "qsniff.wasm")
	build := exec.Command("go", "build", "-trimpath", "-buildvcs=auto", "-ldflags=-s -w", "-o", wasm, "./cmd/qsniff")
	build.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm", "CGO_ENABLED=0")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return 0, fmt.Errorf("go build: %w", err)
	}
	program, err := os.ReadFile(wasm)
	if err != nil {
		return 0, err
	}
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return 0, err
	}
	if _, err := z.Write(program); err != nil {
		return 0, err
	}
	if err := z.Close(); err != nil {
		return 0, err
	}
	f["qsniff.bin"] = packed.Bytes()
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return 0, fmt.Errorf("go env GOROOT: %w", err)
	}
	f["wasm_exec.js"], err = os.ReadFile(filepath.Join(strings.TrimSpace(string(root)), "lib", "wasm", "wasm_exec.js"))
	return len(program), err
}

// addSources adds what runs the program.
func (f folder) addSources() (err error) {
	for _, name := range []string{"files.js", "worker.js"} {
		if f[name], err = os.ReadFile(filepath.Join(sources, name)); err != nil {
			return err
		}
	}
	f["licenses.txt"], err = os.ReadFile("internal/render/html/dist/LICENSES.txt")
	return err
}

// example is a capture that visitors can try.
type example struct {
	Path  string `json:"path,omitempty"` // in the repository
	Name  string `json:"name"`
	Title string `json:"title"`
	Bytes int    `json:"bytes"`
}

// addExamples adds the captures that examples.json lists.
func (f folder) addExamples() error {
	list, err := os.ReadFile(filepath.Join(sources, "examples.json"))
	if err != nil {
		return err
	}
	var all []example
	if err := json.Unmarshal(list, &all); err != nil {
		return err
	}
	for i := range all {
		x := &all[i]
		b, err := os.ReadFile(x.Path)
		if err != nil {
			return err
		}
		x.Name, x.Bytes, x.Path = filepath.Base(x.Path), len(b), ""
		f["examples/"+x.Name] = b
	}
	f["examples/index.json"], err = json.MarshalIndent(all, "", " ")
	return err
}

// addServiceWorker adds what keeps all files for when there is no network.
func (f folder) addServiceWorker() error {
	worker, err := os.ReadFile(filepath.Join(sources, "sw.js"))
	if err != nil {
		return err
	}
	var names []string
	for name := range f {
		names = append(names, name)
	}
	slices.Sort(names)
	sum := sha256.New()
	for _, name := range names {
		fmt.Fprintf(sum, "%s %x\n", name, sha256.Sum256(f[name]))
	}
	list, err := json.Marshal(append([]string{"./"}, names...))
	if err != nil {
		return err
	}
	worker = bytes.Replace(worker, []byte(`["{{files}}"]`), list, 1)
	f["sw.js"] = bytes.Replace(worker, []byte("{{version}}"), []byte(hex.EncodeToString(sum.Sum(nil)[:8])), 1)
	return nil
}
