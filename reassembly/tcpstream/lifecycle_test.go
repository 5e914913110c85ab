package tcpstream_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"qsniff/reassembly/tcpstream"
)

// TestOpener: whichever segments come first, who opened is found out, unless the
// sink would have to learn that directions have other numbers now.
func TestOpener(t *testing.T) {
	tests := []struct {
		name   string
		do     func(b *bench)
		opened bool
		first  string // who is Ends[0] at the end
		conns  uint64
	}{
		{"SYN", func(b *bench) { b.c(syn, 100, 0, "") }, true, "client", 1},
		{"SYN-ACK", func(b *bench) { b.s(syn|ack, 500, 101, "") }, true, "client", 1},
		{"SYN-ACK, then SYN", func(b *bench) { b.s(syn|ack, 500, 101, ""); b.c(syn, 100, 0, "") }, true, "client", 1},
		{"bytes of the client", func(b *bench) {}, false, "client", 1},
		{"bytes, then the SYN", func(b *bench) { b.c(ack, 101, 501, "ab"); b.c(syn, 100, 0, "") }, true, "client", 1},
		{"later bytes, then the SYN", func(b *bench) { b.c(ack, 1101, 501, "ab"); b.c(syn, 100, 0, "") }, true, "client", 1},
		{"bytes, then the SYN-ACK", func(b *bench) { b.c(ack, 101, 501, "ab"); b.s(syn|ack, 500, 101, "") }, true, "client", 1},
		{"bytes of the server, then the SYN", func(b *bench) { b.s(ack, 501, 101, "xy"); b.c(syn, 100, 0, "") }, false, "server", 1},
		{"bytes of the server, then its SYN-ACK", func(b *bench) { b.s(ack, 501, 101, "xy"); b.s(syn|ack, 500, 101, "") }, false, "server", 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(tcpstream.Limits{})
			var opened bool
			var first string
			b.data = func(c *tcpstream.Conn, _ int, ch *tcpstream.Chunk) (int, int) {
				opened, first = c.OpenerKnown, who(c, 0)
				return len(ch.Data), 0
			}
			tt.do(b)
			b.c(ack, 1103, 501, "last")
			b.later(holes)
			if opened != tt.opened || first != tt.first || b.Counters.Conns != tt.conns {
				t.Errorf("opened, first end, connections\n got %v, %s, %d\nwant %v, %s, %d", opened, first, b.Counters.Conns, tt.opened, tt.first, tt.conns)
			}
		})
	}
}

// holes is longer than any hole waits.
const holes = 4 * time.Second

// TestIgnore: from any call of the sink on, an ignored connection is silent until
// it is closed, and keeps nothing.
func TestIgnore(t *testing.T) {
	busy := func(b *bench) { // something waits in both directions, after a hole in one
		b.data = func(*tcpstream.Conn, int, *tcpstream.Chunk) (int, int) { return 0, 100 }
		b.open()
		b.c(ack, 101, 501, "ab")
		b.c(ack, 105, 501, "ef")
		b.s(ack, 501, 101, "xy")
		b.log = nil
	}
	tests := []struct {
		name string
		do   func(b *bench)
		want []string
	}{
		{"in Data", func(b *bench) {
			b.open()
			b.data = func(c *tcpstream.Conn, _ int, _ *tcpstream.Chunk) (int, int) { b.Ignore(c); return 0, 0 }
			b.c(ack, 103, 501, "cd")
			b.c(ack, 101, 501, "ab")
			b.c(ack, 105, 501, "ef")
		}, []string{`client "ab" 5:0+2`, "close"}},
		{"in Break", func(b *bench) {
			busy(b)
			b.onBreak = func(c *tcpstream.Conn) { b.Ignore(c); b.Ignore(c) }
			b.c(rst, 101, 0, "")
		}, []string{`client lost 2 after "ab" 4:0+2`, "close"}},
		{"in Break, when a hole is given up", func(b *bench) {
			busy(b)
			b.onBreak = func(c *tcpstream.Conn) { b.Ignore(c) }
			b.later(holes)
		}, []string{`client lost 2 after "ab" 4:0+2`, "close"}},
		{"in Conflict", func(b *bench) {
			busy(b)
			b.onConflict = func(c *tcpstream.Conn) { b.Ignore(c) }
			b.c(ack, 105, 501, "XX")
			b.c(ack, 103, 501, "cd")
		}, []string{"client conflict of 2 in 7, 105 to 107", "close"}},
		{"and the end", func(b *bench) {
			var conn *tcpstream.Conn
			b.data = func(c *tcpstream.Conn, _ int, _ *tcpstream.Chunk) (int, int) { conn = c; return 0, 0 }
			b.c(ack, 101, 501, "ab")
			b.Ignore(conn)
			b.c(ack|fin, 103, 501, "cd")
			b.s(rst, 501, 0, "")
		}, []string{`client "ab" 1:0+2`, "close"}},
		{"a new connection with the same ends is not", func(b *bench) {
			b.open()
			b.data = func(c *tcpstream.Conn, _ int, _ *tcpstream.Chunk) (int, int) { b.Ignore(c); return 0, 0 }
			b.c(ack, 101, 501, "ab")
			b.c(syn, 100, 0, "") // the same
			b.c(syn, 900, 0, "")
			b.data = nil
			b.c(ack, 901, 1, "cd")
		}, []string{`client "ab" 4:0+2`, "close", `client "cd" 7:0+2`, "client ended", "server ended", "close"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(tcpstream.Limits{})
			tt.do(b)
			b.check(t)
			if b.Used() != 0 || b.Counters.Ignored != 1 {
				t.Errorf("bytes kept, connections ignored\n got %d, %d\nwant 0, 1", b.Used(), b.Counters.Ignored)
			}
			b.Flush(b.now)
			b.empty(t)
			if diff := cmp.Diff(tt.want, b.log); diff != "" {
				t.Errorf("calls (-want +got)\n%s", diff)
			}
		})
	}
}

// TestFullDirection: bytes in order that the sink leaves find no room beside what is
// after a hole.
func TestFullDirection(t *testing.T) {
	b := newBench(tcpstream.Limits{DirBytes: 2048})
	b.data = func(_ *tcpstream.Conn, _ int, ch *tcpstream.Chunk) (int, int) { return 0, 0 }
	b.open()
	k := strings.Repeat("k", 1500)
	l := strings.Repeat("l", 600)
	b.c(ack, 1001, 501, k)
	b.c(ack, 101, 501, l)
	want := []string{fmt.Sprintf("client %q 5:0+600", l), fmt.Sprintf("client given up after %q 5:0+600", l)}
	if diff := cmp.Diff(want, b.log); diff != "" {
		t.Errorf("calls (-want +got)\n%s", diff)
	}
	b.check(t)
}

// TestOneConnectionHasAll: with all memory in one connection, its own bytes go.
// Segments of all lengths come from anywhere, most of them not next in order.
func TestOneConnectionHasAll(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 9))
		b := newBench(tcpstream.Limits{Bytes: 1, DirBytes: 128 << 10})
		b.quiet = true
		b.data = func(_ *tcpstream.Conn, _ int, ch *tcpstream.Chunk) (int, int) {
			return r.IntN(2) * r.IntN(len(ch.Data)), r.IntN(2) * 200_000
		}
		b.open()
		k := strings.Repeat("k", 40_000)
		var at [2]uint32
		for range 2000 {
			dir := r.IntN(2)
			n := 1 + r.IntN(1+r.IntN(1+r.IntN(len(k))))
			off := at[dir]
			if r.IntN(3) > 0 {
				off += uint32(r.IntN(100_000))
			} else {
				at[dir] += uint32(n)
			}
			if dir == 0 {
				b.send(client, server, ack, 101+off, 0, k[:n], n+r.IntN(2)*r.IntN(200))
			} else {
				b.send(server, client, ack, 501+off, 0, k[:n], n)
			}
			b.check(t)
		}
		if b.Counters.GivenUp == 0 || b.Counters.OutOfOrder == 0 || b.Counters.Conflicts != 0 {
			t.Errorf("seed %d: counters\n got %+v\nwant bytes given up, segments out of order and no conflicts", seed, b.Counters)
		}
		b.Flush(b.now)
		b.empty(t)
	}
}

func TestCounters(t *testing.T) {
	b := newBench(tcpstream.Limits{})
	b.c(ack, 1, 1, "")             // stray
	b.c(syn|rst, 1, 1, "")         // odd
	b.open()                       // three
	b.c(ack, 101, 501, "ab")       // two bytes
	b.c(ack, 101, 501, "ab")       // again
	b.c(ack, 105, 501, "ef")       // out of order
	b.c(ack, 105, 501, "eX")       // conflict, again
	b.c(ack, 1<<30+200, 501, "no") // outside
	b.c(syn, 7000, 0, "")          // rival
	b.later(holes)                 // a gap of two, and two bytes
	b.cut(107, "g", 4)             // a byte, and three cut
	b.now -= 10 * second
	b.c(ack, 111, 501, "k") // a byte, backwards
	b.now += 10 * second
	b.c(rst, 112, 0, "")
	b.c(syn, 9000, 0, "") // reused
	b.later(time.Minute)  // expired
	want := tcpstream.Counters{
		Segments: 15, Stray: 1, BadFlags: 1, Conns: 2, Bytes: 6, Retransmitted: 2, OutOfOrder: 1, Outside: 1,
		Conflicts: 1, Gaps: 1, GapBytes: 2, Cut: 1, CutBytes: 3, RivalSYNs: 1, Reused: 1, Expired: 1, BackwardsTime: 1,
	}
	if diff := cmp.Diff(want, b.Counters); diff != "" {
		t.Errorf("counters (-want +got)\n%s", diff)
	}
}
