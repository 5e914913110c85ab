// Package deptest holds the import table of the design as data, and the test
// that the code keeps to it. It has no code of its own.
package deptest

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const (
	module = "qsniff"
	root   = "../../.."
)

// anyone may be imported by every package.
var anyone = []string{"internal", "finding", "wire"}

// allowed lists what else the packages of a folder may import. An entry covers the
// package of that name and, where it ends in /..., those below it. A parent may
// import its children.
var allowed = map[string][]string{
	"capture":              {"capture/..."},
	"capture/file":         {"capture"},
	"capture/live":         {"capture"},
	"capture/ring":         {"capture", "capture/file"},
	"capture/keep":         {"capture", "capture/..."},
	"netlayer":             {},
	"wire":                 {},
	"reassembly":           {"reassembly/..."},
	"reassembly/ipfrag":    {"netlayer", "reassembly"},
	"reassembly/split":     {"netlayer", "reassembly"},
	"reassembly/eye":       {"reassembly"},
	"reassembly/tcpstream": {"netlayer", "reassembly"},
	"dissect":              {"reassembly"},
	"dissect/a2s":          {"dissect"},
	"dissect/goldsource":   {"dissect"},
	"dissect/master":       {"dissect"},
	"dissect/ase":          {"dissect", "reassembly", "reassembly/eye"},
	"dissect/rcon":         {"dissect"},
	"dissect/protocols":    {"dissect/..."},
	"track":                {"dissect", "netlayer"},
	"stats":                {"track", "dissect"},
	"flood":                {"track", "flood/sketch", "flood/measure"},
	"flood/advice":         {"track", "dissect", "flood"},
	"flood/config":         {"flood"},
	"flood/measure":        {"track", "dissect", "flood/sketch"},
	"flood/sketch":         {},
	"flood/proof":          {"track"},
	"flood/limiter":        {"track", "flood/proof"},
	"pipeline/tally":       {"reassembly/..."},
	"render":               {"dissect", "stats", "flood", "flood/...", "pipeline/tally"},
	"render/counters":      {"capture/...", "stats", "flood", "flood/...", "pipeline/tally"},
	"render/csv":           {"dissect", "render"},
	"render/jsonl":         {"dissect", "stats", "flood", "flood/...", "pipeline/tally", "render", "render/counters"},
	"render/text":          {"dissect", "stats", "flood", "flood/...", "pipeline/tally", "render", "render/counters"},
	"render/nft":           {"flood", "flood/...", "render"},
	"render/dialogue":      {"track", "render"},
	"pipeline":             {"capture/...", "netlayer", "reassembly/...", "dissect", "track", "flood", "render/...", "pipeline/tally"},
	"cmd/qsniff":           {"..."},
}

// gopacket may be imported by these, beside tests and their helpers: it is not
// fit for hostile input.
var gopacket = []string{"capture/file", "capture/live", "internal/test/testpcap", "internal/tools/mkpcap"}

// testHelpers may be imported by tests and by each other: the program has no use for
// what they do.
var testHelpers = []string{"internal/test/child", "internal/test/dissecttest", "internal/test/hextest", "internal/lru/lrutest", "internal/test/netns", "internal/test/race", "internal/test/responder"}

// clockless are packages that must stay single-threaded and without a clock.
var clockless = []string{"capture", "netlayer", "reassembly", "dissect", "track", "stats", "flood", "render", "finding"}

func TestImports(t *testing.T) {
	seen := map[string]bool{}
	walk(t, func(dir, file string, test bool) {
		seen[dir] = true
		if test || strings.HasPrefix(dir, "internal") {
			return
		}
		for _, imp := range imports(t, file) {
			if target, ours := strings.CutPrefix(imp, module+"/"); ours && !may(dir, target) {
				t.Errorf("%s: %s must not import %s", file, dir, target)
			}
			if strings.Contains(imp, "gopacket") && !contains(gopacket, dir) {
				t.Errorf("%s: must not import %s", file, imp)
			}
		}
	})
	for dir := range allowed {
		if !seen[dir] {
			t.Errorf("the table names %s, which is not there", dir)
		}
	}
}

// TestHelpersStayInTests: nothing but tests is built with what only tests need.
func TestHelpersStayInTests(t *testing.T) {
	seen := map[string]bool{}
	walk(t, func(dir, file string, test bool) {
		seen[dir] = true
		if test || contains(testHelpers, dir) {
			return
		}
		for _, imp := range imports(t, file) {
			if target, ours := strings.CutPrefix(imp, module+"/"); ours && contains(testHelpers, target) {
				t.Errorf("%s: must not import %s: it is for tests", file, target)
			}
		}
	})
	for _, dir := range testHelpers {
		if !seen[dir] {
			t.Errorf("the list of helpers names %s, which is not there", dir)
		}
	}
}

// may tells whether the package in dir may import target.
func may(dir, target string) bool {
	for _, a := range anyone {
		if target == a || strings.HasPrefix(target, a+"/") {
			return true
		}
	}
	for _, a := range allowed[dir] {
		prefix, below := strings.CutSuffix(a, "...")
		if target == strings.TrimSuffix(prefix, "/") || below && strings.HasPrefix(target, prefix) {
			return true
		}
	}
	return false
}

// TestClock: below cmd, time is packet time, and only pipeline has goroutines.
// A reader of the output that stalls, stalls by the wall clock, and what keeps packets
// then has a goroutine for it.
func TestClock(t *testing.T) {
	walk(t, func(dir, file string, test bool) {
		if test || dir == "capture/keep" || !contains(clockless, strings.Split(dir, "/")[0]) {
			return
		}
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range []string{"time.Now(", "time.Since(", "time.Sleep(", "\tgo func", "\tgo "} {
			if line := find(string(src), word); line > 0 {
				t.Errorf("%s:%d: %q", file, line, strings.TrimSpace(word))
			}
		}
	})
}

// TestPayloadIsReadWithACursor: where a protocol builds fields, it does not index
// the payload. Probes look at bytes without building anything.
func TestPayloadIsReadWithACursor(t *testing.T) {
	walk(t, func(dir, file string, test bool) {
		if test || path.Dir(dir) != "dissect" || dir == "dissect/protocols" {
			return
		}
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range []string{"m.Data[", ".Data[", "m.Fields = append", "dissect.Field{"} {
			if line := find(string(src), word); line > 0 {
				t.Errorf("%s:%d: %q", file, line, word)
			}
		}
	})
}

// find returns the number of the first line of code that holds word, 0 if none does.
func find(src, word string) int {
	for i, line := range strings.Split(src, "\n") {
		code, _, _ := strings.Cut(line, "//")
		if strings.Contains(code, word) {
			return i + 1
		}
	}
	return 0
}

func walk(t *testing.T, visit func(dir, file string, test bool)) {
	t.Helper()
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == ".git" || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(p, ".go") {
			return nil
		}
		rel, err := filepath.Rel(root, filepath.Dir(p))
		if err != nil {
			return err
		}
		visit(filepath.ToSlash(rel), p, strings.HasSuffix(p, "_test.go"))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func imports(t *testing.T, file string) []string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, i := range f.Imports {
		p, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, p)
	}
	return out
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}
