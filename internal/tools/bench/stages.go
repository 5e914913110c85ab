package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
)

// stage is a part of a packet's way, with the benchmark that measures it.
type stage struct {
	what    string
	pkg     string // below the module
	bench   string
	packets int // of one operation
}

func (s *stage) key() string { return s.pkg + " " + s.bench }

// stages are in the order of a packet's way. The last are of all stages together, on one
// core and without a file.
var stages = []stage{
	{"cutting a file into packets", "capture/file", "BenchmarkReader/native/memory", 1},
	{"decoding the layers of Ethernet, IPv4 and UDP", "capture/packet", "BenchmarkDecode/ethernet-ipv4", 1},
	{"choosing the partition", "capture/packet", "BenchmarkPartition/ethernet-ipv4", 1},
	{"joining parts of Source", "reassembly/split", "BenchmarkAdd/source", 1},
	{"putting TCP segments in order", "reassembly/tcpstream", "BenchmarkAdd/consumed", 1},
	{"dissecting S2A_INFO", "dissect/a2s", "BenchmarkInfo", 1},
	{"dissecting S2A_RULES of two rules", "dissect/a2s", "BenchmarkRules", 1},
	{"tracking: an exchange of four messages", "internal/track", "BenchmarkExchange", 4},
	{"tracking: forged requests", "internal/track", "BenchmarkFlood", 1},
	{"adding up: a request and its answer", "internal/track/stats", "BenchmarkExchange", 2},
	{"adding up: forged requests", "internal/track/stats", "BenchmarkFlood", 1},
	{"detecting floods: forged requests", "internal/flood", "BenchmarkSpoofed", 1},
	{"detecting floods: ordinary traffic", "internal/flood", "BenchmarkOrdinary", 1},
	{"rendering a line", "internal/render/text", "BenchmarkAppend/line", 1},
	{"rendering a tree", "internal/render/text", "BenchmarkAppend/tree", 1},
	{"all but reading and writing: the shipped captures", "internal/pipeline", "BenchmarkDecode", 1},
	{"the same, as JSON", "internal/pipeline", "BenchmarkJSON", 1},
}

// figure is what a benchmark measured, an operation.
type figure struct{ nanos, allocations float64 }

// stageRuns is how often each benchmark runs.
const stageRuns = 3

// measureStages runs the benchmarks of the module in dir once and adds the figures to all,
// by package and benchmark. go test takes a pattern for each level of names: there is a run
// for each depth.
func measureStages(all map[string]figure, dir string, quick bool) error {
	often := "300ms"
	if quick {
		often = "10x"
	}
	for depth := range 3 {
		pattern, packages := selectStages(depth)
		args := []string{"test", "-run", "^$", "-benchmem", "-cpu", "1", "-benchtime", often, "-bench", pattern}
		cmd := exec.Command("go", append(args, packages...)...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err == nil {
			err = parseFigures(all, out)
		}
		if err != nil {
			return fmt.Errorf("go test: %w\n%s", err, out)
		}
	}
	return nil
}

// selectStages returns the benchmarks whose names have so many slashes, as a pattern for go
// test, and their packages.
func selectStages(slashes int) (pattern string, packages []string) {
	levels := make([][]string, slashes+1)
	for _, s := range stages {
		words := strings.Split(s.bench, "/")
		if len(words) != len(levels) {
			continue
		}
		for i, word := range words {
			levels[i] = append(levels[i], word)
		}
		packages = append(packages, "qsniff/"+s.pkg)
	}
	var all []string
	for _, words := range levels {
		all = append(all, "^("+strings.Join(words, "|")+")$")
	}
	slices.Sort(packages)
	return strings.Join(all, "/"), slices.Compact(packages)
}

// parseFigures adds what go test prints; of several runs it keeps the fastest:
//
//	pkg: qsniff/pipeline
//	BenchmarkJSON   300000   4021 ns/op   12 B/op   0 allocs/op
func parseFigures(all map[string]figure, out []byte) error {
	pkg, found := "", false
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		words := strings.Fields(lines.Text())
		if len(words) == 2 && words[0] == "pkg:" {
			pkg = strings.TrimPrefix(words[1], "qsniff/")
		}
		if len(words) < 2 || !strings.HasPrefix(words[0], "Benchmark") {
			continue
		}
		var f figure
		var err error
		for i, unit := range words[1:] {
			switch unit {
			case "ns/op":
				f.nanos, err = strconv.ParseFloat(words[i], 64)
			case "allocs/op":
				f.allocations, err = strconv.ParseFloat(words[i], 64)
			}
			if err != nil {
				return fmt.Errorf("it printed %q", lines.Text())
			}
		}
		name := pkg + " " + words[0]
		if before, ok := all[name]; !ok || f.nanos < before.nanos {
			all[name] = f
		}
		found = true
	}
	if !found {
		return errors.New("it printed no benchmarks")
	}
	return nil
}
