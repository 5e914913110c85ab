package file

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"qsniff/capture"
	"qsniff/internal/race"
)

// full is an output with so much room.
type full struct {
	b    []byte
	room int
}

func (f *full) Write(b []byte) (int, error) {
	n := min(len(b), f.room-len(f.b))
	f.b = append(f.b, b[:n]...)
	if n < len(b) {
		return n, syscall.ENOSPC
	}
	return n, nil
}

func (f *full) Truncate(n int64) error {
	f.b = f.b[:n]
	return nil
}

// TestFullDisk: wherever the room ends, the file holds whole packets, as many as
// the statistics say, and the rest are counted.
func TestFullDisk(t *testing.T) {
	for name, format := range formats {
		packets := randomPackets(rand.New(rand.NewPCG(5, 5)), 40, 100, 1)
		all := written(t, WriteOptions{Format: format}, packets)
		for room := 0; room < len(all); room++ {
			out := &full{room: room}
			w := NewWriter(out, "test", WriteOptions{Format: format, FlushEvery: 3 * time.Second})
			for i := range packets {
				_ = w.Write(&packets[i])
			}
			err := w.Close()
			var e *Error
			if !errors.As(err, &e) || !errors.Is(err, syscall.ENOSPC) || e.Reason != "no space left on the disk" {
				t.Fatalf("%s: room for %d of %d bytes: %v", name, room, len(all), err)
			}
			s := w.Stats()
			if s.Bytes != int64(len(out.b)) || s.Packets+s.Lost != uint64(len(packets)) {
				t.Fatalf("%s: room for %d: %+v, %d bytes", name, room, s, len(out.b))
			}
			if len(out.b) == 0 {
				continue
			}
			got, _ := readBack(t, out.b)
			if len(got) != int(s.Packets) {
				t.Fatalf("%s: room for %d: %d packets, %+v", name, room, len(got), s)
			}
			if len(got) > 0 {
				comparePackets(t, packets[:len(got)], got)
			}
		}
	}
}

// TestSizeWith is exact, interface descriptions and statistics included.
func TestSizeWith(t *testing.T) {
	about := described{{Name: "eth0", Link: 1, Dropped: 1}, {Index: 1, Name: "a longer name", Link: 1, Dropped: 3}}
	for name, format := range formats {
		packets := randomPackets(rand.New(rand.NewPCG(6, 6)), 30, 100, 1)
		for i := range packets {
			packets[i].Iface = uint16(i / 20)
		}
		o := WriteOptions{Format: format, Interfaces: about, Application: "qsniff"}
		w := NewWriter(io.Discard, "test", o)
		for i := range packets {
			want := int64(len(written(t, o, packets[:i+1])))
			if got := w.SizeWith(&packets[i]); got != want {
				t.Fatalf("%s: packet %d: got %d, want %d", name, i, got, want)
			}
			if err := w.Write(&packets[i]); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestFlushEvery: packets reach the output as time passes, in either direction.
func TestFlushEvery(t *testing.T) {
	var b bytes.Buffer
	w := NewWriter(&b, "test", WriteOptions{FlushEvery: time.Second})
	p := capture.Packet{Nanos: 100e9, Data: []byte("a"), Wire: 1, Link: 1}
	flushes := func(nanos int64) bool {
		before := b.Len()
		p.Nanos = nanos
		if err := w.Write(&p); err != nil {
			t.Fatal(err)
		}
		return b.Len() > before
	}
	for _, step := range []struct {
		nanos int64
		want  bool
	}{{100e9, false}, {100.5e9, false}, {101e9, true}, {100.9e9, false}, {101.9e9, false}, {102e9, true}, {50e9, true}, {50.5e9, false}} {
		if got := flushes(step.nanos); got != step.want {
			t.Errorf("at %d: got %v", step.nanos, got)
		}
	}
	before := b.Len()
	if err := w.Tick(51e9); err != nil || b.Len() == before {
		t.Errorf("the tick did not flush: %v", err)
	}
}

func TestWriterAllocatesNothing(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	for name, format := range formats {
		w := NewWriter(io.Discard, "test", WriteOptions{Format: format, FlushEvery: time.Second,
			Mask: func(_ *capture.Packet, b []byte) { b[0] = 0 }})
		p := capture.Packet{Data: make([]byte, 1500), Wire: 1500, Link: 1}
		write := func() {
			for range 100 {
				p.Nanos += 50e6
				p.Iface ^= 1
				if err := w.Write(&p); err != nil {
					t.Fatal(err)
				}
			}
		}
		write()
		if got := testing.AllocsPerRun(100, write); got != 0 {
			t.Errorf("%s: %v allocations in 100 packets", name, got)
		}
	}
}
