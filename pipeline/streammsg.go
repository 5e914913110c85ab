package pipeline

import (
	"slices"

	"qsniff/dissect"
	"qsniff/finding"
	"qsniff/reassembly/tcpstream"
	"qsniff/render"
)

// What a TCP message was joined from, and what an end of a stream within one says.
const (
	tcpSegments = "TCP segments"
	messages    = "messages"
)

// tornBy says what became of the rest of a message that a break cut.
var tornBy = [...]string{
	tcpstream.Lost:     "segments of the connection are missing in the capture",
	tcpstream.Cut:      "the capture cut the segments of the connection",
	tcpstream.GivenUp:  "its bytes were given up to stay within memory",
	tcpstream.Finished: "the sender closed the connection within the message",
	tcpstream.Reset:    "the connection was reset within the message",
	tcpstream.Reused:   "a new connection began between the same ends",
	tcpstream.Ended:    "the capture ended within the message",
	tcpstream.Expired:  "the connection was silent for too long",
	tcpstream.Evicted:  "the connection was given up to stay within memory",
}

// message reports the message r at offset off of ch.
func (s *streams) message(c *tcpstream.Conn, k *connection, dir int, ch *tcpstream.Chunk, off int, r *dissect.Record) {
	s.report(c, k, dir, ch, off, ch.Data[off:off+r.Len], r.Type, r.Len, "", true)
}

// torn reports the start of a message that a break ends, at offset off of ch, and
// returns how many bytes of it are missing, 0 if that is not known.
func (s *streams) torn(c *tcpstream.Conn, k *connection, dir int, ch *tcpstream.Chunk, off int, why tcpstream.Reason) (left uint64) {
	rest, w := ch.Data[off:], &k.way[dir]
	ctx := s.context(c, k, dir)
	r := k.dis.Frame(ctx, rest)
	if w.lost || r.Conf == dissect.No {
		w.passed += uint64(len(rest))
		w.lost = true
		return 0
	}
	wire := max(r.Len, len(rest)+1)
	if why == tcpstream.Finished {
		wire = len(rest) // the sender's fault: malformed
	}
	s.report(c, k, dir, ch, off, rest, r.Type, wire, tornBy[why], r.Len > 0)
	if r.Len == 0 {
		w.lost = true
		return 0
	}
	return uint64(r.Len - len(rest))
}

// report dissects b, at offset off of ch, as a message of type t and wire bytes, reports it
// and what it ends. Where the length is not known wire only says that there was
// more.
func (s *streams) report(c *tcpstream.Conn, k *connection, dir int, ch *tcpstream.Chunk, off int, b []byte, t *dissect.Type, wire int, why string, known bool) {
	p := s.p
	src := source{src: c.Ends[dir], dst: c.Ends[1-dir], data: b, run: len(b), wire: wire, tcp: true, conn: k.number, why: why}
	s.origin(&src, ch, off, len(b))
	ctx := s.context(c, k, dir)
	ctx.Wire = wire
	s.know.Frame = src.frame
	m := &p.msg
	m.Reset(k.dis.Proto(), b)
	k.dis.Dissect(ctx, t, b, m)
	m.Conf, m.Why = dissect.Likely, k.why
	if m.Type != nil {
		src.reply = m.Type.Reply
	}
	k.way[dir].gap, k.way[dir].behind = false, false
	k.way[dir].spoke, k.used = true, p.frame
	k.dis.Learn(ctx, m)
	if why != "" && m.Status == dissect.Complete {
		m.Status = dissect.Truncated
	}
	if !known {
		m.Wire = len(b)
	}
	k.key, k.frame, k.nanos = firstFrame(&src), src.frame, src.nanos
	if k.first == 0 {
		k.first = k.key
	}
	src.stream = k.first
	p.emit(&src)
	s.joined(ctx, k)
}

// origin fills in which packets brought n bytes from offset off of ch on. The one
// that came last completed them.
func (s *streams) origin(src *source, ch *tcpstream.Chunk, off, n int) {
	p := s.p
	p.frames = p.frames[:0]
	for i := range ch.Pieces {
		x := &ch.Pieces[i]
		if int(x.Off+x.Len) <= off || int(x.Off) >= off+n {
			continue
		}
		p.frames = append(p.frames, x.Frame)
		if x.Frame > src.frame {
			src.frame, src.nanos = x.Frame, x.Nanos+p.shift
		}
		if len(p.frames) == 1 || x.Nanos+p.shift < src.began {
			src.began = x.Nanos + p.shift
		}
	}
	if len(p.frames) > 1 {
		slices.Sort(p.frames)
		src.frames, src.cut = slices.Compact(p.frames), tcpSegments
	}
}

// joined reports a reply that came in several messages, if the one at hand ended
// one. Those who do not read it have seen its messages.
func (s *streams) joined(ctx *dissect.Context, k *connection) {
	p := s.p
	s.know.Frames = s.know.Frames[:0]
	if p.render == nil || !k.dis.Joined(ctx, &s.reply) {
		return
	}
	server, client := ctx.Src, ctx.Dst
	if s.know.Dir == dissect.ToServer {
		server, client = client, server
	}
	src := source{src: server, dst: client, tcp: true, conn: k.number, reply: true, record: "reply", cut: messages,
		frames: s.know.Frames, frame: k.frame, nanos: k.nanos, key: k.key}
	src.stream = k.first
	p.msg, s.reply = s.reply, p.msg
	p.emit(&src)
	p.msg, s.reply = s.reply, p.msg
}

// missing reports a gap in what end dir sent, behind left bytes that were there.
func (s *streams) missing(c *tcpstream.Conn, k *connection, dir int, b tcpstream.Break, left int) {
	if b.Why == tcpstream.GivenUp {
		s.record(c, k, &tcpstream.Dropped, b.Len+uint64(left), dir)
		return
	}
	s.record(c, k, &tcpstream.Missing, b.Len, dir)
}

// resumed reports the bytes that could not be read, if there are any.
func (s *streams) resumed(c *tcpstream.Conn, k *connection, w *direction, dir int) {
	if w.passed > 0 {
		s.record(c, k, &tcpstream.Skipped, w.passed, dir)
		w.passed, w.gap = 0, true
	}
}

// record reports a finding about n bytes that end dir sent, at the packet at hand
// and behind what was reported last.
func (s *streams) record(c *tcpstream.Conn, k *connection, code *finding.Code, n uint64, dir int) {
	p := s.p
	p.expert = finding.Expert{Code: code, Severity: code.Severity, Field: -1, A: n}
	p.detail = append(p.detail[:0], ": "...)
	p.detail = c.Ends[dir].AppendTo(p.detail)
	p.detail = c.Ends[1-dir].AppendTo(append(p.detail, " > "...))
	p.frames = append(p.frames[:0], p.frame)
	p.record = render.Record{Nanos: p.nanos, Expert: &p.expert, Frames: p.frames,
		Server: c.Ends[k.server], Client: c.Ends[1-k.server], Detail: p.detail}
	p.conn = k.first
	p.emitRecord(k.key)
	p.conn = 0
}
