//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// surelyRead is more than all buffers between a pipe and the output hold: once so much
// has been written to the pipe, packets at its start have been counted.
const surelyRead = 48 << 20

// interruptedRun runs a command on a pipe that brings a capture and then packets of no
// protocol, and interrupts it when its start has been read for sure.
func interruptedRun(t *testing.T, args ...string) (out, errs string) {
	t.Helper()
	capture, err := os.ReadFile(filepath.Join(pcapfiles, "a2s", "full-poll.pcap"))
	if err != nil {
		t.Fatal(err)
	}
	const long = 200_000 // bytes of a packet: few of them make many bytes
	last := capture[24:]
	filler := make([]byte, 16+long)
	copy(filler, last[:8]) // the time of the first packet
	binary.LittleEndian.PutUint32(filler[8:], long)
	binary.LittleEndian.PutUint32(filler[12:], long)

	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	over := make(chan struct{})
	go func() {
		f, err := os.OpenFile(pipe, os.O_WRONLY, 0)
		if err != nil {
			return
		}
		defer f.Close()
		f.Write(capture)
		for n := 0; n < surelyRead; n += len(filler) {
			if _, err := f.Write(filler); err != nil {
				return
			}
		}
		interrupt()
		<-over // the pipe does not end
	}()
	var o, e bytes.Buffer
	status := run(ctx, append(args, pipe), streams{&o, &e})
	close(over)
	if status != exitInterrupted {
		t.Errorf("%v: exit status %d, want %d", args, status, exitInterrupted)
	}
	return o.String(), e.String()
}

var saysInterrupted = regexp.MustCompile(`[Ii]nterrupted after [0-9,]+ packets, [0-9.]+ MiB$`)

// TestInterrupted: the first line of what Ctrl-C cut short says so, and how far it came.
func TestInterrupted(t *testing.T) {
	for _, args := range [][]string{{"stats"}, {"floods"}, {"proven"}, {"proven", "-o", "nft"}, {"floods", "--limits", "source"}} {
		out, errs := interruptedRun(t, args...)
		first, _, _ := strings.Cut(out, "\n")
		first = strings.TrimSuffix(first, ": more may have proved themselves.")
		if !saysInterrupted.MatchString(first) {
			t.Errorf("%v begins with %q", args, first)
		}
		if !strings.HasPrefix(errs, "qsniff: interrupted after ") { // the output is no terminal
			t.Errorf("%v: standard error says %q", args, errs)
		}
	}
}

// TestInterruptedFollow: what was over before has been written; the line precedes what
// was not.
func TestInterruptedFollow(t *testing.T) {
	out, _ := interruptedRun(t, "follow", "--utc")
	before, after, found := strings.Cut(out, "Interrupted after ")
	if !found || strings.Contains(before, "A2S_RULES") && strings.Contains(after, "A2S_RULES") {
		t.Errorf("got %s", out)
	}
}

func TestInterruptedJSON(t *testing.T) {
	type extent struct {
		Record      string
		Packets     int
		BytesRead   int `json:"bytes_read"`
		Interrupted *struct {
			Packets   int
			BytesRead int `json:"bytes_read"`
		}
	}
	for _, command := range []string{"stats", "proven", "floods", "follow"} {
		out, _ := interruptedRun(t, command, "-o", "json")
		newCheckedSchema(t).check(t, command, out)
		said := false
		for line := range strings.Lines(out) {
			var x extent
			if err := json.Unmarshal([]byte(line), &x); err != nil {
				t.Errorf("%s: %v: %s", command, err, line)
			}
			said = said || x.Interrupted != nil && x.Interrupted.Packets > 0 && x.Interrupted.BytesRead > 0 ||
				x.Record == "interrupted" && x.Packets > 0 && x.BytesRead > 0
		}
		if !said {
			t.Errorf("%s: nothing says that it was interrupted: %s", command, out)
		}
	}
}
