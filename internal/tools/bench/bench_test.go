package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestQuick runs the program as make bench does, over few packets. The tools that
// are not there are left out, with their rows.
func TestQuick(t *testing.T) {
	if testing.Short() {
		t.Skip("it measures for some seconds")
	}
	dir := t.TempDir()
	program, file := filepath.Join(dir, "qsniff"), filepath.Join(dir, "BENCHMARKS.md")
	if out, err := exec.Command("go", "build", "-o", program, "qsniff/cmd/qsniff").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := run([]string{"-quick", "-qsniff", program, "-cache", dir, "-o", file}, t.Output()); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	rows := checkTables(t, string(b))
	p := newPlan(program, captures{})
	for _, tool := range p.dropTools(installed) {
		if !strings.Contains(string(b), "Rows with "+tool+" are left out") {
			t.Errorf("nothing says that %s is missing", tool)
		}
	}
	for _, g := range p.groups {
		for _, x := range g.rows {
			if !slices.Contains(rows, x.what) {
				t.Errorf("no row %q", x.what)
			}
		}
	}
	if name, err := os.Hostname(); err == nil && len(name) > 3 && strings.Contains(string(b), name) {
		t.Errorf("the file names this host: %s", name)
	}
	if strings.Contains(string(b), dir) {
		t.Error("the file names a folder of this machine")
	}
}

func installed(tool string) bool {
	_, err := exec.LookPath(tool)
	return err == nil
}

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
		if strings.Contains(line, "NaN") || strings.Contains(line, "Inf") {
			t.Errorf("no number in %s", line)
		}
		first = append(first, strings.TrimSpace(cells[0]))
	}
	return first
}

func TestLeaveOut(t *testing.T) {
	all := newPlan("qsniff", captures{})
	rows, commands := len(all.groups[1].rows), len(all.groups[1].commands)
	p := newPlan("qsniff", captures{})
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
	}
	mix := p.groups[1]
	if len(mix.rows) != rows-2 || len(mix.commands) != commands-1 {
		t.Errorf("got  %d rows, %d commands\nwant %d, %d", len(mix.rows), len(mix.commands), rows-2, commands-1)
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
	long := &command{capture: &capture{packets: 1000}, samples: []sample{{wall: 2 * time.Second, cpu: 4 * time.Second, peak: 3 << 20}}}
	short := &command{capture: &capture{packets: 100}, samples: []sample{{wall: time.Second, cpu: time.Second, peak: 6 << 20}}}
	for _, tc := range []struct {
		name string
		of   measure
		want float64
	}{
		{"packets per second", perSecond, 5},
		{"packets per CPU second", perCPUSecond, 2.5},
		{"time", seconds, 2},
		{"time per packet", perPacket, 0.2},
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

func TestParseStages(t *testing.T) {
	got, err := parseStages([]byte("goos: linux\nBenchmarkDecode-2   	  731252	      1653.5 ns/op	       5 B/op	       0 allocs/op\n" +
		"BenchmarkJSON   	  10000	      2131 ns/op	       5 B/op	       2 allocs/op\nPASS\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := []stage{{"BenchmarkDecode", 1653.5, 0}, {"BenchmarkJSON", 2131, 2}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(stage{})); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	for _, bad := range []string{"PASS\n", "BenchmarkJSON-2 100 x ns/op\n"} {
		if _, err := parseStages([]byte(bad)); err == nil {
			t.Errorf("no error for %q", bad)
		}
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
