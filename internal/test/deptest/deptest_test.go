// Package deptest holds the import table of the design as data, and the test
// that the code keeps to it. It has no code of its own.
package deptest

import (
	"bytes"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	module = "qsniff"
	root   = "../../.."
)

// importableByAll may be imported by every package of the program.
var importableByAll = []string{"finding", "wire"}

// example is the template of a protocol: built and tested, and no part of the program.
const example = "dissect/example"

// allowed lists what else packages may import. A name ending in /* stands for the
// packages in a folder that have no entry of their own; a value covers the package of
// that name and, where it ends in /..., those below it.
//
// The shared pieces in internal may be imported by every package that may import what
// they do, helpers of tests and tools by none of the program: see mayInternal.
var allowed = map[string][]string{
	"capture":              {"capture/..."},
	"capture/file":         {"capture"},
	"capture/live":         {"capture"},
	"capture/ring":         {"capture", "capture/file"},
	"capture/keep":         {"capture", "capture/..."},
	"capture/play":         {"capture"},
	"capture/recent":       {"capture", "netlayer"},
	"netlayer":             {},
	"netlayer/rewrite":     {"capture", "netlayer"},
	"wire":                 {},
	"reassembly":           {"reassembly/..."},
	"reassembly/ipfrag":    {"netlayer", "reassembly"},
	"reassembly/split":     {"netlayer", "reassembly"},
	"reassembly/eye":       {"reassembly"},
	"reassembly/tcpstream": {"netlayer", "reassembly"},
	"dissect":              {"reassembly"},
	"dissect/*":            {"dissect"},
	"dissect/ase":          {"dissect", "reassembly", "reassembly/eye"},
	"dissect/protocols":    {"dissect/..."},
	"fingerprint":          {"dissect"},
	"track":                {"dissect", "fingerprint", "netlayer"},
	"stats":                {"track", "dissect", "fingerprint"},
	"compare":              {"capture", "netlayer", "reassembly/ipfrag", "reassembly/split", "dissect"},
	"contradict":           {"track"},
	"vantage":              {"dissect", "track"},
	"flood":                {"track", "dissect", "flood/sketch", "flood/measure", "flood/other"},
	"flood/advice":         {"track", "dissect", "flood"},
	"flood/config":         {"flood"},
	"flood/measure":        {"track", "dissect", "flood/sketch"},
	"flood/other":          {"track", "dissect", "netlayer", "flood/sketch", "flood/measure"},
	"flood/sketch":         {},
	"flood/proof":          {"track", "dissect"},
	"flood/limiter":        {"track", "flood/proof"},
	"render/tally":         {"reassembly/..."},
	"render":               {"dissect", "stats", "vantage", "flood", "flood/...", "render/tally", "fingerprint"},
	"render/counters":      {"capture/...", "stats", "flood", "flood/...", "render/tally"},
	"render/ci":            {"render", "stats"},
	"render/csv":           {"dissect", "stats", "render"},
	"render/jsonl":         {"compare", "vantage", "dissect", "stats", "flood", "flood/...", "render/tally", "render", "render/counters", "fingerprint"},
	"render/text":          {"compare", "vantage", "dissect", "stats", "flood", "flood/...", "render/tally", "render", "render/counters", "fingerprint"},
	"render/nft":           {"flood", "flood/...", "render"},
	"pipeline/extcap":      {"capture", "capture/file", "render"},
	"render/wireshark":     {"dissect"},
	"render/edge":          {"dissect", "flood", "flood/...", "render"},
	"render/iptables":      {"flood", "flood/...", "render"},
	"render/dialogue":      {"track", "render", "fingerprint"},
	"render/sample":        {"render"},
	"render/html":          {},
	"render/schema":        {"compare", "vantage", "dissect", "flood", "render", "render/counters", "render/manual"},
	"render/manual":        {"dissect", "flood", "fingerprint"},
	"fleet":                {"flood/measure", "flood/sketch"},
	"fleet/sensor":         {"dissect", "track", "flood", "flood/...", "monitor", "fleet", "stats"},
	"fleet/outbox":         {"fleet"},
	"fleet/campaign":       {"flood", "flood/...", "fleet"},
	"fleet/hub":            {"flood", "tell", "fleet", "fleet/campaign"},
	"fleet/hub/broker":     {"fleet", "tell"},
	"fleet/hub/export":     {"flood/measure", "fleet", "fleet/campaign", "fleet/hub"},
	"fleet/hub/web":        {"flood", "monitor/serve", "fleet", "fleet/campaign", "fleet/hub"},
	"monitor":              {"dissect", "track", "stats", "flood", "render/counters"},
	"monitor/metrics":      {"flood", "render/counters", "monitor", "monitor/serve", "tell"},
	"monitor/serve":        {},
	"filter":               {"dissect", "netlayer", "flood", "render", "render/manual", "fingerprint"},
	"pipeline":             {"capture/...", "netlayer", "reassembly/...", "dissect", "track", "contradict", "flood", "flood/sketch", "filter", "render/..."},
	"pipeline/paste":       {"capture/file", "netlayer", "dissect", "render", "pipeline"},
	"pipeline/fixtures":    {"capture", "netlayer", "reassembly/ipfrag", "dissect", "render"},
	"pipeline/subset":      {"capture", "capture/file", "netlayer", "netlayer/rewrite", "wire", "dissect", "render", "render/tally", "pipeline"},
	"replay":               {"capture", "netlayer", "reassembly/ipfrag", "dissect", "render", "pipeline"},
	"anonymize":            {"netlayer", "netlayer/rewrite", "dissect", "render", "pipeline/subset"},
	"assist":               {"capture", "capture/file", "dissect", "track", "stats", "flood", "filter", "render", "render/...", "pipeline"},
	"tell":                 {"dissect", "track", "stats", "flood", "flood/...", "render", "render/text", "render/jsonl"},
	"tell/messenger":       {"capture", "capture/file", "tell", "fleet", "fleet/outbox"},
	"terminal":             {},
	"terminal/message":     {"dissect", "render", "render/text", "terminal"},
	"terminal/top":         {"capture/...", "dissect", "track", "flood", "filter", "monitor", "pipeline", "render/...", "terminal", "terminal/message"},
	"terminal/browse":      {"capture", "capture/file", "dissect", "filter", "render", "render/tally", "render/text", "pipeline", "terminal", "terminal/message"},
	"cmd/qsniff":           {"..."},
	"cmd/qsniff-hub":       {"..."},

	"internal/*":                {},
	"internal/cli":              {"flood", "flood/config", "internal/systemd", "monitor/serve", "render/manual", "tell"},
	"internal/jsonw":            {"internal/digits", "internal/display"},
	"internal/lru":              {"internal/mem"},
	"internal/payload":          {"internal/checksum", "netlayer"},
	"internal/test/*":           {},
	"internal/test/dissecttest": {"dissect"},
	"internal/test/fleettest":   {"dissect", "dissect/protocols", "track", "flood", "monitor", "tell", "fleet", "fleet/..."},
	"internal/test/floodtest":   {"dissect", "dissect/protocols", "flood", "flood/advice", "render"},
	"internal/test/protos":      {"dissect", "dissect/protocols"},
	"internal/test/lrutest":     {"internal/lru"},
	"internal/tools/*":          {},
	"internal/tools/calibrate":  {"flood"},
	"internal/tools/docgen":     {"dissect", "filter", "fingerprint", "render/manual", "render/counters"},
	"internal/tools/mkpcap":     {"internal/checksum"},
	"internal/tools/shot":       {"internal/display"},
	"internal/tools/site":       {"internal/digits"},
	"internal/tools/webpage":    {"internal/digits", "render/html"},
}

// confined are modules that only these packages may import, beside tests: gopacket is not fit for hostile
// input; what reads Markdown and HTML is for the tool that writes the site, and no part of the program;
// the broker is for the hub, its client for those who speak with it, in processes that see no packets, and
// Parquet for exports.
var confined = map[string][]string{
	"gopacket":              {"capture", "capture/file", "capture/live", "internal/test/testpcap", "internal/tools/bench", "internal/tools/mkpcap"},
	"goldmark":              {"internal/tools/site"},
	"golang.org/x/net/html": {"internal/tools/site"},
	"nats-io/nats-server":   {"fleet/hub/broker", "internal/test/natstest", "internal/test/fleettest"},
	"nats-io/nats.go":       {"fleet/outbox", "fleet/hub", "fleet/hub/broker", "fleet/hub/export", "cmd/qsniff-hub", "internal/test/natstest", "internal/test/fleettest"},
	"parquet-go":            {"fleet/hub/export"},
}

// clockless are packages that must stay single-threaded and without a clock.
var clockless = []string{"capture", "netlayer", "reassembly", "dissect", "track", "contradict", "stats", "flood", "render", "filter", "finding", "replay", "monitor", "tell", "terminal", "compare", "vantage"}

// concurrent are the packages and files in these that have goroutines and clocks all the same, with
// what it is that stalls by the wall clock: the reader of the output; packets in the ring of libpcap; readers over HTTP; the process
// that tells of incidents, and there services, programs and disks; people at a screen. The
// table of goroutines in ARCHITECTURE.md has each.
var concurrent = []string{"capture/keep", "capture/live/libpcap.go", "monitor/serve", "tell/process.go", "tell/messenger",
	"terminal/guard_linux.go", "terminal/browse/browse.go", "terminal/browse/session.go", "terminal/browse/spool.go"}

// TestImports: what a package of the program, a tool or a helper imports is in the
// table. Tests may import what they like.
func TestImports(t *testing.T) {
	used := map[string]bool{}
	eachGoFile(t, func(dir, file string, test bool) {
		used[ruleFor(dir)] = true
		if test {
			return
		}
		for _, imp := range readImports(t, file) {
			if target, ours := strings.CutPrefix(imp, module+"/"); ours && !mayImport(dir, target) {
				t.Errorf("%s: %s must not import %s", file, dir, target)
			}
			for name, dirs := range confined {
				if strings.Contains(imp, name) && !slices.Contains(dirs, dir) {
					t.Errorf("%s: must not import %s", file, imp)
				}
			}
		}
	})
	for name := range allowed {
		if !used[name] {
			t.Errorf("the table names %s, which is not there", name)
		}
	}
}

// TestMay: the rules that are no entry of the table.
func TestMay(t *testing.T) {
	for _, tc := range []struct {
		dir, target string
		want        bool
	}{
		{"dissect/a2s", "dissect", true},
		{"dissect/a2s", "reassembly/eye", false},
		{"dissect/ase", "reassembly/eye", true},
		{"dissect/a2s", "internal/console", true},
		{"dissect/protocols", "dissect/a2s", true},
		{"dissect/protocols", example, false},
		{"cmd/qsniff", example, false},
		{"cmd/qsniff", "internal/test/race", false},
		{"cmd/qsniff", "internal/tools/docgen", false},
		{"render/jsonl", "internal/jsonw", true},
		{"wire", "internal/payload", false},
		{"internal/display", "internal/jsonw", false},
		{"internal/digits", "flood", false},
		{"internal/test/netns", "internal/test/timing", true},
		{"internal/tools/mkpcap", "internal/test/testpcap", true},
		{"internal/tools/mkpcap", "flood", false},
	} {
		if got := mayImport(tc.dir, tc.target); got != tc.want {
			t.Errorf("%s imports %s: got %v, want %v", tc.dir, tc.target, got, tc.want)
		}
	}
}

// ruleFor is the name of the rule for the package in dir.
func ruleFor(dir string) string {
	if _, own := allowed[dir]; own {
		return dir
	}
	return path.Dir(dir) + "/*"
}

// mayImport reports whether the package in dir may import target.
func mayImport(dir, target string) bool {
	helper := strings.HasPrefix(target, "internal/test/")
	switch {
	case helper && (strings.HasPrefix(dir, "internal/test/") || strings.HasPrefix(dir, "internal/tools/")), slices.Contains(importableByAll, target):
		return true
	case helper || strings.HasPrefix(target, "internal/tools/") || target == example:
		return covers(allowed[dir], target, false)
	}
	return covers(allowed[ruleFor(dir)], target, true) || mayInternal(dir, target)
}

// covers reports whether target is one of some packages, or below one if that counts.
func covers(packages []string, target string, below bool) bool {
	return slices.ContainsFunc(packages, func(p string) bool {
		prefix, all := strings.CutSuffix(p, "...")
		return target == strings.TrimSuffix(prefix, "/") || below && all && strings.HasPrefix(target, prefix)
	})
}

// mayInternal reports whether target is a shared piece that the package in dir may
// import: one of the program, if it may import what the piece does, so that no arrow
// goes up by way of internal. Among themselves pieces are in the table.
func mayInternal(dir, target string) bool {
	if path.Dir(target) != "internal" || strings.HasPrefix(dir, "internal/") {
		return false
	}
	return !slices.ContainsFunc(allowed[ruleFor(target)], func(p string) bool { return dir != p && !mayImport(dir, p) })
}

// TestClock: below cmd, time is packet time, and only pipeline and what is in concurrent have
// goroutines. Who captures waits for packets.
func TestClock(t *testing.T) {
	page, err := os.ReadFile(root + "/ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "\n## Goroutines\n")
	table, _, _ = strings.Cut(table, "\n## ")
	for _, name := range concurrent {
		if !strings.Contains(table, "`"+name+"`") {
			t.Errorf("ARCHITECTURE.md: %s is not in the table of goroutines", name)
		}
	}
	eachGoFile(t, func(dir, file string, test bool) {
		if test || slices.Contains(concurrent, dir) || slices.Contains(concurrent, dir+"/"+filepath.Base(file)) || !slices.Contains(clockless, strings.Split(dir, "/")[0]) {
			return
		}
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range []string{"time.Now(", "time.Since(", "time.Sleep(", "\tgo func", "\tgo ", ".Go(func"} {
			if dir == "capture/live" && word == "time.Sleep(" {
				continue
			}
			if line := findLine(string(src), word); line > 0 {
				t.Errorf("%s:%d: %q", file, line, strings.TrimSpace(word))
			}
		}
	})
}

// TestPayloadIsReadWithACursor: where a protocol builds fields, it does not index
// the payload. Probes look at bytes without building anything.
func TestPayloadIsReadWithACursor(t *testing.T) {
	eachGoFile(t, func(dir, file string, test bool) {
		if test || path.Dir(dir) != "dissect" || dir == "dissect/protocols" {
			return
		}
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range []string{"m.Data[", ".Data[", "m.Fields = append", "dissect.Field{"} {
			if line := findLine(string(src), word); line > 0 {
				t.Errorf("%s:%d: %q", file, line, word)
			}
		}
	})
}

// TestUnsafe: memory is used by its address in one package, whose comments say what makes that safe.
// Tests and their helpers may look where they like.
func TestUnsafe(t *testing.T) {
	const home = "internal/mem"
	users := 0
	eachFile(t, func(dir, file string) {
		isGo := strings.HasSuffix(file, ".go")
		switch ext := filepath.Ext(file); {
		case dir == home && isGo && slices.Contains(readImports(t, file), "unsafe"):
			users++
		case dir == home, strings.HasPrefix(dir, "internal/test/"), strings.HasSuffix(file, "_test.go"):
		case ext == ".s", ext == ".S", ext == ".syso", ext == ".c":
			t.Errorf("%s: assembly and C belong to %s", file, home)
		case isGo && slices.Contains(readImports(t, file), "unsafe"):
			t.Errorf("%s: only %s imports unsafe", file, home)
		case isGo:
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(src, []byte("\n//go:linkname")) {
				t.Errorf("%s: go:linkname is unsafe, too", file)
			}
		}
	})
	if users == 0 {
		t.Errorf("no file of %s imports unsafe: the test looks in the wrong place", home)
	}
}

// findLine returns the number of the first line of code that holds word, 0 if none does.
func findLine(src, word string) int {
	for i, line := range strings.Split(src, "\n") {
		code, _, _ := strings.Cut(line, "//")
		if strings.Contains(code, word) {
			return i + 1
		}
	}
	return 0
}

func eachGoFile(t *testing.T, visit func(dir, file string, test bool)) {
	t.Helper()
	eachFile(t, func(dir, file string) {
		if strings.HasSuffix(file, ".go") {
			visit(dir, file, strings.HasSuffix(file, "_test.go"))
		}
	})
}

// eachFile visits the files of the repository, but for those that tests read.
func eachFile(t *testing.T, visit func(dir, file string)) {
	t.Helper()
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == ".git" || d.Name() == "testdata" || d.Name() == "node_modules") {
			return filepath.SkipDir
		}
		if d.IsDir() {
			return nil
		}
		rel, err := filepath.Rel(root, filepath.Dir(p))
		if err != nil {
			return err
		}
		visit(filepath.ToSlash(rel), p)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func readImports(t *testing.T, file string) []string {
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
