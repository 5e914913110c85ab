package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestMain: this program is the decoder on gopacket, too.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == dumpCommand {
		main()
		return
	}
	os.Exit(m.Run())
}

// TestQuick measures some groups as make bench does, over few packets: all ways in which a
// command is run.
func TestQuick(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes some seconds")
	}
	dir := t.TempDir()
	program, file := filepath.Join(dir, "qsniff"), filepath.Join(dir, "BENCHMARKS.md")
	if out, err := exec.Command("go", "build", "-pgo=off", "-ldflags=-w", "-o", program, "qsniff/cmd/qsniff").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, name := range []string{"flood", "json", "jobs", "live"} {
		if err := run([]string{"-quick", "-group", name, "-qsniff", program, "-cache", dir, "-o", file}, t.Output()); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		p := testPlan()
		p.keep(name)
		p.dropTools(isInstalled)
		p.dropBlocked()
		checkReport(t, string(b), p)
		if strings.Contains(string(b), dir) {
			t.Error("the file names a folder of this machine")
		}
	}
}

// checkReport looks for each row of a plan.
func checkReport(t *testing.T, text string, p *plan) {
	t.Helper()
	cells := checkTables(t, text)
	for _, g := range p.groups {
		for _, x := range g.rows {
			if !slices.ContainsFunc(cells, func(cell string) bool { return strings.HasPrefix(cell, x.what) }) {
				t.Errorf("no row %q", x.what)
			}
		}
	}
}

// TestReport: what a whole run writes, of figures that are made up.
func TestReport(t *testing.T) {
	r := result{options: options{rounds: 2, packets: 1000}, plan: testPlan(), machine: describeMachine(), missing: []string{"Rows with a tool are left out."},
		stages: map[string]figure{}, stagesBefore: map[string]figure{}}
	lines := int64(1000)
	for _, g := range r.plan.groups {
		for i, c := range g.commands {
			for n := range 2 {
				c.samples = append(c.samples, sample{wall: time.Duration(i+n+1) * time.Second, cpu: time.Second, peak: 30 * mebi, packets: 1000})
			}
			if c.bytes != nil {
				*c.bytes = lines
			}
		}
	}
	for _, s := range stages {
		r.stages[s.key()], r.stagesBefore[s.key()] = figure{nanos: 80, allocations: 0}, figure{nanos: 160}
	}
	text := string(r.appendReport(nil))
	checkReport(t, text, r.plan)
	cells := checkTables(t, text)
	for _, s := range stages {
		if !slices.Contains(cells, s.what) {
			t.Errorf("no stage %q", s.what)
		}
	}
	for _, want := range []string{"\nRows with a tool are left out.\n", "| `stats`, the flood: CPU of `tcpdump -w /dev/null` | 1.00x | 1.00..1.00 | ≤ 4x | met |",
		"| choosing the partition | `capture/packet BenchmarkPartition/ethernet-ipv4` | 80.0 | 160 | 0 |", "make bench PACKETS=1000 ROUNDS=2", "| `read -o none` | 0.0000 |", "allocations a packet, the most: `stats` | 0.04 |"} {
		if !strings.Contains(text, want) {
			t.Errorf("the report lacks %q\n%s", want, text)
		}
	}
	if name, err := os.Hostname(); err == nil && len(name) > 3 && strings.Contains(text, name) {
		t.Errorf("the file names this host: %s", name)
	}
}

// TestStagesExist: the benchmarks are in the packages.
func TestStagesExist(t *testing.T) {
	for _, s := range stages {
		files, err := filepath.Glob("../../../" + s.pkg + "/*_test.go")
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v, %v", s.pkg, files, err)
		}
		var source strings.Builder
		for _, name := range files {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			source.Write(b)
		}
		name, inside, _ := strings.Cut(s.bench, "/")
		if !strings.Contains(source.String(), "func "+name+"(") || !strings.Contains(source.String(), inside+`"`) {
			t.Errorf("there is no %s", s.key())
		}
	}
}

// testPlan is the plan without captures.
func testPlan() *plan {
	all := captures{linesName: {}}
	for _, r := range recipes(quickPackets) {
		all[r.name] = &capture{name: r.name, packets: r.packets}
	}
	return newPlan(&commands{qsniff: "qsniff", all: all, extra: []extra{{"read -o none", -3}, {"stats", 180}}})
}

var noNumber = regexp.MustCompile(`\b(NaN|Inf)\b`)

// checkTables reports rows of another width than the head of their table, and
// values that are no numbers. It returns the first cells.
func checkTables(t *testing.T, text string) (first []string) {
	t.Helper()
	width := 0
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if !strings.HasPrefix(line, "|") {
			width = 0
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		if width == 0 {
			width = len(cells)
		}
		if len(cells) != width {
			t.Errorf("%d cells in %s\nwant %d", len(cells), line, width)
		}
		if noNumber.MatchString(line) {
			t.Errorf("no number in %s", line)
		}
		first = append(first, strings.TrimSpace(cells[0]))
	}
	return first
}

func TestDropTools(t *testing.T) {
	p := testPlan()
	missing := p.dropTools(func(tool string) bool { return tool != "tshark" })
	if want := []string{"tshark"}; !slices.Equal(missing, want) {
		t.Errorf("got  %q\nwant %q", missing, want)
	}
	for _, g := range p.groups {
		for _, c := range g.commands {
			if c.tool == "tshark" {
				t.Errorf("%s: tshark is still run", g.name)
			}
		}
		rows := map[string]int{"json": 3, "decode": 6, "plugin": 0, "flood": 4}
		if want, ok := rows[g.name]; ok && len(g.rows) != want {
			t.Errorf("%s: rows\ngot  %d\nwant %d", g.name, len(g.rows), want)
		}
	}
}

// TestKeep: one group, or an error for a name that is none.
func TestKeep(t *testing.T) {
	p := testPlan()
	if !p.keep("jobs") || len(p.groups) != 1 || p.groups[0].name != "jobs" {
		t.Errorf("got  %v\nwant the group jobs", p.groups)
	}
	if testPlan().keep("jsno") {
		t.Error("there is no group jsno")
	}
}

// TestMedianOf: the whole sample, that of the median of CPU time.
func TestMedianOf(t *testing.T) {
	of := func(cpu, wall time.Duration) sample { return sample{cpu: cpu, wall: wall} }
	if got, want := medianOf([]sample{of(9, 1), of(2, 5), of(4, 3)}), of(4, 3); got != want {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

// TestGreatest: the row is of the command with the most, and names it.
func TestGreatest(t *testing.T) {
	of := func(name string, mib int64) *command {
		return &command{before: []string{name}, samples: []sample{{peak: mib * mebi}}}
	}
	x := greatest("peak", peak, []*command{of("a", 3), of("b", 7), of("c", 5)}, " MiB", bar{atMost, 6})
	if got, want := x.name(), "peak, the most: `b`"; got != want || x.value(0) != 7 {
		t.Errorf("got  %s, %v\nwant %s, 7", got, x.value(0), want)
	}
}

func TestSpread(t *testing.T) {
	for _, tc := range []struct {
		name string
		in   []float64
		want spread
	}{
		{"one", []float64{4}, spread{4, 4, 4}},
		{"odd", []float64{9, 1, 5}, spread{1, 5, 9}},
		{"even", []float64{8, 1, 5, 4}, spread{1, 4.5, 8}},
	} {
		got := spreadOf(len(tc.in), func(round int) float64 { return tc.in[round] })
		if got != tc.want {
			t.Errorf("%s\ngot  %v\nwant %v", tc.name, got, tc.want)
		}
	}
}

// TestRatio: a capture of other length is compared by packets per second.
func TestRatio(t *testing.T) {
	long := &command{samples: []sample{{wall: 2 * time.Second, cpu: 4 * time.Second, peak: 3 << 20, packets: 1000}}}
	short := &command{samples: []sample{{wall: time.Second, cpu: time.Second, peak: 6 << 20, packets: 100}}}
	for _, tc := range []struct {
		name string
		of   measure
		want float64
	}{
		{"packets per second", perSecond, 5},
		{"packets per CPU second", perCPUSecond, 2.5},
		{"time", seconds, 2},
		{"time per packet", perPacket, 0.2},
		{"CPU per packet", cpuPerPacket, 0.4},
		{"memory", peak, 0.5},
	} {
		if got := ratio("", tc.of, long, short, bar{}).value(0); got != tc.want {
			t.Errorf("%s\ngot  %v\nwant %v", tc.name, got, tc.want)
		}
	}
}

func TestVerdict(t *testing.T) {
	for _, tc := range []struct {
		name, want string
		bar        bar
		value      float64
	}{
		{"no bar", "", bar{}, 3},
		{"enough", "met", bar{atLeast, 100}, 100},
		{"too little", "**missed**", bar{atLeast, 100}, 99.9},
		{"little enough", "met", bar{atMost, 1.1}, 1},
		{"too much", "**missed**", bar{atMost, 0}, 1},
	} {
		if got := tc.bar.verdict(tc.value); got != tc.want {
			t.Errorf("%s\ngot  %s\nwant %s", tc.name, got, tc.want)
		}
	}
}

func TestParseFigures(t *testing.T) {
	got := map[string]figure{}
	err := parseFigures(got, []byte("goos: linux\npkg: qsniff/pipeline\nBenchmarkDecode   	  731252	      1653.5 ns/op	       5 B/op	       0 allocs/op\n"+
		"BenchmarkDecode   	  10000	      1501 ns/op	       5 B/op	       2 allocs/op\npkg: qsniff/track\nBenchmarkDecode 1 7 ns/op\nPASS\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]figure{"pipeline BenchmarkDecode": {1501, 2}, "track BenchmarkDecode": {7, 0}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(figure{})); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	for _, bad := range []string{"PASS\n", "BenchmarkJSON 100 x ns/op\n"} {
		if err := parseFigures(got, []byte(bad)); err == nil {
			t.Errorf("no error for %q", bad)
		}
	}
}

// TestSelectStages: a pattern has as many levels as the names that it is for.
func TestSelectStages(t *testing.T) {
	n := 0
	for depth := range 3 {
		pattern, packages := selectStages(depth)
		if strings.Count(pattern, "/") != depth || len(packages) == 0 {
			t.Errorf("depth %d: %s of %v", depth, pattern, packages)
		}
		n += len(packages)
	}
	if n > len(stages) {
		t.Errorf("%d packages for %d stages", n, len(stages))
	}
}

func TestParseExtra(t *testing.T) {
	got, err := parseExtra("=== RUN\nsteady\tread -o none\t-3\nsteady\tstats\t180\nPASS\n")
	if want := []extra{{"read -o none", -3}, {"stats", 180}}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got  %v, %v\nwant %v", got, err, want)
	}
	for _, bad := range []string{"PASS\n", "steady\tstats\tx\n"} {
		if _, err := parseExtra(bad); err == nil {
			t.Errorf("no error for %q", bad)
		}
	}
}

// TestHeadWriter: what jq reads ends with a line, and all is counted.
func TestHeadWriter(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lines")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := headWriter{file: f}
	line := strings.Repeat("x", 999) + "\n"
	chunk := []byte(strings.Repeat(line, 1000) + "part")
	rest := []byte(strings.Repeat("x", 995) + "\n")
	total := 0
	for w.n < mostLines+3_000_000 {
		for _, b := range [][]byte{chunk, rest} {
			n, _ := w.Write(b)
			total += n
		}
	}
	got, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if int64(total) != w.n || int64(len(got)) != w.head || w.head%1000 != 0 || w.lines != len(got)/1000 || len(got) < mostLines-1_002_000 || len(got) > mostLines+len(chunk) {
		t.Errorf("wrote %d, counted %d, kept %d in %d lines, file of %d", total, w.n, w.head, w.lines, len(got))
	}
}

func TestReadAll(t *testing.T) {
	for _, tc := range []struct {
		name, remark string
		want         bool
	}{
		{"each packet was a message", "", true},
		{"some were not", "qsniff: 8 messages in 10 packets; left out: 2 TCP of other protocols\n", true},
		{"floods finds one direction", "qsniff: only requests were captured: who proves an address is not to be seen\n", true},
		{"too few", "qsniff: 8 messages in 9 packets; left out: 1 TCP of other protocols\n", false},
	} {
		if got := hasReadAll(tc.remark, 10); got != tc.want {
			t.Errorf("%s\ngot  %v\nwant %v", tc.name, got, tc.want)
		}
	}
}
