package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
)

// stage is a benchmark of the pipeline, of which a packet is one operation.
type stage struct {
	name        string
	nanos       float64
	allocations float64
}

// measureStages runs the benchmarks of package pipeline that use one core.
func measureStages(quick bool) ([]stage, error) {
	args := []string{"test", "-run", "^$", "-bench", "^Benchmark(Decode|JSON)$", "-benchmem"}
	if quick {
		args = append(args, "-benchtime", "10000x")
	}
	out, err := exec.Command("go", append(args, "qsniff/pipeline")...).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("go test: %w\n%s", err, out)
	}
	return parseStages(out)
}

// parseStages reads what go test prints:
//
//	BenchmarkJSON-2   300000   4021 ns/op   12 B/op   0 allocs/op
func parseStages(out []byte) ([]stage, error) {
	var all []stage
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		words := strings.Fields(lines.Text())
		if len(words) < 2 || !strings.HasPrefix(words[0], "Benchmark") {
			continue
		}
		name, _, _ := strings.Cut(words[0], "-") // number of cores
		s := stage{name: name}
		var err error
		for i, unit := range words[1:] {
			switch unit {
			case "ns/op":
				s.nanos, err = strconv.ParseFloat(words[i], 64)
			case "allocs/op":
				s.allocations, err = strconv.ParseFloat(words[i], 64)
			}
			if err != nil {
				return nil, fmt.Errorf("go test printed %q", lines.Text())
			}
		}
		all = append(all, s)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("go test printed no benchmarks:\n%s", out)
	}
	return all, nil
}
