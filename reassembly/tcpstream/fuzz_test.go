package tcpstream_test

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"qsniff/capture/packet"
	"qsniff/reassembly/tcpstream"
)

// opLen bytes of a fuzz input are one segment or tick.
const opLen = 8

// auditor is a sink that checks the rules of calls. What it consumes follows from
// what it sees.
type auditor struct {
	t     *testing.T
	a     *tcpstream.Assembler
	slots map[int]*tcpstream.Conn
	dirs  map[*tcpstream.Conn]*[2]audit
	over  map[*tcpstream.Conn]bool // Ignore was called
	data  []byte                   // all streams are cut out of this
}

// audit is what one direction showed.
type audit struct {
	shown, need int // bytes that were left and what was asked for
	ended       bool
}

func (u *auditor) dir(c *tcpstream.Conn, dir int) *audit {
	if other := u.slots[c.Slot]; other != c && other != nil {
		u.t.Fatalf("slot %d has two connections", c.Slot)
	}
	u.slots[c.Slot] = c
	if u.over[c] {
		u.t.Fatalf("a call for an ignored connection")
	}
	if u.dirs[c] == nil {
		u.dirs[c] = &[2]audit{}
	}
	return &u.dirs[c][dir]
}

func (u *auditor) chunk(ch *tcpstream.Chunk) {
	off := uint32(0)
	for _, p := range ch.Pieces {
		if p.Off != off || p.Len == 0 || p.Frame == 0 {
			u.t.Fatalf("pieces %v", ch.Pieces)
		}
		off += p.Len
	}
	if int(off) != len(ch.Data) {
		u.t.Fatalf("pieces end at %d of %d", off, len(ch.Data))
	}
}

func (u *auditor) Data(c *tcpstream.Conn, dir int, ch *tcpstream.Chunk) (done, need int) {
	d := u.dir(c, dir)
	u.chunk(ch)
	if len(ch.Data) <= d.shown || len(ch.Data) < d.need {
		u.t.Fatalf("%d bytes after %d, asked for %d", len(ch.Data), d.shown, d.need)
	}
	d.ended = false
	first := ch.Data[0]
	if first%64 == 7 {
		u.over[c] = true
		u.a.Ignore(c)
		return 0, 0
	}
	done = len(ch.Data) * int(first%5) / 4
	d.shown = len(ch.Data) - done
	d.need = int(first%3) * 700
	return done, d.need
}

func (u *auditor) Break(c *tcpstream.Conn, dir int, ch *tcpstream.Chunk, b tcpstream.Break) {
	d := u.dir(c, dir)
	u.chunk(ch)
	if len(ch.Data) < d.shown {
		u.t.Fatalf("%d bytes before a break after %d", len(ch.Data), d.shown)
	}
	switch b.Why {
	case tcpstream.Lost, tcpstream.Cut:
		if b.Len == 0 {
			u.t.Fatalf("a hole of no bytes")
		}
		d.ended = false // a segment without captured bytes goes on after a forged end
	case tcpstream.GivenUp:
	default:
		if d.ended || b.Len != 0 {
			u.t.Fatalf("break %v of %d, ended %v before", b.Why, b.Len, d.ended)
		}
		d.ended = true
	}
	d.shown, d.need = 0, 0
}

func (u *auditor) Conflict(c *tcpstream.Conn, dir int, x tcpstream.Dispute) {
	u.dir(c, dir)
	if x.N <= 0 || x.Frame == 0 || int(x.End-x.Seq) < x.N {
		u.t.Fatalf("a conflict %+v", x)
	}
}

func (u *auditor) Close(c *tcpstream.Conn) {
	if !u.over[c] && (u.dirs[c] == nil || !u.dirs[c][0].ended || !u.dirs[c][1].ended) {
		u.t.Fatalf("closed without end: %+v", u.dirs[c])
	}
	delete(u.over, c)
	delete(u.dirs, c)
	delete(u.slots, c.Slot)
}

// segmentOf reads an operation: few connections, and numbers that meet.
func (u *auditor) segmentOf(op []byte) *tcpstream.Segment {
	s := &tcpstream.Segment{Src: flood(int(op[0] >> 1 & 7)), Dst: server}
	seq := uint32(binary.LittleEndian.Uint16(op[1:])) << (op[0] >> 4 & 3) // near the end of the numbers
	if op[0]&0x80 != 0 {
		seq = -seq
	}
	if op[0]&1 != 0 {
		s.Src, s.Dst = s.Dst, s.Src
	}
	n := int(op[4]) << (op[3] >> 6 << 1)
	from := int(seq) & 0x3fff
	s.Data = u.data[from:][:n]
	s.Wire = n
	if op[5]&1 != 0 {
		s.Data = s.Data[:n*int(op[6])/256]
	}
	if op[5]&0x1e == 2 { // contradicts
		s.Data = u.data[from+1:][:len(s.Data)]
	}
	s.TCP = packet.TCPHeader{Seq: seq, Ack: uint32(op[6]) << 6, Flags: op[3] & 0x3f}
	return s
}

// script is a fuzz input that partly makes sense.
func script(r *rand.Rand) []byte {
	var b []byte
	at := [16]uint16{}
	for range 60 {
		who := r.IntN(16)
		n := r.IntN(256)
		flags := byte(packet.FlagACK)
		if at[who] == 0 {
			flags, n = packet.FlagSYN, 0
			at[who] = 1
		} else if r.IntN(10) == 0 {
			flags |= byte(r.IntN(8))
		}
		cut := byte(r.IntN(8))
		op := []byte{byte(who), byte(at[who]), byte(at[who] >> 8), flags, byte(n), cut, byte(r.Uint32()), byte(r.IntN(40))}
		if r.IntN(6) > 0 {
			at[who] += uint16(n)
		}
		b = append(b, op...)
	}
	return b
}

// FuzzAssembler: whatever comes, the calls follow the rules, the tables agree with
// each other and keep to their limits, and after Flush nothing is left.
func FuzzAssembler(f *testing.F) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 20 {
		f.Add(script(r), byte(r.IntN(4)))
	}
	data := make([]byte, 1<<16)
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	f.Fuzz(func(t *testing.T, in []byte, tight byte) { run(t, data, in, tight) })
}

// run feeds one input to an Assembler; tight says which limits are low.
func run(t *testing.T, data, in []byte, tight byte) {
	u := &auditor{t: t, data: data, slots: map[int]*tcpstream.Conn{}, dirs: map[*tcpstream.Conn]*[2]audit{}, over: map[*tcpstream.Conn]bool{}}
	lim := tcpstream.Limits{Bytes: 1, DirBytes: 128 << 10}
	if tight&1 != 0 {
		lim.Conns = 4
	}
	if tight&2 != 0 {
		lim.DirBytes = 2048
	}
	u.a = tcpstream.New(lim, u)
	now, frame := int64(0), uint64(0)
	for ; len(in) >= opLen && frame < 400; in = in[opLen:] {
		frame++
		op := in[:opLen]
		now += int64(op[7]) * int64(op[7]) * 10 * milli // up to 11 minutes
		s := u.segmentOf(op)
		s.Frame, s.Nanos = frame, now
		u.a.Add(s)
		if op[7]&1 != 0 {
			u.a.Tick(now)
		}
		if problem := u.a.Check(); problem != "" {
			t.Fatalf("frame %d: %s", frame, problem)
		}
	}
	u.a.Flush(now)
	if problem := u.a.Check(); problem != "" || u.a.Live() != 0 || u.a.Used() != 0 || u.a.Spans() != 0 {
		t.Errorf("after the end: %s%d connections, %d bytes, %d spans", problem, u.a.Live(), u.a.Used(), u.a.Spans())
	}
	if len(u.slots) != 0 || len(u.over) != 0 {
		t.Errorf("not closed: %d connections", len(u.slots))
	}
}
