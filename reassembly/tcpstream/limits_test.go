package tcpstream_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"qsniff/capture/packet"
	"qsniff/internal/test/race"
	"qsniff/reassembly/tcpstream"
)

// flood is the n-th of many clients.
func flood(n int) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(n >> 16), byte(n >> 8), byte(n)}), uint16(1024+n%50000))
}

// synFrom sends the SYN of the n-th client.
func (b *bench) synFrom(n int) {
	b.now += milli / 1000
	b.Add(&tcpstream.Segment{Src: flood(n), Dst: server, TCP: packet.TCPHeader{Seq: uint32(n) * 77, Flags: syn}, Nanos: b.now})
}

func TestSYNFlood(t *testing.T) {
	const n = 1_000_000
	b := &bench{Assembler: tcpstream.New(tcpstream.Limits{}, &eater{}), now: 1000 * second}
	for i := range n {
		b.synFrom(i)
	}
	b.check(t)
	want := tcpstream.Counters{Segments: n, Conns: n, Evicted: n - tcpstream.DefaultConns}
	if b.Counters != want || b.Live() != tcpstream.DefaultConns || b.Used() != 0 {
		t.Errorf("counters, connections, bytes\n got %+v, %d, %d\nwant %+v, %d, 0", b.Counters, b.Live(), b.Used(), want, tcpstream.DefaultConns)
	}
	if race.Enabled {
		return // the race detector allocates
	}
	i := n
	if got := testing.AllocsPerRun(10_000, func() { b.synFrom(i); i++ }); got != 0 {
		t.Errorf("allocations a SYN\n got %v\nwant 0", got)
	}
}

// TestFillsInFewAllocations: memory for connections is doubled at first, then grows by 64.
func TestFillsInFewAllocations(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	allocations := func(conns int) float64 {
		return testing.AllocsPerRun(3, func() {
			b := &bench{Assembler: tcpstream.New(tcpstream.Limits{}, &eater{}), now: 1000 * second}
			for i := range conns {
				b.synFrom(i)
			}
		})
	}
	if got := allocations(tcpstream.DefaultConns) - allocations(1); got > 17 {
		t.Errorf("allocations for all connections but the first\n got %v\nwant 17 at most", got)
	}
}

// TestFloodSparesConversations: half a message waits for its end while a million
// SYNs go by, some of them refused.
func TestFloodSparesConversations(t *testing.T) {
	b := newBench(tcpstream.Limits{})
	b.open()
	b.data = func(_ *tcpstream.Conn, _ int, ch *tcpstream.Chunk) (int, int) {
		return len(ch.Data) / 4 * 4, 4 // messages of four bytes
	}
	b.c(ack, 101, 501, "one.tw")
	b.quiet = true
	for i := range 1_000_000 {
		b.synFrom(i)
		if i%10 == 0 {
			b.send(server, flood(i), rst|ack, 0, uint32(i)*77+1, "", 0)
		}
	}
	b.quiet = false
	b.c(ack, 107, 501, "o.")
	want := []string{`client "one.tw" 4:0+6`, fmt.Sprintf(`client "two." 4:0+2 %d:2+2`, b.frame)}
	if diff := cmp.Diff(want, b.log); diff != "" {
		t.Errorf("calls (-want +got)\n%s", diff)
	}
}

// TestVictims fills the table with one connection of each kind, and looks which
// go first.
func TestVictims(t *testing.T) {
	b := newBench(tcpstream.Limits{Conns: 8})
	var gone []string
	kinds := map[netip.AddrPort]string{}
	open := func(n int, kind string) netip.AddrPort {
		kinds[flood(n)] = kind
		b.send(flood(n), server, syn, 100, 0, "", 0)
		b.send(flood(n), server, ack, 101, 1, "", 0)
		return flood(n)
	}
	data := func(from netip.AddrPort, seq uint32) { b.send(from, server, ack, seq, 1, "ab", 2) }
	for i, kind := range []string{"old", "live", "ignored", "ended", "silent", "young"} {
		from := open(i, kind)
		switch kind {
		case "old", "live", "young":
			data(from, 101)
		case "ignored":
			b.data = func(c *tcpstream.Conn, _ int, ch *tcpstream.Chunk) (int, int) {
				b.Ignore(c)
				return len(ch.Data), 0
			}
			data(from, 101)
			b.data = nil
		case "ended":
			data(from, 101)
			b.send(from, server, rst, 103, 0, "", 0)
		}
	}
	kinds[flood(6)], kinds[flood(7)] = "half open", "refused"
	b.synFrom(6)
	b.synFrom(7)
	b.send(server, flood(7), rst|ack, 0, 7*77+1, "", 0)
	data(flood(1), 103) // live
	b.onClose = func(c *tcpstream.Conn) {
		if k := kinds[c.Ends[0]]; k != "" {
			gone = append(gone, k)
		}
	}
	for i := 100; len(gone) < 8 && i < 200; i++ { // each brings a byte, so that none of them goes
		b.send(flood(i), server, ack, 1, 1, "x", 1)
	}
	want := []string{"half open", "refused", "silent", "ended", "ignored", "old", "young", "live"}
	if diff := cmp.Diff(want, gone); diff != "" {
		t.Errorf("order of eviction (-want +got)\n%s", diff)
	}
	if b.Counters.Evicted != 8 {
		t.Errorf("evicted\n got %d\nwant 8", b.Counters.Evicted)
	}
}

// TestDirectionLimit: a direction that has all it may have goes on after its first
// hole.
func TestDirectionLimit(t *testing.T) {
	b := newBench(tcpstream.Limits{DirBytes: 4096})
	b.open()
	k := strings.Repeat("k", 1000)
	for i := range uint32(5) {
		b.c(ack, 111+1000*i, 501, k)
	}
	b.check(t)
	want := []string{"client lost 10", fmt.Sprintf("client %q 4:0+1000 5:1000+1000 6:2000+1000 7:3000+1000", strings.Repeat(k, 4)), fmt.Sprintf("client %q 8:0+1000", k)}
	if diff := cmp.Diff(want, b.log); diff != "" {
		t.Errorf("calls (-want +got)\n%s", diff)
	}
}

// TestHungrySink: a sink that wants more than a direction may have is shown it, and
// does not get more.
func TestHungrySink(t *testing.T) {
	b := newBench(tcpstream.Limits{DirBytes: 2048})
	b.data = func(_ *tcpstream.Conn, _ int, ch *tcpstream.Chunk) (int, int) { return 0, 1 << 20 }
	b.open()
	k := strings.Repeat("k", 1000)
	for i := range uint32(3) {
		b.c(ack, 101+1000*i, 501, k)
	}
	want := []string{
		fmt.Sprintf("client %q 4:0+1000", k),
		fmt.Sprintf("client given up after %q 4:0+1000 5:1000+1000", k+k),
		fmt.Sprintf("client %q 6:0+1000", k),
	}
	if diff := cmp.Diff(want, b.log); diff != "" {
		t.Errorf("calls (-want +got)\n%s", diff)
	}
	if b.Counters.GivenUp != 2000 {
		t.Errorf("bytes given up\n got %d\nwant 2000", b.Counters.GivenUp)
	}
}

// TestMemoryLimit: the connection that was silent longest gives up what it keeps.
func TestMemoryLimit(t *testing.T) {
	b := newBench(tcpstream.Limits{Bytes: 1, DirBytes: 128 << 10}) // 256 buffers of the smallest size
	b.quiet = true
	for i := range 256 {
		b.send(flood(i), server, syn, 100, 0, "", 0)
		b.send(flood(i), server, ack, 103, 1, "cd", 2)
	}
	b.check(t)
	if b.Used() != 256<<10 {
		t.Fatalf("bytes of buffers\n got %d\nwant %d", b.Used(), 256<<10)
	}
	b.send(flood(0), server, ack, 103, 1, "cd", 2) // an old one, but not silent
	b.quiet = false
	b.send(flood(256), server, ack, 1, 1, "x", 1) // keeps nothing
	b.send(flood(256), server, ack, 3, 1, "z", 1)
	b.check(t)
	want := []string{
		flood(256).String() + ` "x" 514:0+1`,
		flood(1).String() + " given up 4",
	}
	if diff := cmp.Diff(want, b.log); diff != "" {
		t.Errorf("calls (-want +got)\n%s", diff)
	}
	if b.Counters.GivenUp != 2 {
		t.Errorf("bytes given up\n got %d\nwant 2", b.Counters.GivenUp)
	}
	b.send(flood(1), server, ack, 105, 1, "goes on", 7)
	if got, want := b.log[len(b.log)-1], flood(1).String()+` "goes on" 516:0+7`; got != want {
		t.Errorf("after what was given up\n got %s\nwant %s", got, want)
	}
}

// TestPieces: beyond the room for pieces, the last one stands for all further ones.
func TestPieces(t *testing.T) {
	b := newBench(tcpstream.Limits{})
	b.data = func(_ *tcpstream.Conn, _ int, ch *tcpstream.Chunk) (int, int) { return 0, 0 }
	for i := range uint32(10) {
		b.c(ack, 101+i, 501, "x")
	}
	want := `client "xxxxxxxxxx" 1:0+1 2:1+1 3:2+1 4:3+1 5:4+1 6:5+1 7:6+1 10:7+3`
	if got := b.log[len(b.log)-1]; got != want {
		t.Errorf("pieces\n got %s\nwant %s", got, want)
	}
}

// TestOneByteSegments: the largest message in one-byte segments is shown twice, at
// its first byte and when it is whole.
func TestOneByteSegments(t *testing.T) {
	const size = 65_540
	b := newBench(tcpstream.Limits{})
	b.quiet = true
	calls, bytes := 0, 0
	b.data = func(_ *tcpstream.Conn, _ int, ch *tcpstream.Chunk) (int, int) {
		calls++
		bytes += len(ch.Data)
		if len(ch.Data) < size {
			return 0, size
		}
		return size, 0
	}
	for i := range uint32(size) {
		b.c(ack, 101+i, 501, "x")
	}
	if calls != 2 || bytes != 1+size || b.Used() != 0 {
		t.Errorf("calls, bytes shown, bytes kept\n got %d, %d, %d\nwant 2, %d, 0", calls, bytes, b.Used(), 1+size)
	}
}

// TestSlots: Slots are unique, below the limit, and used again.
func TestSlots(t *testing.T) {
	b := newBench(tcpstream.Limits{Conns: 4})
	b.quiet = true
	taken := map[int]bool{}
	b.data = func(c *tcpstream.Conn, _ int, ch *tcpstream.Chunk) (int, int) {
		if c.Slot < 0 || c.Slot >= 4 || taken[c.Slot] {
			t.Fatalf("slot %d of 4, in use: %v", c.Slot, taken)
		}
		taken[c.Slot] = true
		return len(ch.Data), 0
	}
	b.onClose = func(c *tcpstream.Conn) { delete(taken, c.Slot) }
	for i := range 20 {
		b.send(flood(i), server, ack, 1, 1, "x", 1)
	}
	b.Flush(b.now)
	if len(taken) != 0 {
		t.Errorf("slots in use after the end\n got %v\nwant none", taken)
	}
}

func TestKeys(t *testing.T) {
	v4 := netip.MustParseAddrPort("192.0.2.9:1000")
	mapped := netip.MustParseAddrPort("[::ffff:192.0.2.9]:1000")
	for _, tt := range []struct {
		name     string
		src, dst netip.AddrPort
	}{
		{"IPv4", v4, server},
		{"mapped", mapped, server},
		{"both mapped", mapped, netip.AddrPortFrom(netip.AddrFrom16(server.Addr().As16()), server.Port())},
		{"another port", netip.MustParseAddrPort("192.0.2.9:1001"), server},
		{"with itself", v4, v4},
		{"with its mapped self", v4, mapped},
		{"the same host", netip.MustParseAddrPort("192.0.2.9:999"), v4},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(tcpstream.Limits{})
			for _, other := range []netip.AddrPort{v4, mapped} {
				b.send(other, client, ack, 9, 9, "other", 5)
			}
			b.log = nil
			b.data = func(c *tcpstream.Conn, dir int, ch *tcpstream.Chunk) (int, int) {
				b.log = append(b.log, fmt.Sprintf("%d %s", dir, ch.Data))
				return len(ch.Data), 0
			}
			b.quiet = true
			b.send(tt.src, tt.dst, ack, 1, 1, "ab", 2)
			b.send(tt.src, tt.dst, ack, 3, 1, "cd", 2)
			want := []string{"0 ab", "0 cd"}
			if tt.src != tt.dst {
				b.send(tt.dst, tt.src, ack, 1, 1, "xy", 2)
				want = append(want, "1 xy")
			}
			if diff := cmp.Diff(want, b.log); diff != "" {
				t.Errorf("calls (-want +got)\n%s", diff)
			}
			if got := b.Live(); got != 3 {
				t.Errorf("connections\n got %d\nwant 3", got)
			}
		})
	}
}

func TestLinger(t *testing.T) {
	b := newBench(tcpstream.Limits{HalfOpen: time.Hour})
	b.open()
	b.c(ack|fin, 101, 501, "ab")
	b.s(ack|fin, 501, 104, "")
	b.later(29 * time.Second)
	if b.Live() != 1 {
		t.Errorf("ended connections after 29 s\n got %d\nwant 1", b.Live())
	}
	b.later(time.Second)
	if b.Live() != 0 {
		t.Errorf("ended connections after 30 s\n got %d\nwant 0", b.Live())
	}
}
