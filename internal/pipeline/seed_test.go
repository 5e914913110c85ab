package pipeline

import (
	"context"
	"encoding/binary"
	"io"
	"slices"
	"testing"

	"qsniff/capture"
	"qsniff/internal/test/protos"
	"qsniff/internal/track"
)

// dripping delivers the packets of a source one by one, as a pipe may.
type dripping struct {
	capture.Source
	rest capture.Batch
	err  error
}

func (d *dripping) Read(b *capture.Batch) error {
	if len(d.rest.Packets) == 0 && d.err == nil {
		d.rest.Reset()
		d.err = d.Source.Read(&d.rest)
	}
	if len(d.rest.Packets) == 0 {
		return d.err
	}
	b.Packets, d.rest.Packets = append(b.Packets, d.rest.Packets[0]), d.rest.Packets[1:]
	return nil
}

// hashesOf are those of all sightings in a capture.
func hashesOf(t *testing.T, src capture.Source, jobs int, seed uint64) (hs []uint64) {
	t.Helper()
	l := &log{}
	if _, err := Run(context.Background(), Config{Source: src, Registry: protos.Registry(t), Out: io.Discard, Jobs: jobs, Seed: seed, Watchers: []track.Watcher{l}}); err != nil {
		t.Fatal(err)
	}
	for i := range l.seen {
		hs = append(hs, l.seen[i].ClientHash, l.seen[i].ServerHash)
	}
	return hs
}

// TestSeed: a capture has one seed, however it comes in; the time of its first packet
// gives another.
func TestSeed(t *testing.T) {
	data := asked{sources: 12, rounds: 3, times: always(1)}.write(t)
	want := hashesOf(t, open(t, data), 1, 0)
	if len(want) != 2*12*3 {
		t.Fatalf("%d hashes", len(want))
	}
	if got := hashesOf(t, open(t, data), 4, 0); !slices.Equal(got, want) {
		t.Error("another number of jobs gives other hashes")
	}
	if got := hashesOf(t, &dripping{Source: open(t, data)}, 2, 0); !slices.Equal(got, want) {
		t.Error("packets that come one by one have other hashes")
	}
	const fraction = 24 + 4 // of the first packet's time: after the header of the file and the seconds
	later := slices.Clone(data)
	binary.LittleEndian.PutUint32(later[fraction:], binary.LittleEndian.Uint32(later[fraction:])+1)
	if got := hashesOf(t, open(t, later), 1, 0); got[0] == want[0] || got[1] == want[1] {
		t.Error("a first packet that came a nanosecond later has the same hashes")
	}
	if got := hashesOf(t, open(t, data), 1, 7); got[0] == want[0] {
		t.Error("the seed that was asked for is not used")
	}
}

// TestSeedOf: all of the first packet counts.
func TestSeedOf(t *testing.T) {
	p := capture.Packet{Nanos: 1e18, Wire: 60, Data: []byte("a packet")}
	want := seedOf(&p)
	if got := seedOf(&capture.Packet{Nanos: 1e18, Wire: 60, Data: []byte("a packet"), No: 3}); got != want {
		t.Error("the same packet has another seed")
	}
	for _, q := range []capture.Packet{
		{Nanos: 1e18 + 1, Wire: 60, Data: p.Data}, {Nanos: 1e18, Wire: 61, Data: p.Data}, {Nanos: 1e18, Wire: 60, Data: []byte("a packed")},
	} {
		if seedOf(&q) == want {
			t.Errorf("%+v has the seed of %+v", q, p)
		}
	}
}
