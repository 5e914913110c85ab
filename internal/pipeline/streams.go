package pipeline

import (
	"slices"

	"qsniff/dissect"
	"qsniff/reassembly/tcpstream"
)

// streams makes messages of the connections of one partition. It is the sink of
// their reassembly, and keeps the state of each connection in an array by slot.
type streams struct {
	now        *current
	asm        *tcpstream.Assembler
	claims     claims
	report     connReport
	conns      []*connection // each is used again
	sessions   sessions
	identified uint64 // connections that were identified so far
}

// newStreams returns streams whose tables are size times as large as usual.
func newStreams(size float64, q claims, r connReport) *streams {
	s := &streams{now: r.now, claims: q, report: r}
	s.sessions.budget.Limit = int(sessionMemory * size)
	s.asm = tcpstream.New(tcpstream.Limits{Bytes: int(tcpstream.DefaultBytes * size)}, s)
	return s
}

// connectionOf returns the state of c. Memory for states is allocated where they are used up:
// few captures have as many connections as there are slots.
func (s *streams) connectionOf(c *tcpstream.Conn) *connection {
	for len(s.conns) <= c.Slot {
		more := make([]connection, tcpstream.MoreConns(len(s.conns)))
		s.conns = slices.Grow(s.conns, len(more))
		for i := range more {
			s.conns = append(s.conns, &more[i])
		}
	}
	return s.conns[c.Slot]
}

// addSegment adds a TCP segment.
func (s *streams) addSegment(it *item) {
	s.asm.Add(&tcpstream.Segment{Src: it.Src, Dst: it.Dst, TCP: it.TCP, Data: it.Payload, Wire: it.Wire,
		Frame: it.frame, Nanos: it.age})
}

// expire closes the connections that were silent too long, and skips what is missing too
// long.
func (s *streams) expire(age int64) { s.asm.Tick(age) }

// flush closes all connections at the end of the capture.
func (s *streams) flush(age int64) { s.asm.Flush(age) }

// Data implements tcpstream.Sink: it reads the messages in what one end sent, and first
// finds the protocol of the connection if that is unknown.
func (s *streams) Data(c *tcpstream.Conn, dir int, ch *tcpstream.Chunk) (done, need int) {
	k := s.connectionOf(c)
	k.dirs[dir].isClosed = false
	if k.dissector == nil {
		if done, need = s.findProtocol(c, k, dir, ch); k.dissector == nil {
			return done, need
		}
	}
	s.lookAtBegin(c, dir, &k.dirs[dir], ch) // the other end's bytes may have shown the protocol
	return s.readMessages(c, k, dir, ch, done, false)
}

// readMessages reports the messages of ch from offset done on. last is set if nothing
// follows ch without a break. It returns the offset after the last message, and how many
// bytes the next one needs, as Data does.
func (s *streams) readMessages(c *tcpstream.Conn, k *connection, dir int, ch *tcpstream.Chunk, done int, last bool) (int, int) {
	w := &k.dirs[dir]
	for done < len(ch.Data) {
		if w.skip > 0 {
			n := min(w.skip, uint64(len(ch.Data)-done))
			w.skip -= n
			done += int(n)
			continue
		}
		ctx := s.report.makeContext(c, k, dir)
		s.report.stream.Last = last
		if w.isLost {
			n, need := k.dissector.Resync(ctx, ch.Data[done:], last)
			done, w.passed = done+n, w.passed+uint64(n)
			if need > 0 || done == len(ch.Data) {
				return done, need
			}
			w.isLost = false
			s.report.reportSkipped(c, k, w, dir)
		}
		switch r := k.dissector.Frame(ctx, ch.Data[done:]); {
		case r.Conf == dissect.No:
			w.isLost = true
			w.passed++
			done++
		case r.Need > 0:
			return done, r.Need
		default:
			s.report.reportWhole(c, k, dir, ch, done, &r)
			done += r.Len
			w.isLost = r.Bad
		}
	}
	return done, 0
}

// Break implements tcpstream.Sink: it reads what there is before a gap or the end.
func (s *streams) Break(c *tcpstream.Conn, dir int, ch *tcpstream.Chunk, b tcpstream.Break) {
	k := s.connectionOf(c)
	w := &k.dirs[dir]
	if (b.Why == tcpstream.Finished || b.Why == tcpstream.Reset) && !k.ending.set {
		k.ending = ending{why: b.Why, dir: dir, set: true}
	}
	w.isBegun = w.isBegun || b.Why.IsGap() // what follows a gap is not the start of the connection
	if k.dissector == nil && !s.adoptCut(c, k, dir, ch) {
		if !b.Why.IsGap() {
			s.reportHandshake(c, k, dir, b.Why)
		}
		w.isLost, w.hasWeakMessage = true, false
		w.missed += b.Len
		return
	}
	done, _ := s.readMessages(c, k, dir, ch, 0, true)
	left := w.skip // of a message that began before the gap
	rest := ch.Data[done:]
	if len(rest) > 0 {
		left = s.report.reportTorn(c, k, dir, ch, done, b.Why)
	}
	if !b.Why.IsGap() {
		w.isClosed = true
		if dir == k.server {
			s.report.reportEnding(c, k, b.Why)
		}
		return
	}
	s.report.reportGap(c, k, dir, b, len(rest))
	w.followsGap, k.dirs[1-dir].mayMissOther = true, true
	w.skip = 0
	if left >= b.Len && !w.isLost {
		w.skip = left - b.Len
		return
	}
	w.isLost = true
}

// reportHandshake adds the clue that the connection c, at a usual port of a protocol over TCP, was refused or ended
// by its server before anything was said. Direction dir of it ended for reason why.
func (s *streams) reportHandshake(c *tcpstream.Conn, k *connection, dir int, why tcpstream.Reason) {
	const opener, opened = 0, 1 // directions
	if !c.OpenerKnown || c.DataSegments > 0 || k.ending.isReported {
		return
	}
	how := 0
	switch isTaken := c.HasBothSYNs(); {
	case k.ending.set && (k.ending.dir != opened || dir != opened):
		return
	case why == tcpstream.Reset && isTaken:
		how = dissect.HandshakeReset
	case why == tcpstream.Reset && c.IsOpening():
		how = dissect.HandshakeRefused
	case why == tcpstream.Finished && isTaken:
		how = dissect.HandshakeClosed
	case (why == tcpstream.Ended || why == tcpstream.Expired) && dir == opener && !isTaken && c.IsOpening() && c.Segments >= minUnansweredSYNs:
		how = dissect.HandshakeUnanswered
	default:
		return
	}
	k.ending.isReported = true
	if p := s.claims.reg.StreamAt(c.Ends[opened].Port()); p != nil {
		s.report.emitter.emitHandshake(p, how, c.Ends[opened], c.Ends[opener])
	}
}

// Conflict implements tcpstream.Sink: it records and reports bytes that came twice with
// different content.
func (s *streams) Conflict(c *tcpstream.Conn, dir int, x tcpstream.Dispute) {
	k := s.connectionOf(c)
	k.dirs[dir].addDispute(x)
	if k.dissector != nil {
		s.report.reportFinding(c, k, &tcpstream.Conflict, uint64(x.N), dir)
	}
}

// Close implements tcpstream.Sink: it ends a connection, and counts its segments if no
// protocol claimed it.
func (s *streams) Close(c *tcpstream.Conn) {
	k := s.connectionOf(c)
	switch {
	case k.isEvicted:
	case k.dissector == nil:
		s.now.n.tcpOther += uint64(c.DataSegments)
		s.now.n.tcpEmpty += uint64(c.Segments - c.DataSegments)
	default:
		for dir := range k.dirs {
			s.report.reportSkipped(c, k, &k.dirs[dir], dir)
		}
		s.endConnection(c, k)
	}
	*k = connection{}
}

// endConnection reports the end of a connection, and frees its session.
func (s *streams) endConnection(c *tcpstream.Conn, k *connection) {
	s.report.reportEnd(c, k)
	s.sessions.giveBack(k.sess)
}

// findProtocol finds the protocol of a connection and adopts the connection for it. It
// returns how many bytes cannot be the start of a message, and how many are needed to go
// on. A connection of no known protocol is ignored from then on.
func (s *streams) findProtocol(c *tcpstream.Conn, k *connection, dir int, ch *tcpstream.Chunk) (done, need int) {
	if d := s.claims.findForced(c, k); d != nil {
		s.adopt(c, k, dir, d, dissect.WhyDecodeAs)
		return 0, 0
	}
	w := &k.dirs[dir]
	s.lookAtBegin(c, dir, w, ch)
	for {
		if w.isLost {
			n, need := s.claims.seek(c, ch.Data[done:])
			done, w.sought, w.isSearched = done+n, w.sought+n, true
			w.passed += uint64(n)
			if w.sought > maxSought {
				s.asm.Ignore(c)
				return done, 0
			}
			if need > 0 || done == len(ch.Data) {
				return done, need
			}
			w.isLost = false
		}
		v, toServer := s.claims.pickProtocol(c, dir, ch.Data[done:])
		switch {
		case v.Conf == dissect.No && c.OpenerKnown && !w.isSearched:
			if t := s.claims.reg.ForeignStream(c.Ends[1].Port(), ch.Data[done:]); t != nil && dir == 0 {
				s.report.emitter.emitForeign(t, c.Ends[1], c.Ends[0], true)
			}
			s.asm.Ignore(c)
			return done, 0
		case v.Conf == dissect.No:
			w.isLost = true
			done, w.sought = done+1, w.sought+1
			w.passed++
		case v.Need > 0:
			return done, v.Need
		default:
			why := s.claims.findReason(c, k, dir, &v, toServer, ch.Data[done:])
			if why == "" {
				w.hasWeakMessage = true
				return done, len(ch.Data) - done + 1
			}
			k.server = serverEnd(dir, toServer)
			s.adopt(c, k, dir, v.Dissector, why)
			return done, 0
		}
	}
}

// lookAtBegin looks at the first bytes that end dir sent. Unless a message begins with
// them, the start of a message has to be searched for.
func (s *streams) lookAtBegin(c *tcpstream.Conn, dir int, w *direction, ch *tcpstream.Chunk) {
	if !w.isBegun {
		w.isBegun = true
		w.isLost = !c.OpenerKnown && !s.claims.startsWithMessage(c, dir, ch.Data)
	}
}

// adoptCut adopts a connection whose first message a break cuts, so that no more of it
// will come, if the message is at the start of the connection and the port is that of
// its protocol. It reports whether it did.
func (s *streams) adoptCut(c *tcpstream.Conn, k *connection, dir int, ch *tcpstream.Chunk) bool {
	w := &k.dirs[dir]
	if !c.OpenerKnown || w.isSearched || len(ch.Data) == 0 {
		return false
	}
	v, toServer := s.claims.pickProtocol(c, dir, ch.Data)
	if v.Conf == dissect.No || !s.claims.reg.OnPort(v.Dissector, c.Ends[1].Port()) {
		return false
	}
	k.server = serverEnd(dir, toServer)
	w.isBegun = true
	s.adopt(c, k, dir, v.Dissector, "port")
	return true
}

// adopt makes d the protocol of a connection, for reason why, and reads what waits in the
// other direction.
func (s *streams) adopt(c *tcpstream.Conn, k *connection, dir int, d dissect.StreamDissector, why string) {
	s.identified++
	k.dissector, k.why, k.conn, k.number, k.used = d, why, c, s.identified, s.now.item.frame
	if s.sessions.areUsedUp() {
		s.evictConnection()
	}
	k.sess = s.sessions.take(d)
	s.asm.Offer(c, 1-dir)
	for dir := range k.dirs {
		if w := &k.dirs[dir]; w.missed > 0 {
			s.report.reportFinding(c, k, &tcpstream.Missing, w.missed, dir)
			w.missed = 0
		}
	}
	s.report.reportSkipped(c, k, &k.dirs[dir], dir)
}

// evictConnection ends the connection that is worth the least, of equals the one that has
// been silent longest, and ignores it from then on.
func (s *streams) evictConnection() {
	var least *connection
	for _, k := range s.conns {
		if k.sess != nil && (least == nil || k.worth() < least.worth() || k.worth() == least.worth() && k.used < least.used) {
			least = k
		}
	}
	c := least.conn
	s.endConnection(c, least)
	if !least.isOver() {
		s.now.n.sessionsEvicted++
	}
	*least = connection{isEvicted: true}
	s.asm.Ignore(c)
}
