package main

import (
	"flag"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
)

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
