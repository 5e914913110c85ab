package recent

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"qsniff/capture"
	"qsniff/capture/file"
)

// tapped returns what a store keeps of a server after a capture was read so many times.
func tapped(t *testing.T, name string, times int, s *Store, server netip.AddrPort) Packets {
	t.Helper()
	for range times {
		r, err := file.Open("../../pcapfiles/" + name)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		tap := &Tap{r, s}
		for b := new(capture.Batch); err == nil; {
			err = tap.Read(b)
		}
		if len(tap.Interfaces()) != 1 {
			t.Errorf("%s: no interface", name)
		}
	}
	return s.Packets(server)
}

// TestStore: what is kept of a server is all of it, in order, fragments too, and nothing of others.
func TestStore(t *testing.T) {
	for _, tc := range []struct {
		name, server string
		want         []uint64
	}{
		{"a2s/full-poll.pcap", "198.18.0.36:27015", []uint64{1, 2, 3, 4, 5, 6, 7, 8}},
		{"a2s/full-poll.pcap", "198.18.0.36:27016", nil},
		{"net/fragmented-ipv6-shuffled.pcap", "[2001:db8::78:2]:27015", []uint64{1, 2, 3, 4, 5, 6}},
	} {
		s, server := NewStore(), netip.MustParseAddrPort(tc.server)
		s.Watch([]netip.AddrPort{server}, netip.AddrPort{})
		var got []uint64
		for _, p := range tapped(t, tc.name, 1, s, server) {
			got = append(got, p.No)
		}
		if !slices.Equal(got, tc.want) || s.Added(server) != uint64(len(tc.want)) {
			t.Errorf("%s, %s: packets %v, %d added, want %v", tc.name, tc.server, got, s.Added(server), tc.want)
		}
	}
}

// TestNew: a server that is new in the list gets the packets that came just before.
func TestNew(t *testing.T) {
	s, server := NewStore(), netip.MustParseAddrPort("198.18.0.36:27015")
	tapped(t, "a2s/full-poll.pcap", 1, s, server)
	s.Watch([]netip.AddrPort{server}, netip.AddrPort{})
	if n := len(s.Packets(server)); n != 8 {
		t.Errorf("%d packets, want 8", n)
	}
	s.Watch([]netip.AddrPort{server}, server)
	if n := len(s.Packets(server)); n != 8 {
		t.Errorf("%d packets of a server that was opened, want 8", n)
	}
}

// TestRoom: the oldest packets make room for the newest, a server that is open has more room, and
// what is taken does not grow.
func TestRoom(t *testing.T) {
	const name, packets = "a2s/full-poll.pcap", 8
	s, server := NewStore(), netip.MustParseAddrPort("198.18.0.36:27015")
	list := []netip.AddrPort{server}
	s.Watch(list, netip.AddrPort{})
	size := func(all Packets) (n int) {
		for i := range all {
			n += len(all[i].Data)
		}
		return n
	}
	got := tapped(t, name, 200, s, server)
	if n := size(got); n < slabBytes || n > 2*slabBytes || got[len(got)-1].No != packets || s.Added(server) != 200*packets {
		t.Errorf("%d bytes, the last packet is %d, %d added", n, got[len(got)-1].No, s.Added(server))
	}
	s.Watch(list, server)
	if n := size(tapped(t, name, 200, s, server)); n < 2*slabBytes || n > 2*openBytes {
		t.Errorf("%d bytes of a server that is open", n)
	}
	s.Watch(list, netip.AddrPort{})
	if n := size(tapped(t, name, 800, s, server)); n > 2*slabBytes {
		t.Errorf("%d bytes of a server that was open", n)
	}
	s.Watch(nil, netip.AddrPort{})
	if s.Packets(server) != nil {
		t.Error("packets of a server that is not in the list")
	}
}

// TestAdd: a batch allocates nothing.
func TestAdd(t *testing.T) {
	s, server := NewStore(), netip.MustParseAddrPort("198.18.0.36:27015")
	s.Watch([]netip.AddrPort{server}, netip.AddrPort{})
	b := new(capture.Batch)
	if err := tapped(t, "a2s/full-poll.pcap", 100, s, server).Source().Read(b); err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() { s.Add(b) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestBusy: of a flood there is a share, with gaps where the rest is missing.
func TestBusy(t *testing.T) {
	s, server := NewStore(), netip.MustParseAddrPort("198.18.0.36:27015")
	s.Watch([]netip.AddrPort{server}, netip.AddrPort{})
	b := new(capture.Batch)
	if err := tapped(t, "a2s/full-poll.pcap", 100, s, server).Source().Read(b); err != nil {
		t.Fatal(err)
	}
	for len(b.Packets) < capture.MaxPackets {
		b.Packets = append(b.Packets, b.Packets[0])
	}
	for _, tc := range []struct {
		every   time.Duration
		added   int
		hasGaps bool
	}{{time.Millisecond, 10 * busyShare * capture.MaxPackets, false}, {time.Microsecond, 10 * capture.MaxPackets, true}} {
		for i := range b.Packets {
			b.Packets[i].Nanos = int64(i) * int64(tc.every)
		}
		before := s.Added(server)
		for range 10 * busyShare {
			s.Add(b)
		}
		var got capture.Batch
		if err := s.Packets(server).Source().Read(&got); err != nil {
			t.Fatal(err)
		}
		if n := int(s.Added(server) - before); n != tc.added || len(got.Gaps) > 0 != tc.hasGaps {
			t.Errorf("a packet every %v: %d of them, %d gaps, want %d, %v", tc.every, n, len(got.Gaps), tc.added, tc.hasGaps)
		}
	}
}

// BenchmarkAdd measures what a packet costs.
func BenchmarkAdd(b *testing.B) {
	r, err := file.Open("../../pcapfiles/floods/spoofed.pcap")
	if err != nil {
		b.Fatal(err)
	}
	batch := new(capture.Batch)
	if err := r.Read(batch); err != nil {
		b.Fatal(err)
	}
	s := NewStore()
	s.Watch([]netip.AddrPort{netip.MustParseAddrPort("198.18.7.1:27015")}, netip.AddrPort{})
	for b.Loop() {
		s.Add(batch)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(batch.Packets)), "ns/packet")
}
