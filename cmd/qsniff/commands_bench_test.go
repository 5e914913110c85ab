package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// BenchmarkCommands runs the commands over captures that make profile makes, in the folder
// that QSNIFF_CAPTURES names: cmd/qsniff/default.pgo is the profile of it.
func BenchmarkCommands(b *testing.B) {
	dir := os.Getenv("QSNIFF_CAPTURES")
	if dir == "" {
		b.Skip("QSNIFF_CAPTURES names no folder with flood.pcap and mix.pcap: make profile does that")
	}
	for _, line := range []string{
		"read -o none mix.pcap", "read -o json mix.pcap", "read mix.pcap", "follow mix.pcap", "exchanges mix.pcap",
		"stats mix.pcap", "stats flood.pcap", "floods flood.pcap", "floods mix.pcap", "proven mix.pcap",
	} {
		b.Run(line, func(b *testing.B) {
			args := strings.Fields(line)
			last := len(args) - 1
			args[last] = filepath.Join(dir, args[last])
			for range b.N {
				if status := run(b.Context(), args, streams{io.Discard, io.Discard}); status != 0 {
					b.Fatalf("%s\n got status %d\nwant 0", line, status)
				}
			}
		})
	}
}

// Flags of TestSteady, which make bench runs.
var (
	steady         = flag.String("steady", "", "SHORT,LONG: two captures of which the longer one begins like the shorter one")
	steadyCommands = flag.String("steady-commands", "", "commands, as in: read -o none,stats")
)

// TestSteady prints how many allocations more a command needs for the longer capture: what
// its tables take while they fill is in both. It is about figures.
func TestSteady(t *testing.T) {
	if *steady == "" {
		t.Skip("no -steady given (make bench GROUP=allocations)")
	}
	short, long, _ := strings.Cut(*steady, ",")
	for line := range strings.SplitSeq(*steadyCommands, ",") {
		few := allocationsOf(t, line, short)
		fmt.Printf("steady\t%s\t%d\n", line, int64(allocationsOf(t, line, long)-few))
	}
}

// allocationsOf counts the allocations of a command with a capture.
func allocationsOf(t *testing.T, line, capture string) uint64 {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var errs strings.Builder
	if status := run(t.Context(), append(strings.Fields(line), capture), streams{io.Discard, &errs}); status != exitOK {
		t.Fatalf("%s: status %d\n%s", line, status, &errs)
	}
	runtime.ReadMemStats(&after)
	return after.Mallocs - before.Mallocs
}
