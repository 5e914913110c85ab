package tcpstream_test

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"qsniff/capture/packet"
	"qsniff/reassembly/tcpstream"
)

const (
	second = int64(time.Second)
	milli  = int64(time.Millisecond)

	fin = packet.FlagFIN
	syn = packet.FlagSYN
	rst = packet.FlagRST
	ack = packet.FlagACK
)

var (
	client = netip.MustParseAddrPort("198.51.100.7:40000")
	server = netip.MustParseAddrPort("192.0.2.1:27015")
)

var reasons = []string{"lost", "cut", "given up", "finished", "reset", "reused", "ended", "expired", "evicted"}

// recorder writes down what it is told. It consumes all that it is shown, but for
// what data says.
type recorder struct {
	log                          []string
	data                         func(c *tcpstream.Conn, dir int, ch *tcpstream.Chunk) (done, need int)
	onBreak, onConflict, onClose func(c *tcpstream.Conn)
	quiet                        bool // write nothing down
}

func (r *recorder) note(format string, args ...any) {
	if !r.quiet {
		r.log = append(r.log, fmt.Sprintf(format, args...))
	}
}

// who names the connection by its client's port and the direction by its sender.
func who(c *tcpstream.Conn, dir int) string {
	if c.Ends[dir] == server {
		return "server"
	}
	if c.Ends[dir] == client {
		return "client"
	}
	return c.Ends[dir].String()
}

func pieces(ch *tcpstream.Chunk) string {
	s := ""
	for _, p := range ch.Pieces {
		s += fmt.Sprintf(" %d:%d+%d", p.Frame, p.Off, p.Len)
	}
	return s
}

func (r *recorder) Data(c *tcpstream.Conn, dir int, ch *tcpstream.Chunk) (done, need int) {
	r.note("%s %q%s", who(c, dir), ch.Data, pieces(ch))
	if r.data != nil {
		return r.data(c, dir, ch)
	}
	return len(ch.Data), 0
}

func (r *recorder) Break(c *tcpstream.Conn, dir int, ch *tcpstream.Chunk, b tcpstream.Break) {
	s := fmt.Sprintf("%s %s", who(c, dir), reasons[b.Why])
	if b.Len > 0 {
		s += fmt.Sprintf(" %d", b.Len)
	}
	if len(ch.Data) > 0 {
		s += fmt.Sprintf(" after %q%s", ch.Data, pieces(ch))
	}
	r.note("%s", s)
	if r.onBreak != nil {
		r.onBreak(c)
	}
}

func (r *recorder) Conflict(c *tcpstream.Conn, dir int, x tcpstream.Dispute) {
	r.note("%s conflict of %d in %d, %d to %d", who(c, dir), x.N, x.Frame, x.Seq, x.End)
	if r.onConflict != nil {
		r.onConflict(c)
	}
}

func (r *recorder) Close(c *tcpstream.Conn) {
	r.note("close")
	if r.onClose != nil {
		r.onClose(c)
	}
}

// bench is an Assembler with a clock and frame numbers.
type bench struct {
	*tcpstream.Assembler
	recorder
	frame uint64
	now   int64
}

func newBench(l tcpstream.Limits) *bench {
	b := &bench{now: 1000 * second}
	b.Assembler = tcpstream.New(l, &b.recorder)
	return b
}

// send gives the Assembler a segment from src, a millisecond after the last one.
func (b *bench) send(src, dst netip.AddrPort, flags uint8, seq, acked uint32, data string, wire int) {
	b.frame++
	b.now += milli
	b.Add(&tcpstream.Segment{
		Src: src, Dst: dst, TCP: packet.TCPHeader{Seq: seq, Ack: acked, Flags: flags},
		Data: []byte(data), Wire: wire, Frame: b.frame, Nanos: b.now,
	})
}

// c sends from the client, s from the server.
func (b *bench) c(flags uint8, seq, acked uint32, data string) {
	b.send(client, server, flags, seq, acked, data, len(data))
}

func (b *bench) s(flags uint8, seq, acked uint32, data string) {
	b.send(server, client, flags, seq, acked, data, len(data))
}

// cut sends from the client what the capture cut to data.
func (b *bench) cut(seq uint32, data string, wire int) {
	b.send(client, server, ack, seq, 0, data, wire)
}

// open is the handshake: the client's bytes begin at 101, the server's at 501.
func (b *bench) open() {
	b.c(syn, 100, 0, "")
	b.s(syn|ack, 500, 101, "")
	b.c(ack, 101, 501, "")
}

// later lets time go by with a tick at its end.
func (b *bench) later(d time.Duration) {
	b.now += int64(d)
	b.Tick(b.now)
}

func (b *bench) check(t *testing.T) {
	t.Helper()
	if problem := b.Check(); problem != "" {
		t.Fatalf("after frame %d: %s", b.frame, problem)
	}
}

// empty checks that nothing is left after Flush.
func (b *bench) empty(t *testing.T) {
	t.Helper()
	b.check(t)
	if b.Live() != 0 || b.Used() != 0 || b.Spans() != 0 {
		t.Errorf("connections, bytes and spans after the end\n got %d, %d, %d\nwant 0, 0, 0", b.Live(), b.Used(), b.Spans())
	}
}
