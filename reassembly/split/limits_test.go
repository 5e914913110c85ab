package split_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"qsniff/dissect/finding"
	"qsniff/reassembly"
	"qsniff/reassembly/split"
	"qsniff/reassembly/wire"
)

func addrPort(a [4]byte, port uint16) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4(a), port)
}

// flood opens n sets with one part each, every one between other ends.
func flood(b *bench, n, payload int) {
	for i := range n {
		p := append(header(wire.Source, uint32(i), 2, 0, 1248), message(payload)...)
		b.frame++
		b.Add(&split.Datagram{
			Src: addrPort([4]byte{198, 18, byte(i >> 8), byte(i)}, 27015), Dst: client,
			Data: p, Wire: len(p), Frame: b.frame, Nanos: b.now,
		})
	}
}

const evictedText = "SPL-01 note: 1 of 2 parts missing, the first is number 1 (from 0); evicted early to stay within the memory limit"

func TestEviction(t *testing.T) {
	tests := []struct {
		name    string
		lim     split.Limits
		do      func(b *bench)
		evicted uint64
	}{
		{"sets", split.Limits{Sets: 20}, func(b *bench) { flood(b, 50, 100) }, 30},
		{"bytes", split.Limits{Bytes: 128 << 10}, func(b *bench) { flood(b, 200, 1248) }, 200 - 128<<10/(5*256)},
		{"parts", split.Limits{Parts: 255, Sets: 1000}, func(b *bench) { flood(b, 300, 100) }, 45},
		{"sets of one flow", split.Limits{FlowSets: 4}, func(b *bench) {
			for id := range uint32(9) {
				b.add(append(header(wire.Source, id, 2, 0, 1248), message(100)...))
			}
		}, 5},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(tt.lim)
			tt.do(b)
			if b.Counters.Evicted != tt.evicted || len(b.got) != int(tt.evicted) {
				t.Fatalf("evicted, delivered\n got %d, %d\nwant %d", b.Counters.Evicted, len(b.got), tt.evicted)
			}
			for i := range b.got {
				if b.got[i].Frames[0] != uint64(i+1) {
					t.Fatalf("eviction %d\n got the set of frame %d\nwant the oldest first", i, b.got[i].Frames[0])
				}
				if diff := cmp.Diff([]string{evictedText}, b.got[i].Findings); diff != "" {
					t.Fatalf("findings (-want +got)\n%s", diff)
				}
			}
		})
	}
}

// TestMemoryOfDeliveredGoesFirst fills the table with delivered sets: a waiting
// one must survive them.
func TestMemoryOfDeliveredGoesFirst(t *testing.T) {
	b := newBench(split.Limits{Sets: 10})
	p := cut(wire.Source, 1_000_000, three, 20)
	b.add(p[0])
	for i := range 50 {
		msg := append(header(wire.Source, 7, 1, 0, 1248), message(100)...)
		b.Add(&split.Datagram{Src: addrPort([4]byte{192, 0, 2, byte(i)}, 27015), Dst: client,
			Data: msg, Wire: len(msg), Frame: 1, Nanos: b.now})
	}
	b.add(p[1])
	b.add(p[2])
	if b.Counters.Evicted != 0 || b.Counters.MemosEvicted == 0 || b.Counters.Complete != 51 {
		t.Errorf("evicted, forgotten, complete\n got %d, %d, %d\nwant 0, some, 51",
			b.Counters.Evicted, b.Counters.MemosEvicted, b.Counters.Complete)
	}
}

// TestSetLimit sends more for one set than it may hold.
func TestSetLimit(t *testing.T) {
	b := newBench(split.Limits{})
	parts := cut(wire.Source, 7, message(255*1248), 1248)
	for _, p := range parts {
		b.add(p)
	}
	b.Tick(b.now + wait)
	if len(b.got) != 1 {
		t.Fatalf("sets\n got %d\nwant 1", len(b.got))
	}
	s := &b.got[0].Set
	verify(t, s, defaults)
	most := split.DefaultSetBytes / (5 * 256)
	if s.Outcome != split.Incomplete || s.Received != most || s.Run != most*1248 || b.Counters.OverSet != uint64(255-most) {
		t.Errorf("set\n got %v, %d parts, Run %d, refused %d\nwant incomplete, %d parts, Run %d, refused %d",
			s.Outcome, s.Received, s.Run, b.Counters.OverSet, most, most*1248, 255-most)
	}
	if text := b.got[0].Findings[0]; !strings.Contains(text, "memory limit") {
		t.Errorf("finding\n got %q\nwant the memory limit named", text)
	}
}

// TestPiecesLimit brings more IP fragments than can be noted.
func TestPiecesLimit(t *testing.T) {
	b := newBench(split.Limits{Pieces: 3})
	p := cut(wire.Source, 7, three, 20)
	pieces := []reassembly.Piece{{Frame: 1, Len: 16}, {Frame: 2, Off: 16, Len: 16}}
	for n := range p {
		b.frame = uint64(2*n + 2)
		b.Add(&split.Datagram{Src: server, Dst: client, Data: p[n], Wire: len(p[n]), Frame: b.frame, Nanos: b.now, Pieces: pieces})
	}
	if len(b.got) != 1 || b.Counters.PiecesDropped != 2 {
		t.Fatalf("sets, pieces lost\n got %d, %d\nwant 1, 2", len(b.got), b.Counters.PiecesDropped)
	}
	want := []reassembly.Piece{{Frame: 1, Len: 4, At: 12}, {Frame: 2, Off: 4, Len: 16}, {Frame: 4, Off: 20, Len: 20, At: 12}, {Frame: 6, Off: 40, Len: 10, At: 12}}
	if diff := cmp.Diff(want, b.got[0].Pieces); diff != "" {
		t.Errorf("Pieces (-want +got)\n%s", diff)
	}
}

// TestLimitsRaised asks for less than one datagram needs.
func TestLimitsRaised(t *testing.T) {
	b := newBench(split.Limits{Bytes: 1, SetBytes: 1, Sets: 1, FlowSets: 1, Parts: 1, Pieces: 1})
	msg := message(65_000)
	for _, p := range cut(wire.Source, 7, msg, 40_000) {
		b.add(p)
	}
	for _, p := range cut(wire.GoldSource, 7, three, 20) {
		b.add(p)
	}
	b.Flush(b.now)
	if b.Counters.Sets != 2 {
		t.Errorf("sets\n got %d\nwant 2", b.Counters.Sets)
	}
}

func TestFlushEmpties(t *testing.T) {
	b := newBench(split.Limits{})
	flood(b, 100, 500)
	for _, p := range cut(wire.Source, 1_000_000, three, 20) {
		b.add(p)
	}
	b.Flush(b.now)
	if b.Buffered() != 0 || b.Counters.Sets != 101 {
		t.Errorf("bytes kept, sets\n got %d, %d\nwant 0, 101", b.Buffered(), b.Counters.Sets)
	}
	b.got = nil
	for _, p := range cut(wire.Source, 1_000_000, three, 20) {
		b.add(p)
	}
	if len(b.got) != 1 || len(b.got[0].Findings) != 0 {
		t.Errorf("after Flush\n got %+v\nwant one set without findings", b.summaries())
	}
}

func TestCodes(t *testing.T) {
	for i, c := range split.Codes {
		if want := fmt.Sprintf("SPL-%02d", i+1); c.ID != want {
			t.Errorf("ID\n got %q\nwant %q", c.ID, want)
		}
		if c.Seen == "" || c.Means == "" || c.Owner == "" || c.Client == "" || c.Ref == "" || (c.Text == nil) == (c.Format == "") {
			t.Errorf("%s lacks a text", c.ID)
		}
	}
}

// TestTexts covers the findings that others raise.
func TestTexts(t *testing.T) {
	tests := []struct {
		in   finding.Expert
		want string
	}{
		{finding.Expert{Code: split.Oversize, A: 2500}, "datagram of 2500 bytes, longer than some paths carry whole"},
		{finding.Expert{Code: split.Oversize, A: 4684, B: 4}, "datagram of 4684 bytes, sent in 4 IP fragments"},
		{finding.Expert{Code: split.ToServer, A: 1, B: 2}, "part 1 of a split message (2 parts in all) sent to a server"},
	}
	for _, tt := range tests {
		if got := string(tt.in.AppendText(nil)); got != tt.want {
			t.Errorf("%s\n got %q\nwant %q", tt.in.Code.ID, got, tt.want)
		}
	}
}
