package pipeline

import (
	"qsniff/dissect"
	"qsniff/reassembly/tcpstream"
)

// streams makes messages of the connections of one partition: it is the sink of
// their reassembly. What it knows of a connection lies in an array by slot.
type streams struct {
	p        *partition
	asm      *tcpstream.Assembler
	conns    []*connection // each is used again
	budget   dissect.Budget
	sessions []dissect.Session // not in use, of the protocol that has any
	used     int               // sessions in use
	begun    uint64            // connections that were identified so far
	know     dissect.Stream    // of the context at work
	reply    dissect.Message   // that was joined
}

// connection is what is known of one connection.
type connection struct {
	dis    dissect.StreamDissector // nil: nobody's yet
	sess   dissect.Session
	server int    // index of the server's end
	why    string // what the belief in dis rests on; a constant
	conn   *tcpstream.Conn
	number uint64 // from 1, in the order in which connections were identified
	used   uint64 // frame at which it last had a message
	first  uint64 // first frame of its first message
	key    uint64 // first frame of what was reported last
	frame  uint64 // its last frame
	nanos  int64  // and the time of that
	way    [2]direction

	givenUp bool // it was ours, and its session made room
}

// over tells whether both ends have closed their direction.
func (k *connection) over() bool { return k.way[0].over && k.way[1].over }

// worth orders connections by what is lost with them: one that both ends have
// closed, one in which a single end has spoken, whose address can be forged, one
// in which both have.
func (k *connection) worth() int {
	switch {
	case k.over():
		return 0
	case k.way[0].spoke != k.way[1].spoke:
		return 1
	}
	return 2
}

// direction is where reading is in what one end sends.
type direction struct {
	skip    uint64 // bytes that are left of a message whose middle is missing
	lost    bool   // where a message begins has to be found
	gap     bool   // the next message does not follow the one before
	behind  bool   // nor, maybe, what the other end said before it
	missed  uint64 // bytes that were missing while the connection was nobody's
	spoke   bool   // it had a message
	waiting bool   // there is a whole message that is too weak to be believed
	passed  uint64 // bytes since the last message that could not be read
	over    bool   // its sender has closed it

	// While the connection is nobody's:
	begun    bool // it was looked at
	searched bool // its begin was looked for
	sought   int  // bytes passed in doing so
}

func newStreams(p *partition) *streams {
	s := &streams{p: p, budget: dissect.Budget{Limit: int(sessionMemory * p.size)}}
	s.asm = tcpstream.New(tcpstream.Limits{Bytes: int(tcpstream.DefaultBytes * p.size)}, s)
	return s
}

// of is what is known of c. The first connection of a slot brings the memory for it:
// few captures have as many connections as there are slots.
func (s *streams) of(c *tcpstream.Conn) *connection {
	for len(s.conns) <= c.Slot {
		s.conns = append(s.conns, new(connection))
	}
	return s.conns[c.Slot]
}

// add takes a segment.
func (s *streams) add(it *item) {
	s.asm.Add(&tcpstream.Segment{Src: it.Src, Dst: it.Dst, TCP: it.TCP, Data: it.Payload, Wire: it.Wire,
		Frame: it.frame, Nanos: it.age})
}

// Data reads the messages in what one end sent.
func (s *streams) Data(c *tcpstream.Conn, dir int, ch *tcpstream.Chunk) (done, need int) {
	k := s.of(c)
	k.way[dir].over = false
	if k.dis == nil {
		if done, need = s.identify(c, k, dir, ch); k.dis == nil {
			return done, need
		}
	}
	s.look(c, dir, &k.way[dir], ch) // the other end's bytes may have told whose it is
	return s.read(c, k, dir, ch, done, false)
}

// read reads the messages from offset done on. last tells that nothing follows ch
// without a break.
func (s *streams) read(c *tcpstream.Conn, k *connection, dir int, ch *tcpstream.Chunk, done int, last bool) (int, int) {
	w := &k.way[dir]
	for done < len(ch.Data) {
		if w.skip > 0 {
			n := min(w.skip, uint64(len(ch.Data)-done))
			w.skip -= n
			done += int(n)
			continue
		}
		ctx := s.context(c, k, dir)
		s.know.Last = last
		if w.lost {
			n, need := k.dis.Resync(ctx, ch.Data[done:], last)
			done, w.passed = done+n, w.passed+uint64(n)
			if need > 0 || done == len(ch.Data) {
				return done, need
			}
			w.lost = false
			s.resumed(c, k, w, dir)
		}
		switch r := k.dis.Frame(ctx, ch.Data[done:]); {
		case r.Conf == dissect.No:
			w.lost = true
			w.passed++
			done++
		case r.Need > 0:
			return done, r.Need
		default:
			s.message(c, k, dir, ch, done, &r)
			done += r.Len
			w.lost = r.Bad
		}
	}
	return done, 0
}

// context is that of the bytes that end dir sent.
func (s *streams) context(c *tcpstream.Conn, k *connection, dir int) *dissect.Context {
	ctx := &s.p.ctx
	s.know = dissect.Stream{Dir: dissect.ToServer, Session: k.sess, Opened: c.Begun(),
		Gap: k.way[dir].gap, Behind: k.way[dir].behind || c.Behind(1-dir)}
	if dir == k.server {
		s.know.Dir = dissect.ToClient
	}
	*ctx = dissect.Context{Src: c.Ends[dir], Dst: c.Ends[1-dir], Stream: &s.know, Unread: s.p.render == nil}
	return ctx
}

// Break reads what there is in front of a gap or of the end.
func (s *streams) Break(c *tcpstream.Conn, dir int, ch *tcpstream.Chunk, b tcpstream.Break) {
	k := s.of(c)
	w := &k.way[dir]
	w.begun = w.begun || b.Why.Gap() // what lies behind a gap is no begin
	if k.dis == nil && !s.begins(c, k, dir, ch) {
		w.lost, w.waiting = true, false
		w.missed += b.Len
		return
	}
	done, _ := s.read(c, k, dir, ch, 0, true)
	left := w.skip // of a message that began in front of the gap
	rest := ch.Data[done:]
	if len(rest) > 0 {
		left = s.torn(c, k, dir, ch, done, b.Why)
	}
	if !b.Why.Gap() {
		w.over = true
		return
	}
	s.missing(c, k, dir, b, len(rest))
	w.gap, k.way[1-dir].behind = true, true
	w.skip = 0
	if left >= b.Len && !w.lost {
		w.skip = left - b.Len
		return
	}
	w.lost = true
}

// Conflict reports bytes that came twice with different content.
func (s *streams) Conflict(c *tcpstream.Conn, dir int, frame uint64, n int) {
	if k := s.of(c); k.dis != nil {
		s.record(c, k, &tcpstream.Conflict, uint64(n), dir)
	}
}

// Close ends a connection.
func (s *streams) Close(c *tcpstream.Conn) {
	k := s.of(c)
	switch {
	case k.givenUp:
	case k.dis == nil:
		s.p.n.tcpOther += uint64(c.DataSegments)
		s.p.n.tcpEmpty += uint64(c.Segments - c.DataSegments)
	default:
		for dir := range k.way {
			s.resumed(c, k, &k.way[dir], dir)
		}
		s.end(c, k)
	}
	*k = connection{}
}

// end says that no message follows, reports the reply that this ends, and gives
// the session back.
func (s *streams) end(c *tcpstream.Conn, k *connection) {
	ctx := s.context(c, k, k.server)
	k.dis.Finish(ctx)
	s.joined(ctx, k)
	s.p.hangUp(k)
	k.sess.Reset()
	s.sessions = append(s.sessions, k.sess)
	s.used--
}
