package file

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"qsniff/capture"
	"qsniff/internal/test/race"
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
		step := 1
		if testing.Short() {
			step = 5 // of no field of the formats
		}
		for room := 0; room < len(all); room += step {
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
		p.Nanos = nanos
		if err := w.Write(&p); err != nil {
			t.Fatal(err)
		}
		return w.Stats().Held == 0
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

// TestHeaderAtOnce: a capture that is killed before its first flush leaves a file
// without packets, not one that is cut.
func TestHeaderAtOnce(t *testing.T) {
	eth, eth1 := capture.Interface{Name: "eth0", Link: 1}, capture.Interface{Index: 1, Name: "eth1", Link: 1}
	tun, tun8 := capture.Interface{Index: 2, Name: "tun7", Link: 101}, capture.Interface{Index: 3, Name: "tun8", Link: 101}
	for _, tc := range []struct {
		name         string
		about        described
		before, with int // interfaces in the file before the first packet, of the last one, and then; -1: no header
	}{
		{"a.pcapng", described{eth, eth1}, 2, 2},
		{"b.pcapng", described{tun}, 1, 1},
		{"c.pcapng", described{tun, tun8}, -1, 1},
		{"d.pcapng", described{eth, tun}, -1, 1},
		{"e.pcapng", nil, -1, 1},
		{"f.pcap", described{tun, tun8}, 1, 1},
		{"g.pcap", described{eth, tun}, -1, 1},
		{"h.pcap", nil, -1, 1},
	} {
		path := filepath.Join(t.TempDir(), tc.name)
		w, err := Create(path, WriteOptions{Interfaces: tc.about, Application: "qsniff"})
		if err != nil {
			t.Fatal(err)
		}
		check := func(when string, want int) {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if want < 0 {
				if len(b) > 0 {
					t.Errorf("%s: %d bytes %s, want none", tc.name, len(b), when)
				}
				return
			}
			packets, r := readBack(t, b)
			if len(packets) != 0 || len(r.Interfaces()) != want {
				t.Errorf("%s: %d packets, %d interfaces %s, want 0, %d", tc.name, len(packets), len(r.Interfaces()), when, want)
			}
			if _, err := exec.LookPath("tcpdump"); err != nil {
				return
			}
			if out, err := exec.Command("tcpdump", "-r", path).CombinedOutput(); err != nil {
				t.Errorf("%s: tcpdump: %v: %s", tc.name, err, out)
			}
		}
		check("before", tc.before)
		p := capture.Packet{Nanos: 1e9, Data: []byte("data"), Wire: 4, Link: 276}
		if n := len(tc.about); n > 0 {
			p.Link, p.Iface = tc.about[n-1].Link, tc.about[n-1].Index
		}
		if err := w.Write(&p); err != nil {
			t.Fatal(err)
		}
		if tc.before < 0 {
			check("with a packet", tc.with)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if packets, r := readBack(t, b); len(packets) != 1 || r.LinkType() != p.Link || len(r.Interfaces()) != tc.with {
			t.Errorf("%s: %d packets, %d interfaces at the end, want 1, %d", tc.name, len(packets), len(r.Interfaces()), tc.with)
		}
	}
}

// TestNoRoomForHeader: it does not keep a capture from starting, and is told with
// the first packet.
func TestNoRoomForHeader(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("there is no /dev/full")
	}
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	w := NewWriter(full, "/dev/full", WriteOptions{Interfaces: described{{Name: "eth0", Link: 1}}})
	w.closer = full
	w.writeEarlyHeader()
	p := capture.Packet{Nanos: 1e9, Data: []byte("data"), Wire: 4, Link: 1}
	for range 3 {
		if err := w.Write(&p); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("got %v", err)
		}
	}
	if err := w.Close(); !errors.Is(err, syscall.ENOSPC) || w.Stats() != (WriteStats{Lost: 3}) {
		t.Errorf("at the end: %v, %+v", err, w.Stats())
	}
}

// TestSizeWithKnown is TestSizeWith for a file that describes interfaces before they
// have packets.
func TestSizeWithKnown(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.pcapng")
	w, err := Create(path, WriteOptions{Interfaces: described{{Name: "eth0", Link: 1, Dropped: 1}, {Index: 1, Name: "tun7", Link: 1, Dropped: 3}}})
	if err != nil {
		t.Fatal(err)
	}
	p := capture.Packet{Nanos: 1e9, Data: []byte("data"), Wire: 4, Link: 1}
	want := w.SizeWith(&p)
	if err := errors.Join(w.Write(&p), w.Close()); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Size() != want || w.Stats().Bytes != want {
		t.Errorf("got %+v, %v, want %d bytes", w.Stats(), err, want)
	}
}
