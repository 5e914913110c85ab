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
var importableByAll = []string{"dissect/finding", "reassembly/wire"}

// example is the template of a protocol: built and tested, and no part of the program.
const example = "dissect/example"

// allowed lists what else packages may import. A name ending in /* stands for the
// packages in a folder that have no entry of their own; a value covers the package of
// that name and, where it ends in /..., those below it.
//
// The shared pieces in internal may be imported by every package that may import what
// they do, helpers of tests and tools by none of the program: see mayInternal.
var allowed = map[string][]string{
	"capture":                       {"capture/..."},
	"capture/file":                  {"capture"},
	"capture/live":                  {"capture", "capture/pcapfilter"},
	"capture/ring":                  {"capture", "capture/file"},
	"capture/keep":                  {"capture", "capture/..."},
	"capture/pcapfilter":            {"capture"},
	"capture/play":                  {"capture"},
	"capture/recent":                {"capture", "capture/packet"},
	"capture/packet":                {},
	"capture/packet/rewrite":        {"capture", "capture/packet"},
	"reassembly/wire":               {},
	"reassembly":                    {"reassembly/..."},
	"reassembly/ipfrag":             {"capture/packet", "reassembly"},
	"reassembly/split":              {"capture/packet", "reassembly"},
	"reassembly/eye":                {"reassembly"},
	"reassembly/tcpstream":          {"capture/packet", "reassembly"},
	"dissect":                       {"reassembly"},
	"dissect/*":                     {"dissect"},
	"dissect/ase":                   {"dissect", "reassembly", "reassembly/eye"},
	"dissect/protocols":             {"dissect/..."},
	"internal/track/fingerprint":    {"dissect"},
	"internal/track":                {"dissect", "internal/track/fingerprint", "capture/packet"},
	"internal/track/stats":          {"internal/track", "dissect", "internal/track/fingerprint"},
	"internal/track/diff":           {"capture", "capture/packet", "reassembly/ipfrag", "reassembly/split", "dissect"},
	"internal/track/vantages":       {"dissect", "internal/track"},
	"internal/flood":                {"internal/track", "dissect", "internal/flood/sketch", "internal/flood/measure", "internal/flood/other"},
	"internal/flood/advice":         {"internal/track", "dissect", "internal/flood"},
	"internal/flood/config":         {"internal/flood"},
	"internal/flood/measure":        {"internal/track", "dissect", "internal/flood/sketch"},
	"internal/flood/other":          {"internal/track", "dissect", "capture/packet", "internal/flood/sketch", "internal/flood/measure"},
	"internal/flood/sketch":         {},
	"internal/flood/proof":          {"internal/track", "dissect"},
	"internal/flood/limiter":        {"internal/track", "internal/flood/proof"},
	"internal/render/tally":         {"reassembly/..."},
	"internal/render":               {"dissect", "internal/track/stats", "internal/track/vantages", "internal/flood", "internal/flood/...", "internal/render/tally", "internal/track/fingerprint"},
	"internal/render/counters":      {"capture/...", "internal/track/stats", "internal/flood", "internal/flood/...", "internal/render/tally"},
	"internal/render/ci":            {"internal/render", "internal/track/stats"},
	"internal/render/csv":           {"dissect", "internal/track/stats", "internal/render"},
	"internal/render/jsonl":         {"internal/track/diff", "internal/track/vantages", "dissect", "internal/track/stats", "internal/flood", "internal/flood/...", "internal/render/tally", "internal/render", "internal/render/counters", "internal/track/fingerprint"},
	"internal/render/text":          {"internal/track/diff", "internal/track/vantages", "dissect", "internal/track/stats", "internal/flood", "internal/flood/...", "internal/render/tally", "internal/render", "internal/render/counters", "internal/track/fingerprint"},
	"internal/flood/rules":          {"internal/flood", "internal/flood/..."},
	"internal/flood/rules/nft":      {"internal/flood", "internal/flood/..."},
	"internal/flood/rules/loaded":   {"internal/flood", "internal/flood/..."},
	"internal/flood/rules/written":  {"internal/flood", "internal/flood/..."},
	"internal/app/extcap":           {"capture", "capture/file", "capture/live", "capture/packet", "dissect", "internal/pipeline", "internal/render", "internal/render/text"},
	"internal/render/wireshark":     {"dissect"},
	"internal/flood/rules/edge":     {"dissect", "internal/flood", "internal/flood/..."},
	"internal/flood/rules/iptables": {"internal/flood", "internal/flood/..."},
	"internal/render/dialogue":      {"internal/track", "internal/render", "internal/track/fingerprint"},
	"internal/render/sample":        {"internal/render"},
	"internal/render/html":          {},
	"internal/render/schema":        {"dissect", "internal/flood", "internal/render", "internal/render/counters", "internal/render/jsonl", "internal/render/manual"},
	"internal/render/manual":        {"dissect", "internal/flood", "internal/track/fingerprint"},
	"internal/fleet":                {"internal/flood/measure", "internal/flood/sketch"},
	"internal/fleet/sensor":         {"dissect", "internal/track", "internal/flood", "internal/flood/...", "internal/monitor", "internal/fleet", "internal/track/stats"},
	"internal/fleet/outbox":         {"internal/fleet"},
	"internal/fleet/campaign":       {"internal/flood", "internal/flood/...", "internal/fleet"},
	"internal/fleet/hub":            {"internal/flood", "internal/monitor/notify", "internal/fleet", "internal/fleet/campaign"},
	"internal/fleet/hub/broker":     {"internal/fleet", "internal/monitor/notify"},
	"internal/fleet/hub/export":     {"internal/flood/measure", "internal/fleet", "internal/fleet/campaign", "internal/fleet/hub"},
	"internal/fleet/hub/web":        {"internal/flood", "internal/monitor/serve", "internal/fleet", "internal/fleet/campaign", "internal/fleet/hub"},
	"internal/monitor":              {"dissect", "internal/track", "internal/track/stats", "internal/flood", "internal/render/counters"},
	"internal/monitor/metrics":      {"internal/flood", "internal/flood/rules/loaded", "internal/render/counters", "internal/monitor", "internal/monitor/serve", "internal/monitor/notify"},
	"internal/monitor/serve":        {},
	"internal/pipeline/filter":      {"dissect", "capture/packet", "capture/pcapfilter", "internal/flood", "internal/render", "internal/render/manual", "internal/track/fingerprint"},
	"internal/pipeline":             {"capture/...", "capture/packet", "reassembly/...", "dissect", "internal/track", "internal/flood", "internal/flood/sketch", "internal/pipeline/filter", "internal/render/..."},
	"internal/app/cli":              {"internal/flood", "internal/flood/config", "internal/monitor/serve", "internal/render/manual", "internal/monitor/notify"},
	"internal/app/payload":          {"capture/packet"},
	"internal/app/progress":         {"capture"},
	"internal/app/remark":           {"internal/render/counters", "internal/render/tally"},
	"internal/app/decode":           {"internal/app/cli", "capture/file", "capture/packet", "dissect", "internal/app/payload", "internal/render", "internal/pipeline"},
	"internal/app/compare":          {"dissect", "dissect/finding", "internal/render", "internal/render/..."},
	"internal/app/diff":             {"capture", "capture/file", "capture/packet", "dissect", "internal/track/diff", "internal/render", "internal/pipeline/filter", "internal/pipeline/subset", "internal/app/cli"},
	"internal/app/extract":          {"capture", "capture/packet", "reassembly/ipfrag", "dissect", "internal/app/decode", "internal/app/payload", "internal/pipeline", "internal/render"},
	"internal/pipeline/subset":      {"capture", "capture/file", "capture/packet", "capture/packet/rewrite", "reassembly/wire", "dissect", "internal/render", "internal/render/tally", "internal/pipeline"},
	"internal/app/replay":           {"capture", "capture/packet", "reassembly/ipfrag", "dissect", "internal/render", "internal/pipeline"},
	"internal/app/anonymize":        {"capture/packet", "capture/packet/rewrite", "dissect", "internal/render", "internal/pipeline/subset"},
	"internal/app/report":           {"capture/file", "internal/track", "internal/track/stats", "internal/flood", "internal/flood/advice", "internal/render", "internal/render/...", "internal/pipeline"},
	"internal/app/mcp":              {"capture", "capture/file", "dissect", "internal/track", "internal/track/stats", "internal/flood", "internal/pipeline/filter", "internal/render", "internal/render/...", "internal/pipeline"},
	"internal/monitor/notify":       {"dissect", "internal/track", "internal/track/stats", "internal/flood", "internal/flood/...", "internal/render", "internal/render/tally", "internal/render/text", "internal/render/jsonl"},
	"internal/fleet/messenger":      {"capture", "capture/file", "internal/monitor/notify", "internal/fleet", "internal/fleet/outbox"},
	"internal/app/terminal":         {},
	"internal/app/terminal/message": {"dissect", "internal/render", "internal/render/text", "internal/app/terminal"},
	"internal/app/top":              {"internal/app/cli", "capture/...", "dissect", "internal/track", "internal/flood", "internal/flood/rules", "internal/flood/rules/loaded", "internal/pipeline/filter", "internal/monitor", "internal/pipeline", "internal/render/...", "internal/app/terminal", "internal/app/terminal/message"},
	"internal/app/browse":           {"capture", "capture/file", "dissect", "internal/pipeline/filter", "internal/render", "internal/render/tally", "internal/render/text", "internal/pipeline", "internal/app/terminal", "internal/app/terminal/message"},
	"cmd/qsniff":                    {"..."},
	"cmd/qsniff-hub":                {"..."},

	"internal/base/*":           {},
	"internal/base/jsonw":       {"internal/base/digits", "internal/base/display"},
	"internal/base/lru":         {"internal/base/mem"},
	"internal/base/heap":        {"internal/base/mem"},
	"internal/test/*":           {},
	"internal/test/dissecttest": {"dissect"},
	"internal/test/fleettest":   {"dissect", "dissect/protocols", "internal/track", "internal/flood", "internal/monitor", "internal/monitor/notify", "internal/fleet", "internal/fleet/..."},
	"internal/test/floodtest":   {"dissect", "dissect/protocols", "internal/flood", "internal/flood/advice", "internal/flood/rules"},
	"internal/test/protos":      {"dissect", "dissect/protocols"},
	"internal/test/lrutest":     {"internal/base/lru"},
	"internal/tools/*":          {},
	"internal/tools/calibrate":  {"internal/flood"},
	"internal/tools/docgen":     {"dissect", "internal/pipeline/filter", "internal/track/fingerprint", "internal/render/manual", "internal/render/counters"},
	"internal/tools/mkpcap":     {"internal/base/checksum"},
	"internal/tools/shot":       {"internal/base/display"},
	"internal/tools/site":       {"internal/base/digits"},
	"internal/tools/webpage":    {"internal/base/digits", "internal/render/html"},
}

// confined are modules that only these packages may import, beside tests: gopacket is not fit for hostile
// input; what reads Markdown and HTML is for the tool that writes the site, and no part of the program;
// the broker is for the hub, its client for those who speak with it, in processes that see no packets, and
// Parquet for exports.
var confined = map[string][]string{
	"gopacket":              {"capture", "capture/file", "capture/live", "internal/test/testpcap", "internal/tools/bench", "internal/tools/mkpcap"},
	"goldmark":              {"internal/tools/site"},
	"golang.org/x/net/html": {"internal/tools/site"},
	"nats-io/nats-server":   {"internal/fleet/hub/broker", "internal/test/natstest", "internal/test/fleettest"},
	"nats-io/nats.go":       {"internal/fleet/outbox", "internal/fleet/hub", "internal/fleet/hub/broker", "internal/fleet/hub/export", "cmd/qsniff-hub", "internal/test/natstest", "internal/test/fleettest"},
	"parquet-go":            {"internal/fleet/hub/export"},
}

// clockless are packages that must stay single-threaded and without a clock.
var clockless = []string{"capture", "capture/packet", "reassembly", "dissect", "internal/track", "internal/track/stats", "internal/flood", "internal/render", "internal/pipeline/filter", "dissect/finding", "internal/app/replay", "internal/monitor", "internal/monitor/notify", "internal/app/terminal"}

// concurrent are the packages and files in these that have goroutines and clocks all the same, with
// what it is that stalls by the wall clock: the reader of the output; packets in the ring of libpcap; readers over HTTP; the process
// that tells of incidents, and there services, programs and disks; the one that lists rules; people at a screen. The
// table of goroutines in ARCHITECTURE.md has each.
var concurrent = []string{"capture/keep", "capture/live/libpcap.go", "capture/live/datagrams.go", "internal/monitor/serve", "internal/monitor/notify/process.go", "internal/fleet/messenger", "internal/flood/rules/loaded",
	"internal/app/replay/listen.go", "internal/app/terminal/guard_linux.go", "internal/app/browse/browse.go", "internal/app/browse/session.go", "internal/app/browse/spool.go"}

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
		{"dissect/a2s", "internal/base/console", true},
		{"dissect/protocols", "dissect/a2s", true},
		{"dissect/protocols", example, false},
		{"cmd/qsniff", example, false},
		{"cmd/qsniff", "internal/test/race", false},
		{"cmd/qsniff", "internal/tools/docgen", false},
		{"internal/render/jsonl", "internal/base/jsonw", true},
		{"reassembly/wire", "internal/app/payload", false},
		{"internal/base/display", "internal/base/jsonw", false},
		{"internal/base/digits", "internal/flood", false},
		{"internal/test/netns", "internal/test/timing", true},
		{"internal/tools/mkpcap", "internal/test/testpcap", true},
		{"internal/tools/mkpcap", "internal/flood", false},
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
	if path.Dir(target) != "internal/base" || slices.Contains([]string{"internal/base", "internal/test", "internal/tools"}, path.Dir(dir)) {
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
		if test || slices.Contains(concurrent, dir) || slices.Contains(concurrent, dir+"/"+filepath.Base(file)) || !isClockless(dir) {
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
	const home = "internal/base/mem"
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

// isClockless reports whether the package in dir is one of clockless, or below one.
func isClockless(dir string) bool {
	return slices.ContainsFunc(clockless, func(room string) bool { return dir == room || strings.HasPrefix(dir, room+"/") })
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
