package tcpstream_test

import (
	"bytes"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"qsniff/capture/packet"
	"qsniff/reassembly/tcpstream"
)

// stream is what one end sends, as it was sent, and what was made of it.
type stream struct {
	src, dst netip.AddrPort
	isn      uint32
	data     []byte
	had      []bool // captured by now
	last     int    // after the last one that was captured
	late     int    // bytes that came first when they had been declared missing

	at     int // where the unconsumed bytes begin
	next   int // after the last byte that was offered
	need   int // offered must be at least this, from at on
	gaps   int // bytes that were declared missing
	breaks int
}

// sentSegment is one segment on its way.
type sentSegment struct {
	of       *stream
	off, len int
	keep     int // captured bytes of it
	flags    uint8
}

// talk is one connection of the model, with a sink that checks.
type talk struct {
	t      *testing.T
	r      *rand.Rand
	ends   [2]*stream
	sent   []sentSegment // by frame
	tight  bool          // bytes may be given up
	closed int
}

// talks are the connections of one model, by client.
type talks map[netip.AddrPort]*talk

func (ts talks) of(c *tcpstream.Conn) *talk {
	if m := ts[c.Ends[0]]; m != nil {
		return m
	}
	return ts[c.Ends[1]]
}

func (ts talks) Data(c *tcpstream.Conn, dir int, ch *tcpstream.Chunk) (done, need int) {
	return ts.of(c).Data(c, dir, ch)
}

func (ts talks) Break(c *tcpstream.Conn, dir int, ch *tcpstream.Chunk, b tcpstream.Break) {
	ts.of(c).Break(c, dir, ch, b)
}

func (ts talks) Conflict(c *tcpstream.Conn, dir int, x tcpstream.Dispute) {
	ts.of(c).Conflict(c, dir, x)
}

func (ts talks) Close(c *tcpstream.Conn) { ts.of(c).Close(c) }

func (m *talk) stream(c *tcpstream.Conn, dir int) *stream {
	if c.Ends[dir] == m.ends[0].src {
		return m.ends[0]
	}
	return m.ends[1]
}

// offered checks the bytes that the sink sees.
func (m *talk) offered(s *stream, ch *tcpstream.Chunk) {
	end := s.at + len(ch.Data)
	if end < s.next || end > len(s.data) || !bytes.Equal(ch.Data, s.data[s.at:end]) {
		m.t.Fatalf("bytes %d to %d (before: to %d) are not what was sent", s.at, end, s.next)
	}
	s.next = end
	off := uint32(0)
	for _, p := range ch.Pieces {
		if p.Off != off || p.Len == 0 {
			m.t.Fatalf("pieces do not lie side by side: %v", ch.Pieces)
		}
		off += p.Len
		k := m.sent[p.Frame]
		from := s.at + int(p.Off)
		if k.of != s || from < k.off || from+int(p.Len) > k.off+k.keep {
			m.t.Fatalf("frame %d did not bring bytes %d to %d, but %d to %d", p.Frame, from, from+int(p.Len), k.off, k.off+k.keep)
		}
	}
	if int(off) != len(ch.Data) {
		m.t.Fatalf("pieces end at %d of %d", off, len(ch.Data))
	}
}

func (m *talk) Data(c *tcpstream.Conn, dir int, ch *tcpstream.Chunk) (done, need int) {
	s := m.stream(c, dir)
	before := s.next
	m.offered(s, ch)
	if s.next <= before {
		m.t.Fatalf("the sink was asked again without a new byte")
	}
	if len(ch.Data) < s.need {
		m.t.Fatalf("bytes offered\n got %d\nwant at least %d", len(ch.Data), s.need)
	}
	if m.r.IntN(3) > 0 {
		done = m.r.IntN(len(ch.Data) + 1)
	}
	if m.r.IntN(2) == 0 {
		need = m.r.IntN(4000)
	}
	if m.r.IntN(4) == 0 {
		done = len(ch.Data)
	}
	s.at += done
	s.need = need
	return done, need
}

func (m *talk) Break(c *tcpstream.Conn, dir int, ch *tcpstream.Chunk, b tcpstream.Break) {
	s := m.stream(c, dir)
	m.offered(s, ch)
	s.breaks++
	s.need = 0
	for i := range int(b.Len) {
		if b.Why != tcpstream.GivenUp && s.had[s.next+i] {
			m.t.Fatalf("byte %d is declared missing and was captured", s.next+i)
		}
	}
	s.gaps += int(b.Len)
	s.next += int(b.Len)
	s.at = s.next
	if b.Why == tcpstream.GivenUp && !m.tight {
		m.t.Fatalf("given up without need")
	}
	if b.Why == tcpstream.Finished && s.next != len(s.data) {
		m.t.Fatalf("finished\n got at byte %d\nwant at %d", s.next, len(s.data))
	}
}

func (m *talk) Conflict(_ *tcpstream.Conn, _ int, x tcpstream.Dispute) {
	m.t.Fatalf("a conflict %+v", x)
}

func (m *talk) Close(*tcpstream.Conn) { m.closed++ }

// ack is what s acknowledges of the other stream: if the capture has everything, the
// bytes up to the first hole; otherwise all, because the capture lost them, not the
// network.
func (m *talk) ack(s *stream, tidy bool) uint32 {
	other := m.ends[0]
	if s == other {
		other = m.ends[1]
	}
	if !tidy {
		return other.isn + 1 + uint32(other.last)
	}
	n := slices.Index(other.had, false)
	if n < 0 {
		n = len(other.had)
	}
	return other.isn + 1 + uint32(n)
}

// capture notes the bytes of p.
func (p *sentSegment) capture() {
	s := p.of
	for i := p.off; i < p.off+p.keep; i++ {
		if !s.had[i] && i < s.next {
			s.late++
		}
		s.had[i] = true
		s.last = max(s.last, i+1)
	}
}

// segments cuts a stream at random, with copies, overlaps, losses and cuts. Within
// reach of each other they come in any order.
func segments(r *rand.Rand, s *stream, tidy bool) []sentSegment {
	var out []sentSegment
	add := func(off, n int) {
		p := sentSegment{of: s, off: off, len: n, keep: n, flags: packet.FlagACK}
		if !tidy && r.IntN(20) == 0 {
			p.keep = r.IntN(n + 1)
		}
		if off+n == len(s.data) {
			p.flags |= packet.FlagFIN
		}
		if !tidy && r.IntN(12) == 0 {
			return // lost
		}
		out = append(out, p)
	}
	for off := 0; off < len(s.data); {
		n := min(1+r.IntN(1460), len(s.data)-off)
		add(off, n)
		if r.IntN(6) == 0 { // again, from somewhere else on
			from := max(0, off-r.IntN(2000))
			add(from, 1+r.IntN(off+n-from))
		}
		off += n
	}
	for i := range out {
		if j := i + r.IntN(6); j < len(out) {
			out[i], out[j] = out[j], out[i]
		}
	}
	return out
}

func newStream(r *rand.Rand, src, dst netip.AddrPort) *stream {
	n := 1 + r.IntN(60_000)
	s := &stream{src: src, dst: dst, isn: -uint32(r.IntN(2 * n)), data: make([]byte, n), had: make([]bool, n)}
	for i := range s.data {
		s.data[i] = byte(r.Uint32())
	}
	return s
}

// add gives the Assembler a packet.
func (m *talk) add(a *tcpstream.Assembler, p sentSegment, frame uint64, now int64, tidy bool) {
	for len(m.sent) <= int(frame) {
		m.sent = append(m.sent, sentSegment{})
	}
	m.sent[frame] = p
	p.capture()
	h := packet.TCPHeader{Seq: p.of.isn + 1 + uint32(p.off), Flags: p.flags, Ack: m.ack(p.of, tidy)}
	data := bytes.Clone(p.of.data[p.off:][:p.keep])
	a.Add(&tcpstream.Segment{Src: p.of.src, Dst: p.of.dst, TCP: h, Data: data, Wire: p.len, Frame: frame, Nanos: now})
	clear(data)
}

// open sends the SYNs.
func (m *talk) open(a *tcpstream.Assembler, now int64) {
	for _, s := range m.ends {
		a.Add(&tcpstream.Segment{Src: s.src, Dst: s.dst, TCP: packet.TCPHeader{Seq: s.isn, Flags: packet.FlagSYN}, Nanos: now})
	}
}

// converse runs n connections side by side and returns what was seen of them.
func converse(t *testing.T, seed uint64, n int, lim tcpstream.Limits, tidy, tight bool) (talks, *tcpstream.Assembler) {
	r := rand.New(rand.NewPCG(seed, 4))
	ts := talks{}
	a := tcpstream.New(lim, ts)
	now, frame := 1000*second, uint64(0)
	var from []*talk
	var queues [][]sentSegment
	for i := range n {
		m := &talk{t: t, r: r, tight: tight}
		m.ends = [2]*stream{newStream(r, flood(i), server), newStream(r, server, flood(i))}
		ts[flood(i)] = m
		m.open(a, now)
		from = append(from, m, m)
		queues = append(queues, segments(r, m.ends[0], tidy), segments(r, m.ends[1], tidy))
	}
	for len(queues) > 0 {
		k := r.IntN(len(queues))
		if len(queues[k]) == 0 {
			from, queues = slices.Delete(from, k, k+1), slices.Delete(queues, k, k+1)
			continue
		}
		frame++
		now += int64(r.IntN(50)) * milli / int64(n)
		from[k].add(a, queues[k][0], frame, now, tidy)
		a.Tick(now)
		if problem := a.Check(); problem != "" {
			t.Fatalf("seed %d, frame %d: %s", seed, frame, problem)
		}
		queues[k] = queues[k][1:]
	}
	a.Flush(now)
	if a.Used() != 0 || a.Spans() != 0 || a.Live() != 0 {
		t.Fatalf("seed %d: bytes, spans, connections after the end\n got %d, %d, %d\nwant 0, 0, 0", seed, a.Used(), a.Spans(), a.Live())
	}
	return ts, a
}

// TestModel sends random streams in both directions, cut, shuffled, doubled,
// overlapping and with losses, and compares what comes out with what was sent: all
// of it, but for exactly the bytes that were not captured in time.
func TestModel(t *testing.T) {
	for seed := range uint64(400) {
		tidy := seed%4 == 0
		ts, _ := converse(t, seed, 1, tcpstream.Limits{}, tidy, false)
		ts[flood(0)].verify(seed, tidy)
	}
}

// TestModelTight does the same with more connections than there is memory for: what
// comes out must be right, and bytes in it may be given up.
func TestModelTight(t *testing.T) {
	given := uint64(0)
	for seed := range uint64(6) {
		ts, a := converse(t, seed, 80, tcpstream.Limits{Bytes: 256 << 10, DirBytes: 16 << 10}, false, true)
		given += a.Counters.GivenUp
		for _, m := range ts {
			if m.closed != 1 {
				t.Fatalf("seed %d: closed\n got %d times\nwant 1", seed, m.closed)
			}
		}
	}
	if given == 0 {
		t.Error("nothing was given up: memory is not tight")
	}
}

// verify compares the sums: Break and Data have compared the bytes.
func (m *talk) verify(seed uint64, tidy bool) {
	for _, s := range m.ends {
		missing := s.late
		for _, had := range s.had[:s.last] {
			if !had {
				missing++
			}
		}
		if got := s.gaps - (s.next - s.last); s.next < s.last || got != missing {
			m.t.Fatalf("seed %d: stream of %d, captured to %d\n got to %d, %d missing\nwant %d missing", seed, len(s.data), s.last, s.next, got, missing)
		}
		if tidy && (s.gaps > 0 || s.next != len(s.data)) {
			m.t.Fatalf("seed %d: complete stream of %d\n got to %d, %d missing", seed, len(s.data), s.next, s.gaps)
		}
		if s.breaks == 0 {
			m.t.Fatalf("seed %d: a direction without end", seed)
		}
	}
	if m.closed != 1 {
		m.t.Fatalf("seed %d: closed\n got %d times\nwant 1", seed, m.closed)
	}
}
