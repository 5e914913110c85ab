package pipeline_test

import (
	"errors"
	"io"
	"testing"
	"time"

	"qsniff/capture"
	"qsniff/internal/pipeline"
)

// fed is a source of what a test sends.
type fed chan int64

func (f fed) Read(b *capture.Batch) error {
	b.Reset()
	at, ok := <-f
	if !ok {
		return io.EOF
	}
	b.Packets = append(b.Packets, capture.Packet{Nanos: at})
	return nil
}

func (fed) Stats() capture.Stats { return capture.Stats{} }
func (fed) Close() error         { return nil }

// TestGrowing: while a source brings nothing Read returns all the same, and the time of its packets goes on,
// not before the lag of programs that write captures.
func TestGrowing(t *testing.T) {
	const begin = int64(1_000_000_000)
	now := int64(0)
	src := make(fed)
	g := pipeline.NewGrowing(src, func() int64 { return now }, time.Millisecond)
	var b capture.Batch
	if err := g.Read(&b); err != nil || len(b.Packets) != 0 {
		t.Fatalf("nothing came: %d packets, %v", len(b.Packets), err)
	}
	src <- begin
	for len(b.Packets) == 0 {
		if err := g.Read(&b); err != nil {
			t.Fatal(err)
		}
	}
	for passed, want := range map[time.Duration]int64{0: begin, 5 * time.Second: begin, 7 * time.Second: begin + int64(2*time.Second)} {
		if now = int64(passed); g.Now() != want {
			t.Errorf("after %v\ngot  %d\nwant %d", passed, g.Now(), want)
		}
	}
	close(src)
	var err error
	for err == nil {
		err = g.Read(&b)
	}
	if again := g.Read(&b); !errors.Is(err, io.EOF) || !errors.Is(again, io.EOF) || len(b.Packets) != 0 {
		t.Errorf("the end: %v, %v and %d packets", err, again, len(b.Packets))
	}
}
