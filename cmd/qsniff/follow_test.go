package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFollow: messages come as a file grows, half records wait for their other
// half, and an interrupt ends the run.
func TestFollow(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(pcapfiles, "a2s", "full-poll.pcap"))
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "growing.pcap")
	const half = 300 // in the middle of a record
	if err := os.WriteFile(name, data[:half], 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, interrupt := context.WithCancel(context.Background())
	defer interrupt()
	out, in := io.Pipe()
	status := make(chan int, 1)
	var errs bytes.Buffer
	go func() {
		status <- run(ctx, []string{"read", "--follow", name}, streams{in, &errs})
		in.Close()
	}()
	lines := bufio.NewScanner(out)
	next := func(want string) {
		t.Helper()
		if !lines.Scan() || !strings.Contains(lines.Text(), want) {
			t.Fatalf("got %q, want a %s", lines.Text(), want)
		}
	}
	next("A2S_INFO")
	next("S2C_CHALLENGE")
	next("A2S-S01")
	next("A2S_INFO")
	f, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(data[half:]); err != nil {
		t.Fatal(err)
	}
	next("S2A_INFO_SRC")
	next("A2S_PLAYER")
	interrupt()
	go io.Copy(io.Discard, out)
	if got := <-status; got != exitInterrupted {
		t.Errorf("exit status %d, want %d: %s", got, exitInterrupted, &errs)
	}
}
