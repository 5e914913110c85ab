package dialogue

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"qsniff/internal/render"
	"qsniff/internal/test/race"
	"qsniff/internal/track"
)

// TestStore: turns come back as they were given, whatever was stored and dropped before.
func TestStore(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var s store
	type kept struct {
		chain
		texts []string
	}
	var open []*kept
	for range 5000 {
		switch n := len(open); {
		case n > 0 && rng.IntN(8) == 0:
			k := open[rng.IntN(n)]
			frames := 0
			s.release(&k.chain, func(uint64) { frames++ })
			if frames != len(k.texts) || k.chain != (chain{}) {
				t.Fatalf("%d frames of %d turns; left: %+v", frames, len(k.texts), k.chain)
			}
			k.texts = nil
		case n < 20:
			open = append(open, &kept{})
		default:
			k, text := open[rng.IntN(n)], strings.Repeat(string(rune('a'+rng.IntN(26))), rng.IntN(3*blockBytes))
			s.add(&k.chain, render.Turn{Text: []byte(text)})
			k.texts = append(k.texts, text)
		}
	}
	for _, k := range open {
		got := s.collect(&k.chain)
		if len(got) != len(k.texts) || k.count != len(got) || k.bytes != len(strings.Join(k.texts, "")) {
			t.Fatalf("%d turns of %d bytes, counted %d of %d", len(got), len(strings.Join(k.texts, "")), k.count, k.bytes)
		}
		for i := range got {
			if string(got[i].Text) != k.texts[i] {
				t.Fatalf("turn %d\ngot  %q\nwant %q", i, got[i].Text, k.texts[i])
			}
		}
	}
}

// TestStoreAllocations: exchanges of all lengths leave nothing to the collector.
func TestStoreAllocations(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	c := New(Options{Renderer: scribe{}})
	c.maxOpen = 64
	out, text := make([]byte, 0, 64<<10), bytes.Repeat([]byte("x"), 9000)
	frame := uint64(0)
	exchange := func() {
		frame++
		f := track.Fact{Frame: frame, Nanos: start + int64(frame)*ms, Server: server, Client: client, Part: track.Part{Step: track.Ask, ID: frame}}
		long := text[:frame*997%uint64(len(text))]
		out = c.AddMessage(out[:0], &Turn{Turn: render.Turn{Text: long, Frame: frame, Nanos: f.Nanos}, First: frame}, &f)
	}
	for range 2000 {
		exchange()
	}
	if n := testing.AllocsPerRun(2000, exchange); n != 0 {
		t.Errorf("%v allocations for an exchange", n)
	}
}

// TestFlush: what is over at once is handed on in parts, and nothing of it is lost.
func TestFlush(t *testing.T) {
	const exchanges = 1000
	text := bytes.Repeat([]byte("x"), 500)
	run := func(flush func([]byte) []byte) []byte {
		c := New(Options{Renderer: scribe{}})
		c.Flush = flush
		var out []byte
		for i := range uint64(exchanges) {
			f := track.Fact{Frame: i + 1, Nanos: start, Server: server, Client: client, Part: track.Part{Step: track.Ask, ID: i + 1}}
			out = c.AddMessage(out, &Turn{Turn: render.Turn{Text: text, Frame: i + 1, Nanos: start}, First: i + 1}, &f)
		}
		return c.Finish(c.AdvanceTime(out, start+2*patience), false)
	}
	var got []byte
	most := 0
	rest := run(func(dst []byte) []byte {
		got, most = append(got, dst...), max(most, len(dst))
		return dst[:0]
	})
	if want := run(nil); !bytes.Equal(append(got, rest...), want) || len(want) < exchanges*len(text) {
		t.Errorf("%d and %d bytes written\nwant %d", len(got), len(rest), len(want))
	}
	if limit := flushBytes + len(text) + 100; most > limit || len(rest) > limit {
		t.Errorf("%d bytes at a time, %d in the end\nwant at most %d", most, len(rest), limit)
	}
}
