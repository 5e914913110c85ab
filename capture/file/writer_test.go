package file

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/pcapgo"

	"qsniff/capture"
	"qsniff/internal/test/race"
)

// randomPackets makes n packets of one interface with times that step back and
// forth and are no whole microseconds.
func randomPackets(rng *rand.Rand, n, maxLen int, link uint16) []capture.Packet {
	all := make([]capture.Packet, n)
	nanos := int64(1_700_000_000_123_456_789)
	for i := range all {
		nanos += rng.Int64N(2e9) - 5e8
		data := make([]byte, rng.IntN(maxLen+1))
		for j := range data {
			data[j] = byte(rng.Uint32())
		}
		all[i] = capture.Packet{No: uint64(i + 1), Nanos: nanos, Data: data,
			Wire: uint32(len(data)) + uint32(rng.IntN(2)*rng.IntN(1000)), Link: link}
	}
	return all
}

// written is a file with these packets.
func written(t *testing.T, o WriteOptions, packets []capture.Packet) []byte {
	t.Helper()
	var b bytes.Buffer
	w := NewWriter(&b, "test", o)
	for i := range packets {
		if err := w.Write(&packets[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if s := w.Stats(); s != (WriteStats{Packets: uint64(len(packets)), Bytes: int64(b.Len())}) {
		t.Errorf("got %+v for %d packets in %d bytes", s, len(packets), b.Len())
	}
	return b.Bytes()
}

// readBack reads a whole capture and copies its packets.
func readBack(t *testing.T, b []byte) (packets []capture.Packet, r *Reader) {
	t.Helper()
	r, err := NewReader(bytes.NewReader(b), "test")
	if err != nil {
		t.Fatal(err)
	}
	var batch capture.Batch
	for {
		err := r.Read(&batch)
		for _, p := range batch.Packets {
			p.Data = bytes.Clone(p.Data)
			packets = append(packets, p)
		}
		if err == io.EOF {
			return packets, r
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func comparePackets(t *testing.T, want, got []capture.Packet) {
	t.Helper()
	bytesEqual := cmp.Comparer(func(a, b []byte) bool { return bytes.Equal(a, b) })
	if diff := cmp.Diff(want, got, bytesEqual); diff != "" {
		t.Errorf("(-want +got):\n%.2000s", diff)
	}
}

var formats = map[string]Format{"pcapng": Pcapng, "pcap": Pcap}

func TestWriterRoundTrip(t *testing.T) {
	const sll2 = 276 // needs more than 8 bits
	for name, format := range formats {
		for _, link := range []uint16{1, 101, 113, sll2} {
			for _, size := range []struct{ n, len int }{{3000, 200}, {20, capture.MaxCaptured}, {1, 0}} {
				want := randomPackets(rand.New(rand.NewPCG(uint64(link), 7)), size.n, size.len, link)
				b := written(t, WriteOptions{Format: format}, want)
				got, r := readBack(t, b)
				comparePackets(t, want, got)
				if r.LinkType() != link {
					t.Errorf("%s: link type %d, want %d", name, r.LinkType(), link)
				}
			}
		}
	}
}

// TestWriterAgainstGopacket reads with pcapgo what it can read: link types below
// 256.
func TestWriterAgainstGopacket(t *testing.T) {
	want := randomPackets(rand.New(rand.NewPCG(3, 3)), 2000, 300, 113)
	for name, format := range formats {
		b := written(t, WriteOptions{Format: format, Application: "qsniff"}, want)
		var r interface {
			gopacket.PacketDataSource
			LinkType() layers.LinkType
		}
		var err error
		if format == Pcap {
			r, err = pcapgo.NewReader(bytes.NewReader(b))
		} else {
			r, err = pcapgo.NewNgReader(bytes.NewReader(b), pcapgo.DefaultNgReaderOptions)
		}
		if err != nil {
			t.Fatal(name, err)
		}
		if r.LinkType() != 113 {
			t.Errorf("%s: link type %d", name, r.LinkType())
		}
		for i := range want {
			data, ci, err := r.ReadPacketData()
			if err != nil {
				t.Fatal(name, i, err)
			}
			if !bytes.Equal(data, want[i].Data) || ci.Timestamp.UnixNano() != want[i].Nanos || ci.Length != int(want[i].Wire) {
				t.Fatalf("%s: packet %d: %v of %d", name, i, ci, len(data))
			}
		}
		if _, _, err := r.ReadPacketData(); err != io.EOF {
			t.Errorf("%s: at the end: %v", name, err)
		}
	}
}

// TestWriterAgainstTcpdump has tcpdump read both formats and copy them to
// classic pcap.
func TestWriterAgainstTcpdump(t *testing.T) {
	if _, err := exec.LookPath("tcpdump"); err != nil {
		t.Skip("tcpdump is not installed")
	}
	for name, format := range formats {
		for _, link := range []uint16{1, 276} {
			want := randomPackets(rand.New(rand.NewPCG(4, 4)), 500, 300, link)
			path := filepath.Join(t.TempDir(), "a."+name)
			if err := os.WriteFile(path, written(t, WriteOptions{Format: format}, want), 0o644); err != nil {
				t.Fatal(err)
			}
			out, err := exec.Command("tcpdump", "--nano", "-r", path, "-w", "-").Output()
			if err != nil {
				t.Fatal(name, link, err)
			}
			got, r := readBack(t, out)
			comparePackets(t, want, got)
			if r.LinkType() != link {
				t.Errorf("%s: link type %d, want %d", name, r.LinkType(), link)
			}
		}
	}
}

// TestEmptyCapture: a capture without packets is one for us and for tcpdump.
func TestEmptyCapture(t *testing.T) {
	for name, format := range formats {
		b := written(t, WriteOptions{Format: format}, nil)
		if got, _ := readBack(t, b); len(got) != 0 {
			t.Errorf("%s: %d packets", name, len(got))
		}
		if _, err := exec.LookPath("tcpdump"); err != nil {
			continue
		}
		c := exec.Command("tcpdump", "-r", "-")
		c.Stdin = bytes.NewReader(b)
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", name, err, out)
		}
	}
}

// described is a capture.Describer.
type described []capture.Interface

func (d described) Interfaces() []capture.Interface { return d }

func TestWriterInterfaces(t *testing.T) {
	about := described{
		{File: 0, Index: 0, Name: "eth0", Description: "to the world", Filter: "udp", Link: 1, Dropped: 5},
		{File: 0, Index: 1, Name: "tun7", Link: 101},
		{File: 1, Index: 0, Name: "any", Link: 276, Dropped: 7},
	}
	var packets []capture.Packet
	for i, where := range []int{2, 0, 2, 1, 0} {
		packets = append(packets, capture.Packet{No: uint64(i + 1), Nanos: int64(i) * 1e9, Data: []byte("data"), Wire: 4,
			Link: about[where].Link, File: about[where].File, Iface: about[where].Index})
	}
	unknown := capture.Packet{No: 6, Nanos: 6e9, Data: []byte("x"), Wire: 1, Link: 1, File: 9, Iface: 9}
	b := written(t, WriteOptions{Interfaces: about, Application: "qsniff test"}, append(packets, unknown))
	got, r := readBack(t, b)
	var ifaces []uint16
	for _, p := range got {
		ifaces = append(ifaces, p.Iface)
	}
	if diff := cmp.Diff([]uint16{0, 1, 0, 2, 1, 3}, ifaces); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	want := []capture.Interface{
		{Index: 0, Name: "any", Link: 276, SnapLen: capture.MaxCaptured, Dropped: 7},
		{Index: 1, Name: "eth0", Description: "to the world", Filter: "udp", Link: 1, SnapLen: capture.MaxCaptured, Dropped: 5},
		{Index: 2, Name: "tun7", Link: 101, SnapLen: capture.MaxCaptured},
		{Index: 3, Link: 1, SnapLen: capture.MaxCaptured},
	}
	if diff := cmp.Diff(want, r.Interfaces()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if s := r.Sections(); len(s) != 1 || s[0].Application != "qsniff test" {
		t.Errorf("sections %+v", s)
	}
	if s := r.Stats(); s.Dropped != 12 {
		t.Errorf("%d dropped, want 12", s.Dropped)
	}
}

// TestManyInterfaces: more than readers believe of one section begin another.
func TestManyInterfaces(t *testing.T) {
	n := 2*maxSectionInterfaces + 10
	packets := make([]capture.Packet, n)
	for i := range packets {
		packets[i] = capture.Packet{No: uint64(i + 1), Nanos: int64(i), Data: []byte{byte(i)}, Wire: 1, Link: 1, Iface: uint16(i)}
	}
	got, r := readBack(t, written(t, WriteOptions{}, packets))
	if len(got) != n || len(r.Sections()) != 3 {
		t.Fatalf("%d packets of %d, %d sections", len(got), n, len(r.Sections()))
	}
	for i, p := range got {
		if p.Nanos != int64(i) || p.Data[0] != byte(i) {
			t.Fatalf("packet %d: %+v", i, p)
		}
	}
}

func TestWriterComments(t *testing.T) {
	var b bytes.Buffer
	w := NewWriter(&b, "test", WriteOptions{})
	p := capture.Packet{Nanos: 1, Data: []byte("abc"), Wire: 3, Link: 1}
	if err := w.WriteCommented(&p, [][]byte{[]byte("first"), []byte("second one")}); err != nil {
		t.Fatal(err)
	}
	if err := w.WriteCommented(&p, [][]byte{bytes.Repeat([]byte("x"), 70_000)}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r := mustReader(t, b.Bytes())
	var batch capture.Batch
	var got []string
	for r.Read(&batch) == nil {
		for _, c := range batch.Comments {
			got = append(got, string(c.Text))
		}
	}
	if len(got) != 3 || got[0] != "first" || got[1] != "second one" || len(got[2]) != maxComment {
		t.Errorf("got %.60q", got)
	}
}

// TestMask: the mask sees each packet once and changes a copy.
func TestMask(t *testing.T) {
	for name, format := range formats {
		p := capture.Packet{Nanos: 1, Data: []byte("password"), Wire: 8, Link: 1}
		calls := 0
		mask := func(q *capture.Packet, b []byte) {
			calls++
			if &q.Data[0] != &p.Data[0] || &b[0] == &p.Data[0] || len(b) != 8 || cap(b) != 8 {
				t.Errorf("%s: called with %v, %d of %d bytes", name, q, len(b), cap(b))
			}
			copy(b[4:], "****")
		}
		got, _ := readBack(t, written(t, WriteOptions{Format: format, Mask: mask}, []capture.Packet{p}))
		if string(got[0].Data) != "pass****" || string(p.Data) != "password" || calls != 1 {
			t.Errorf("%s: wrote %q, left %q, %d calls", name, got[0].Data, p.Data, calls)
		}
	}
}

func TestRefused(t *testing.T) {
	ok := capture.Packet{Nanos: 1, Data: []byte("a"), Wire: 1, Link: 1}
	long := capture.Packet{Nanos: 1, Data: make([]byte, capture.MaxCaptured+1), Link: 1}
	old := capture.Packet{Nanos: -1, Link: 1}
	late := capture.Packet{Nanos: 1 << 62, Data: []byte("a"), Wire: 1, Link: 1}
	other := capture.Packet{Nanos: 1, Data: []byte("a"), Wire: 1, Link: 276}
	for _, tc := range []struct {
		name   string
		format Format
		packet capture.Packet
		want   string
	}{
		{"long", Pcapng, long, "test: 262,145 bytes in one packet, above the limit of 262,144"},
		{"old", Pcapng, old, "test: a packet from before 1970"},
		{"late ng", Pcapng, late, ""},
		{"late", Pcap, late, "test: a packet from after 2106, beyond classic pcap"},
		{"other ng", Pcapng, other, ""},
		{"other", Pcap, other, "test: a packet of link type 276 among those of 1: classic pcap holds one link type"},
	} {
		var b bytes.Buffer
		w := NewWriter(&b, "test", WriteOptions{Format: tc.format})
		got := ""
		for _, p := range []*capture.Packet{&ok, &tc.packet, &ok} {
			if err := w.Write(p); err != nil {
				got += err.Error()
				if !errors.Is(err, ErrRefused) {
					t.Errorf("%s: %v is not ErrRefused", tc.name, err)
				}
			}
		}
		if got != tc.want {
			t.Errorf("%s:\n got %q\nwant %q", tc.name, got, tc.want)
		}
		if err := w.Close(); err != nil {
			t.Error(tc.name, err)
		}
		packets, _ := readBack(t, b.Bytes())
		s := w.Stats()
		if int(s.Packets) != len(packets) || s.Packets+s.Refused != 3 || s.Lost != 0 {
			t.Errorf("%s: %+v, %d read", tc.name, s, len(packets))
		}
	}
}

func TestFormatOf(t *testing.T) {
	for name, want := range map[string]Format{"a.pcap": Pcap, "A.CAP": Pcap, "x/y.dmp": Pcap, "a.pcapng": Pcapng, "a": Pcapng, "a.trace": Pcapng} {
		if got, err := FormatOf(name); got != want || err != nil {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	if _, err := FormatOf("a.pcap.gz"); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("compressed: %v", err)
	}
}

func TestCreate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.pcap")
	w, err := Create(path, WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 || info.Size() != fileHeaderLen {
		t.Errorf("%v, %v", info, err)
	}
	_, err = Create(filepath.Join(t.TempDir(), "no", "a.pcap"), WriteOptions{})
	var e *Error
	if !errors.As(err, &e) || e.Reason != "no such folder" || !strings.HasPrefix(e.Hint, "make it before: mkdir -p ") {
		t.Errorf("got %+v", err)
	}
}

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
