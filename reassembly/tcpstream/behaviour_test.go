package tcpstream_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"qsniff/internal/test/race"
	"qsniff/reassembly/tcpstream"
)

func TestBehaviour(t *testing.T) {
	tests := []struct {
		name string
		do   func(b *bench)
		want []string
	}{
		{"in order", func(b *bench) {
			b.open()
			b.c(ack, 101, 501, "ab")
			b.c(ack, 103, 501, "cd")
			b.s(ack, 501, 105, "xy")
		}, []string{`client "ab" 4:0+2`, `client "cd" 5:0+2`, `server "xy" 6:0+2`}},
		{"out of order", func(b *bench) {
			b.open()
			b.c(ack, 103, 501, "cd")
			b.c(ack, 107, 501, "gh")
			b.c(ack, 105, 501, "ef")
			b.c(ack, 101, 501, "ab")
		}, []string{`client "ab" 7:0+2`, `client "cdefgh" 4:0+2 6:2+2 5:4+2`}},
		{"in reverse order", func(b *bench) {
			b.open()
			b.c(ack, 105, 501, "ef")
			b.c(ack, 103, 501, "cd")
			b.c(ack, 101, 501, "ab")
		}, []string{`client "ab" 6:0+2`, `client "cdef" 5:0+2 4:2+2`}},
		{"copies", func(b *bench) {
			b.open()
			b.c(ack, 101, 501, "ab")
			b.c(ack, 101, 501, "ab")
			b.c(ack, 105, 501, "ef")
			b.c(ack, 105, 501, "ef")
			b.c(ack, 103, 501, "cd")
		}, []string{`client "ab" 4:0+2`, `client "cd" 8:0+2`, `client "ef" 6:0+2`}},
		{"a keep-alive is old", func(b *bench) {
			b.open()
			b.c(ack, 101, 501, "ab")
			b.c(ack, 102, 501, "\x00")
			b.c(ack, 102, 501, "")
			b.c(ack, 103, 501, "cd")
		}, []string{`client "ab" 4:0+2`, `client "cd" 7:0+2`}},
		{"overlap with what was delivered", func(b *bench) {
			b.open()
			b.c(ack, 101, 501, "abc")
			b.c(ack, 102, 501, "XXde")
		}, []string{`client "abc" 4:0+3`, `client "de" 5:0+2`}},
		{"overlap with what is held", func(b *bench) {
			b.open()
			b.c(ack, 104, 501, "de")
			b.c(ack, 103, 501, "cdef")
			b.c(ack, 101, 501, "abcdefg")
		}, []string{`client "ab" 6:0+2`, `client "cdefg" 5:0+1 4:1+2 5:3+1 6:4+1`}},
		{"a contradiction: same bytes, the first copy stays", func(b *bench) {
			b.open()
			b.c(ack, 105, 501, "bbbb")
			b.c(ack, 105, 501, "XXXX")
			b.c(ack, 101, 501, "aaaa")
		}, []string{`client conflict of 4 in 5, 105 to 109`, `client "aaaa" 6:0+4`, `client "bbbb" 4:0+4`}},
		{"a contradiction: one that begins earlier counts", func(b *bench) {
			b.open()
			b.c(ack, 106, 501, "bbb")
			b.c(ack, 105, 501, "XXX")
			b.c(ack, 101, 501, "aaaa")
		}, []string{`client conflict of 2 in 5, 106 to 108`, `client "aaaa" 6:0+4`, `client "XXXb" 5:0+3 4:3+1`}},
		{"a contradiction: one that begins later does not", func(b *bench) {
			b.open()
			b.c(ack, 105, 501, "bbb")
			b.c(ack, 106, 501, "XXX")
			b.c(ack, 101, 501, "aaaa")
		}, []string{`client conflict of 2 in 5, 106 to 108`, `client "aaaa" 6:0+4`, `client "bbbX" 4:0+3 5:3+1`}},
		{"a contradiction: a cover counts", func(b *bench) {
			b.open()
			b.c(ack, 106, 501, "bb")
			b.c(ack, 105, 501, "XXXX")
			b.c(ack, 101, 501, "aaaa")
		}, []string{`client conflict of 2 in 5, 106 to 108`, `client "aaaa" 6:0+4`, `client "XXXX" 5:0+4`}},
		{"a contradiction: the bytes in order count", func(b *bench) {
			b.open()
			b.c(ack, 105, 501, "bbbb")
			b.c(ack, 101, 501, "aaaaXX")
		}, []string{`client conflict of 2 in 5, 105 to 107`, `client "aaaa" 5:0+4`, `client "XXbb" 5:0+2 4:2+2`}},
		{"a contradiction: not of what was received", func(b *bench) {
			b.open()
			b.c(ack, 101, 501, "aaaa")
			b.c(ack, 103, 501, "XXbb")
		}, []string{`client "aaaa" 4:0+4`, `client "bb" 5:0+2`}},
		{"across the end of the numbers", func(b *bench) {
			b.c(syn, 0xfffffffc, 0, "")
			b.c(ack, 0xffffffff, 1, "cde")
			b.c(ack, 0xfffffffd, 1, "ab")
			b.c(ack, 2, 1, "f")
		}, []string{`client "ab" 3:0+2`, `client "cde" 2:0+3`, `client "f" 4:0+1`}},
		{"too far from the expected number", func(b *bench) {
			b.open()
			b.c(ack, 101+1<<30+1, 501, "far")
			b.c(ack, 101+1<<31, 501, "far")
			b.c(ack, 101, 501, "ab")
		}, []string{`client "ab" 6:0+2`}},
		{"data on the SYN", func(b *bench) {
			b.c(syn, 100, 0, "ab")
			b.s(syn|ack, 500, 103, "xy")
			b.c(ack, 103, 503, "cd")
		}, []string{`client "ab" 1:0+2`, `server "xy" 2:0+2`, `client "cd" 3:0+2`}},
		{"picked up in the middle", func(b *bench) {
			b.s(ack, 700, 300, "xy")
			b.c(ack, 300, 702, "ab")
			b.s(ack, 702, 302, "z")
		}, []string{`server "xy" 1:0+2`, `client "ab" 2:0+2`, `server "z" 3:0+1`}},
		{"the capture lost what the other end has", func(b *bench) {
			b.open()
			b.c(ack, 103, 501, "cd")
			b.s(ack, 501, 105, "")
			b.later(249 * time.Millisecond)
			b.note("not yet")
			b.later(2 * time.Millisecond)
		}, []string{"not yet", "client lost 2", `client "cd" 4:0+2`}},
		{"the acknowledgement came first", func(b *bench) {
			b.open()
			b.s(ack, 501, 105, "")
			b.c(ack, 103, 501, "cd")
			b.later(251 * time.Millisecond)
		}, []string{"client lost 2", `client "cd" 5:0+2`}},
		{"nobody acknowledges", func(b *bench) {
			b.open()
			b.c(ack, 103, 501, "cd")
			b.c(ack, 106, 501, "f")
			b.later(2998 * time.Millisecond)
			b.note("not yet")
			b.later(2 * time.Millisecond)
		}, []string{"not yet", "client lost 2", `client "cd" 4:0+2`, "client lost 1", `client "f" 5:0+1`}},
		{"a hole that is being filled is not lost", func(b *bench) {
			b.open()
			b.c(ack, 105, 501, "ef")
			b.later(2900 * time.Millisecond)
			b.c(ack, 101, 501, "ab")
			b.later(2900 * time.Millisecond)
			b.c(ack, 103, 501, "cd")
		}, []string{`client "ab" 5:0+2`, `client "cd" 6:0+2`, `client "ef" 4:0+2`}},
		{"too many holes", func(b *bench) {
			b.open()
			for i := range uint32(17) {
				b.c(ack, 103+2*i, 501, "x")
			}
		}, []string{"client lost 2", `client "x" 4:0+1`}},
		{"cut by the capture", func(b *bench) {
			b.open()
			b.cut(101, "ab", 5)
			b.c(ack, 106, 501, "fg")
		}, []string{`client "ab" 4:0+2`, "client cut 3", `client "fg" 5:0+2`}},
		{"cut by the capture to nothing", func(b *bench) {
			b.open()
			b.cut(106, "", 5)
			b.cut(111, "", 5)
			b.cut(101, "", 5)
		}, []string{"client cut 5", "client cut 10"}},
		{"cut after a hole", func(b *bench) {
			b.open()
			b.cut(103, "cd", 5)
			b.c(ack, 108, 501, "h")
			b.c(ack, 101, 501, "ab")
		}, []string{`client "ab" 6:0+2`, `client "cd" 4:0+2`, "client cut 3", `client "h" 5:0+1`}},
		{"a second copy brings what was cut", func(b *bench) {
			b.open()
			b.cut(103, "cd", 5)
			b.c(ack, 104, 501, "def")
			b.c(ack, 101, 501, "ab")
		}, []string{`client "ab" 6:0+2`, `client "cdef" 4:0+2 5:2+2`, "client cut 1"}},
		{"FIN", func(b *bench) {
			b.open()
			b.c(ack|fin, 101, 501, "ab")
			b.s(ack, 501, 104, "xy")
			b.s(ack|fin, 503, 104, "")
			b.c(ack, 104, 504, "")
			b.s(ack|fin, 503, 104, "")
			b.later(31 * time.Second)
		}, []string{`client "ab" 4:0+2`, "client finished", `server "xy" 5:0+2`, "server finished", "close"}},
		{"FIN after a hole", func(b *bench) {
			b.open()
			b.c(ack|fin, 103, 501, "cd")
			b.c(ack, 101, 501, "ab")
		}, []string{`client "ab" 5:0+2`, `client "cd" 4:0+2`, "client finished"}},
		{"FIN after a hole that stays", func(b *bench) {
			b.open()
			b.c(ack|fin, 103, 501, "")
			b.s(ack, 501, 104, "")
			b.later(time.Second)
		}, []string{"client lost 2", "client finished"}},
		{"bytes where a FIN was forged", func(b *bench) {
			b.open()
			b.c(ack|fin, 104, 501, "")
			b.c(ack, 101, 501, "abcdef")
			b.c(ack|fin, 107, 501, "")
		}, []string{`client "abcdef" 5:0+6`, "client finished"}},
		{"late copies after the end", func(b *bench) {
			b.open()
			b.c(ack|fin, 101, 501, "ab")
			b.s(ack|fin, 501, 104, "")
			b.later(20 * time.Second)
			b.c(ack|fin, 101, 501, "ab")
			b.c(ack, 200, 501, "behind")
		}, []string{`client "ab" 4:0+2`, "client finished", "server finished"}},
		{"RST", func(b *bench) {
			b.open()
			b.c(ack, 103, 501, "cd")
			b.s(rst, 501, 0, "")
		}, []string{"server reset", "client lost 2", `client "cd" 4:0+2`, "client reset"}},
		{"RST that cannot be the sender's", func(b *bench) {
			b.open()
			b.s(rst, 501+8<<20+1, 0, "")
			b.c(ack, 101, 501, "ab")
		}, []string{`client "ab" 5:0+2`}},
		{"RST from an end that says nothing else", func(b *bench) {
			b.c(ack, 101, 0, "ab")
			b.s(rst|ack, 0, 101+9<<20, "")
			b.s(rst|ack, 0, 103, "")
		}, []string{`client "ab" 1:0+2`, "server reset", "client reset"}},
		{"RST that nothing vouches for", func(b *bench) {
			b.c(ack, 101, 0, "ab")
			b.s(rst, 7, 0, "")
			b.c(ack, 103, 0, "cd")
		}, []string{`client "ab" 1:0+2`, `client "cd" 3:0+2`}},
		{"refused", func(b *bench) {
			b.c(syn, 100, 0, "")
			b.s(rst|ack, 0, 101, "")
			b.later(30 * time.Second)
		}, []string{"server reset", "client reset", "close"}},
		{"the stream goes on after a forged RST", func(b *bench) {
			b.open()
			b.c(ack, 101, 501, "ab")
			b.s(rst, 700, 0, "")
			b.c(ack, 104, 501, "not next")
			b.c(ack, 103, 501, "cd")
			b.s(ack, 501, 105, "xy")
		}, []string{`client "ab" 4:0+2`, "server reset", "client reset", `client "cd" 7:0+2`, `server "xy" 8:0+2`}},
		{"the same SYN again changes nothing", func(b *bench) {
			b.open()
			b.c(ack, 101, 501, "ab")
			b.c(syn, 100, 0, "")
			b.s(syn|ack, 500, 101, "")
			b.c(ack, 103, 501, "cd")
		}, []string{`client "ab" 4:0+2`, `client "cd" 7:0+2`}},
		{"a SYN does not destroy a connection that lives", func(b *bench) {
			b.open()
			b.c(syn, 9000, 0, "")
			b.c(ack, 101, 501, "ab")
			b.s(ack, 501, 103, "xy")
		}, []string{`client "ab" 5:0+2`, `server "xy" 6:0+2`}},
		{"a SYN-ACK confirms the new connection", func(b *bench) {
			b.open()
			b.c(syn, 9000, 0, "")
			b.s(syn|ack, 20, 9001, "")
			b.c(ack, 9001, 21, "ab")
			b.s(ack, 21, 9003, "xy")
		}, []string{"client reused", "server reused", "close", `client "ab" 6:0+2`, `server "xy" 7:0+2`}},
		{"bytes confirm the new connection", func(b *bench) {
			b.open()
			b.c(syn, 9000, 0, "")
			b.c(ack, 9001, 21, "ab")
		}, []string{"client reused", "server reused", "close", `client "ab" 5:0+2`}},
		{"bytes confirm the new connection of which only one direction is seen", func(b *bench) {
			b.s(ack, 501, 300, "wx")
			b.s(syn|ack, 9000, 101, "")
			b.s(ack, 9001, 101, "yz")
			b.note("%v", b.Counters.RivalSYNs)
		}, []string{`server "wx" 1:0+2`, "server reused", "client reused", "close", `server "yz" 3:0+2`, "1"}},
		{"a new connection after the end of the old one", func(b *bench) {
			b.open()
			b.c(rst, 101, 0, "")
			b.c(syn, 9000, 0, "")
			b.c(ack, 9001, 21, "ab")
		}, []string{"client reset", "server reset", "close", `client "ab" 6:0+2`}},
		{"a new connection after a minute of silence", func(b *bench) {
			b.open()
			b.now += 60 * second
			b.c(syn, 9000, 0, "")
			b.note("now")
		}, []string{"client reused", "server reused", "close", "now"}},
		{"idle", func(b *bench) {
			b.open()
			b.c(ack, 102, 501, "b")
			b.later(10 * time.Minute)
		}, []string{"client lost 1", `client "b" 4:0+1`, "client expired", "server expired", "close"}},
		{"half open", func(b *bench) {
			b.c(syn, 100, 0, "")
			b.s(syn|ack, 500, 101, "")
			b.later(30 * time.Second)
		}, []string{"client expired", "server expired", "close"}},
		{"a connection without bytes is not half open", func(b *bench) {
			b.open()
			b.later(31 * time.Second)
		}, nil},
		{"the capture ends", func(b *bench) {
			b.open()
			b.c(ack, 102, 501, "b")
			b.s(ack|fin, 501, 101, "")
			b.Flush(b.now)
		}, []string{"server finished", "client lost 1", `client "b" 4:0+1`, "client ended", "close"}},
		{"nothing begins with what has no bytes", func(b *bench) {
			b.c(ack, 101, 501, "")
			b.c(ack|fin, 101, 501, "")
			b.c(rst, 101, 501, "")
			b.c(syn|fin, 101, 501, "ab")
			b.Flush(b.now)
		}, nil},
		{"an end that only finishes", func(b *bench) {
			b.s(ack, 501, 101, "xy")
			b.c(ack|fin, 101, 503, "")
		}, []string{`server "xy" 1:0+2`, "client finished"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(tcpstream.Limits{})
			tt.do(b)
			if diff := cmp.Diff(tt.want, b.log); diff != "" {
				t.Errorf("calls (-want +got)\n%s", diff)
			}
			b.check(t)
			b.Flush(b.now)
			b.empty(t)
		})
	}
}

// TestMemoryByNeed: sixteen assemblers share a budget with all other tables, and the
// usual capture has a handful of connections.
func TestMemoryByNeed(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector needs memory of its own")
	}
	var a *tcpstream.Assembler
	half := &eater{message: 4096} // keeps what is shorter
	add := func(from int) {
		s := tcpstream.Segment{Src: flood(from), Dst: server, Data: make([]byte, 100), Wire: 100}
		s.TCP.Flags = ack
		a.Add(&s)
	}
	for _, tt := range []struct {
		name string
		do   func()
		most uint64 // bytes
	}{
		{"none", func() { a = tcpstream.New(tcpstream.Limits{}, half) }, 160 << 10},
		{"the first", func() { add(0) }, 100 << 10},
		{"a hundred more", func() {
			for n := range 100 {
				add(1 + n)
			}
		}, 224 << 10},
	} {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		tt.do()
		runtime.GC()
		runtime.ReadMemStats(&after)
		if got := after.HeapAlloc - min(after.HeapAlloc, before.HeapAlloc); got > tt.most {
			t.Errorf("%s: bytes\n got %d\nwant at most %d", tt.name, got, tt.most)
		}
	}
	if a.Used() == 0 || a.Live() != 101 {
		t.Errorf("%d bytes wait, of %d connections", a.Used(), a.Live())
	}
}
