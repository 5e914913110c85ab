package tcpstream_test

import (
	"testing"

	"qsniff/capture/packet"
	"qsniff/internal/test/race"
	"qsniff/reassembly/tcpstream"
)

// eater is a sink that consumes messages of a fixed length.
type eater struct {
	a       *tcpstream.Assembler
	message int  // 0: anything is one
	ignore  bool // every connection
	calls   int
	breaks  int
}

func (e *eater) Data(c *tcpstream.Conn, _ int, ch *tcpstream.Chunk) (done, need int) {
	e.calls++
	if e.ignore {
		e.a.Ignore(c)
	}
	if e.message == 0 {
		return len(ch.Data), 0
	}
	return len(ch.Data) / e.message * e.message, e.message
}

func (e *eater) Break(*tcpstream.Conn, int, *tcpstream.Chunk, tcpstream.Break) { e.breaks++ }
func (e *eater) Conflict(*tcpstream.Conn, int, tcpstream.Dispute)              {}
func (e *eater) Close(*tcpstream.Conn)                                         {}

// TestNoAllocations mixes connections, whole and half messages, disorder, losses,
// cuts, ends and evictions.
func TestNoAllocations(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	e := &eater{message: 1000}
	a := tcpstream.New(tcpstream.Limits{Conns: 16, Bytes: 1, DirBytes: 128 << 10}, e)
	payload := make([]byte, 1460)
	now, n := 1000*second, 0
	send := func(from int, flags uint8, seq uint32, k, wire int) {
		now += milli
		a.Add(&tcpstream.Segment{
			Src: flood(from), Dst: server, TCP: packet.TCPHeader{Seq: seq, Flags: flags},
			Data: payload[:k], Wire: wire, Frame: uint64(n), Nanos: now,
		})
	}
	round := func() {
		n++
		from := n % 40
		send(from, syn, 0, 0, 0)
		for i := range uint32(40) {
			at := 1 + i*1460
			switch {
			case i == 30: // lost
			case i == 20:
				send(from, ack, at, 700, 1460)
			case i%7 == 3:
				send(from, ack, at+1460, 1460, 1460)
				send(from, ack, at, 1460, 1460)
			default:
				send(from, ack, at, 1460, 1460)
			}
		}
		if n%2 == 0 {
			a.Add(&tcpstream.Segment{Src: server, Dst: flood(from), TCP: packet.TCPHeader{Ack: 1 + 40*1460, Flags: ack}, Nanos: now})
			now += second / 2
		}
		if n%3 == 0 {
			send(from, ack|fin, 1+40*1460, 0, 0)
		}
		a.Tick(now)
	}
	for range 100 {
		round()
	}
	if got := testing.AllocsPerRun(500, round); got != 0 {
		t.Errorf("allocations a round\n got %v\nwant 0", got)
	}
	c := &a.Counters
	if c.OutOfOrder == 0 || c.Gaps == 0 || c.Cut == 0 || c.GivenUp == 0 || c.Evicted == 0 || c.Retransmitted == 0 {
		t.Errorf("counters: the traffic is not what it should be\n got %+v", *c)
	}
}

func BenchmarkAdd(b *testing.B) {
	payload := make([]byte, 1460)
	for _, tt := range []struct {
		name string
		sink eater
		size int
	}{
		{"consumed", eater{}, 1460},
		{"half messages wait", eater{message: 4096}, 1460},
		{"one-byte segments", eater{message: 65_540}, 1},
		{"ignored", eater{ignore: true}, 1460},
	} {
		b.Run(tt.name, func(b *testing.B) {
			a := tcpstream.New(tcpstream.Limits{}, &tt.sink)
			tt.sink.a = a
			s := tcpstream.Segment{Src: client, Dst: server, Data: payload[:tt.size], Wire: tt.size}
			s.TCP.Flags = packet.FlagACK
			b.ReportAllocs()
			b.SetBytes(int64(tt.size))
			for b.Loop() {
				s.Nanos += 1000
				a.Add(&s)
				s.TCP.Seq += uint32(tt.size)
			}
		})
	}
}

func BenchmarkSYNFlood(b *testing.B) {
	a := tcpstream.New(tcpstream.Limits{}, &eater{})
	s := tcpstream.Segment{Dst: server}
	s.TCP.Flags = packet.FlagSYN
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		s.Src = flood(n)
		s.Nanos += 1000
		a.Add(&s)
	}
}

// BenchmarkReverse sends 64 KiB in segments of 64 bytes, the last one first.
func BenchmarkReverse(b *testing.B) {
	const size = 64
	a := tcpstream.New(tcpstream.Limits{}, &eater{})
	s := tcpstream.Segment{Src: client, Dst: server, Data: make([]byte, size), Wire: size}
	base := uint32(0)
	a.Add(&s)
	b.ReportAllocs()
	b.SetBytes(size)
	for n := 0; b.Loop(); n++ {
		k := uint32(1024 - n%1024)
		s.TCP.Seq = base + k*size
		s.Nanos += 1000
		a.Add(&s)
		if k == 1 {
			base += 1024 * size
		}
	}
}
