package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"qsniff/internal/base/heap"
	"qsniff/internal/test/race"
)

// TestMemory: the program keeps to its memory while tables overflow, and the collector
// runs a few times. The program gets the capture through a pipe, and what it has is read
// after each piece that it took.
func TestMemory(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector needs memory of its own")
	}
	const (
		most         = 52 << 20 // bytes: the program's own pages take up to 24 MiB more (peakWhile)
		mostOfMore   = 64 << 20 // with twice the tables
		mostOfReport = 60 << 20 // 55.6 MiB were counted: its detector is that of floods, beside all that it collects
		collections  = 40       // 0 to 10 were counted
		early        = 6        // that may run before the growth of the heap is set: 3 were counted
	)
	data, program := strangers(t, 40_000), builtProgram(t)
	lines := []string{"read -o json", "floods", "report -o json", "stats --memory 128M"}
	if !testing.Short() {
		lines = append(lines, "read -o none", "read -o tree", "stats", "proven", "follow", "read -o json --memory 128M")
	}
	for _, args := range lines {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			peak, trace := measured(t, program, append(strings.Fields(args), "-"), data)
			limit, more := int64(most), strings.HasSuffix(args, "128M")
			if more {
				limit = mostOfMore
			}
			if args == "report -o json" {
				limit = mostOfReport
			}
			if peak > limit {
				t.Errorf("peak: bytes\ngot  %d\nwant at most %d", peak, limit)
			}
			growth := heap.Growth
			if args == "report -o json" {
				growth = heap.TightGrowth
			}
			n := strings.Count(trace, "MB goal")
			if n > collections {
				t.Errorf("collections\ngot  %d\nwant at most %d\n%s", n, collections, trace)
			}
			if checked := hasRoom(t, trace, growth); checked == 0 && (more || n > early) { // the usual tables are made without one
				t.Errorf("the collector did not run with tables in use and room above them\n%s", trace)
			}
		})
	}
}

// hasRoom fails where the heap may hardly grow before the collector runs again, as with a
// limit at what the tables take: in a long run it is never at rest then. growth is what it
// may grow by, in percent. It returns how many collections it judged, the first with room
// among them.
//
// The first collections are not judged: a goroutine sets the growth after the first, and a
// busy machine may let others begin before it runs that goroutine (heap.Delay).
func hasRoom(t *testing.T, trace string, growth int) (checked int) {
	t.Helper()
	const grown = 10 // MB: from where on the numbers of the trace are exact enough
	room := growth / 2
	heap := regexp.MustCompile(`->(\d+) MB, (\d+) MB goal`)
	before := 0
	for _, m := range heap.FindAllStringSubmatch(trace, -1) {
		live, _ := strconv.Atoi(m[1])
		goal, _ := strconv.Atoi(m[2])
		isSet := goal*100 >= before*(100+room)
		if before >= grown && (checked > 0 || isSet) {
			checked++
			if !isSet {
				t.Errorf("the collector ran at %d MB where %d MB were in use\n%s", goal, before, trace)
				return checked
			}
		}
		before = live
	}
	return checked
}

// measured runs the program with data on standard input, and returns its peak of resident
// memory when all was read, and what the runtime prints of collections.
func measured(t *testing.T, program string, args []string, data []byte) (peak int64, trace string) {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), "GODEBUG=gctrace=1")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	peak, failed := peakWhile(cmd.Process.Pid, in, data)
	in.Close()
	if err := cmd.Wait(); err != nil || failed != nil {
		t.Fatalf("%v, %v\n%s", err, failed, errs.Bytes())
	}
	return peak, errs.String()
}

// builtProgram builds the program, compiled as the tests are, and returns its path: theirs has the
// libraries of tests in memory, too, 15 MiB of them.
func builtProgram(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "qsniff")
	if out, err := exec.Command("go", "build", "-pgo=off", "-ldflags=-w", "-buildvcs=false", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// peakWhile writes data to a process, and returns the most memory that it had after any piece, in bytes,
// without the pages of its program. Those come and go: as the kernel has a file in large pages or in small
// ones, a program of 36 MiB has 12 MiB or 24 of it mapped, and gives them back once it has started. The
// kernel's own peak (VmHWM) has them in it, as many as there were at that time, which nothing tells.
func peakWhile(pid int, in io.Writer, data []byte) (peak int64, err error) {
	for piece := range slices.Chunk(data, 32<<10) { // half of what a pipe holds
		if _, err = in.Write(piece); err != nil {
			return peak, err
		}
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			return peak, err
		}
		own, err := sizeIn(status, "RssAnon")
		if err != nil {
			return peak, err
		}
		peak = max(peak, own)
	}
	return peak, nil
}

// sizeIn returns the size that a line of a process's status names, in bytes.
func sizeIn(status []byte, name string) (int64, error) {
	m := regexp.MustCompile(name + `:\s+(\d+) kB`).FindSubmatch(status)
	if m == nil {
		return 0, fmt.Errorf("no %s in %q", name, status)
	}
	n, err := strconv.ParseInt(string(m[1]), 10, 64)
	return n << 10, err
}
