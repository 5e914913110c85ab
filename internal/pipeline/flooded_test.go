package pipeline

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"qsniff/capture"
	"qsniff/internal/render/tally"
	"qsniff/internal/test/protos"
	"qsniff/internal/track"
)

// goroutine returns what names the goroutine that calls it.
func goroutine() string {
	b := make([]byte, 64)
	name, _, _ := bytes.Cut(b[:runtime.Stack(b, false)], []byte(" ["))
	return string(name)
}

// traced is a source that remembers which goroutine reads it.
type traced struct {
	capture.Source
	reader atomic.Value // string
}

func (s *traced) Read(b *capture.Batch) error {
	s.reader.Store(goroutine())
	return s.Source.Read(b)
}

// writeFlood writes requests of so many clients, from one number on.
func writeFlood(text *strings.Builder, from, n int) {
	for i := from; i < from+n; i++ {
		fmt.Fprintf(text, "@ client 10.%d.%d.%d:%d\n> %s\n", i>>16, i>>8&255, i&255, 1024+i%50000, infoAsked)
	}
}

// TestFlooded: while a file brings hardly anything but requests the reader's goroutine runs all stages,
// before and after not; listeners and watchers get the same as from goroutines of their own.
func TestFlooded(t *testing.T) {
	const long = (floodedInRow + 2*inFlight) * capture.MaxPackets
	var text strings.Builder
	writeFlood(&text, 0, long)
	text.WriteString(strings.Repeat("> "+infoAsked+"\n< FF FF FF FF 41 01 02 03 04\n", 2*capture.MaxPackets))
	writeFlood(&text, long, long)
	data := sourced(t, text.String())
	run := func(jobs int, sink PacketSink, isWatched bool) (lines []string, here, there int) {
		src, facts, sights := &traced{Source: open(t, data)}, &learned{}, &log{}
		cfg := Config{Source: src, Registry: protos.Registry(t), Out: io.Discard, Jobs: jobs, Packets: sink, Progress: func(capture.Stats, func() tally.Run) {
			if src.reader.Load() == goroutine() {
				here++
			} else {
				there++
			}
		}}
		if isWatched {
			cfg.Watchers = []track.Watcher{sights}
		} else {
			cfg.Listener = facts
		}
		if _, err := Run(context.Background(), cfg); err != nil {
			t.Fatal(err)
		}
		return append(facts.lines, sights.lines...), here, there
	}
	for _, isWatched := range []bool{false, true} {
		want, here, _ := run(2, noPackets{}, isWatched) // where all messages are read none is a usual request
		if here > 0 {
			t.Errorf("watched %v: %d batches of what is read are folded in the reader's goroutine", isWatched, here)
		}
		for _, jobs := range []int{2, 4} {
			got, here, there := run(jobs, nil, isWatched)
			if len(want) < 2*long || !slices.Equal(got, want) {
				t.Errorf("watched %v, %d jobs: %d lines\nwant %d, those of messages that are read", isWatched, jobs, len(got), len(want))
			}
			if isAdaptive := jobs == 2 || !isWatched; (here > 0) != isAdaptive || there == 0 {
				t.Errorf("watched %v, %d jobs: %d batches in the reader's goroutine, %d in that of the fold", isWatched, jobs, here, there)
			}
		}
	}
}

// TestFloodedUpdate: how many batches in a row begin it, and what ends it.
func TestFloodedUpdate(t *testing.T) {
	var f flooded
	requests := 0
	for i := range floodedInRow {
		if f.isOn.Load() {
			t.Fatalf("on after %d batches", i)
		}
		requests += 7
		f.update(requests, 8)
	}
	if !f.isOn.Load() {
		t.Fatalf("off after %d batches", floodedInRow)
	}
	if f.update(requests+6, 8); f.isOn.Load() {
		t.Errorf("on after a batch with six requests of eight packets")
	}
}
