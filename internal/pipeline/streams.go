package pipeline

import (
	"slices"

	"qsniff/dissect"
	"qsniff/dissect/finding"
	"qsniff/internal/render"
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

// connection is the state of one TCP connection.
type connection struct {
	dissector dissect.StreamDissector // nil: its protocol is unknown
	sess      dissect.Session
	server    int    // index of the server's end
	why       string // why dissector is believed to be right; a constant
	conn      *tcpstream.Conn
	number    uint64 // from 1, in the order in which connections were identified
	used      uint64 // frame at which it last had a message
	first     uint64 // first frame of its first message
	key       uint64 // first frame of what was reported last
	frame     uint64 // its last frame
	nanos     int64  // and the time of that
	dirs      [2]direction
	ending    ending

	isEvicted bool // its session was evicted: it is ignored
}

// ending is who ended a connection first.
type ending struct {
	why tcpstream.Reason // Finished or Reset; of the direction that ended first
	dir int              // its index
	set bool
	// isReported is set once no answer can come any more and EndReporter was asked.
	isReported bool
}

// isOver reports whether both ends have closed their direction.
func (k *connection) isOver() bool { return k.dirs[0].isClosed && k.dirs[1].isClosed }

// worth returns how much is lost if the connection is evicted: nothing if both ends have
// closed it, 1 if only one end has spoken, whose address can be forged, 2 if both have.
func (k *connection) worth() int {
	switch {
	case k.isOver():
		return 0
	case k.dirs[0].hasSpoken != k.dirs[1].hasSpoken:
		return 1
	}
	return 2
}

// direction is the state of reading what one end sends.
type direction struct {
	skip           uint64 // bytes to skip: the rest of a message that a gap is in
	isLost         bool   // the start of the next message has to be searched for
	followsGap     bool   // bytes are missing before the next message
	mayMissOther   bool   // messages of the other end may be missing before it
	missed         uint64 // bytes that were missing while the protocol was unknown
	hasSpoken      bool   // it had a message
	hasWeakMessage bool   // there is a whole message that is too weak to be believed
	passed         uint64 // bytes since the last message that could not be read
	isClosed       bool   // its sender has closed it
	// disputed are bytes of which it is unknown what the receiver read; N is 0 if there are none.
	disputed tcpstream.Dispute

	// While the protocol is unknown:
	isBegun    bool // its first bytes were looked at
	isSearched bool // the start of a message was searched for
	sought     int  // bytes that were searched
}

// addDispute adds bytes of which it is unknown what the receiver read, and those between them and
// others that no message had yet.
func (w *direction) addDispute(x tcpstream.Dispute) {
	if y := &w.disputed; y.N > 0 {
		if int32(y.Seq-x.Seq) < 0 {
			x.Seq = y.Seq
		}
		if int32(y.End-x.End) > 0 {
			x.End = y.End
		}
	}
	w.disputed = x
}

// takeDisputed reports whether disputed bytes are among the n from number seq on. Messages are
// asked about in order: those that end up to there are removed.
func (w *direction) takeDisputed(seq uint32, n int) bool {
	x := w.disputed
	end := seq + uint32(n)
	if x.N > 0 && int32(end-x.End) >= 0 {
		w.disputed.N = 0
	}
	return x.N > 0 && int32(x.Seq-end) < 0 && int32(x.End-seq) > 0
}

// serverEnd returns the index of the server's end, if end dir speaks to the server
// (toServer) or is the server.
func serverEnd(dir int, toServer bool) int {
	if toServer {
		return 1 - dir
	}
	return dir
}

// What a message over TCP was joined from, in words.
const (
	cutIntoSegments = "TCP segments"
	cutIntoMessages = "messages"
)

// tornBy is what became of the rest of a message that a break cut, in words.
var tornBy = [...]string{
	tcpstream.Lost:     "segments of the connection are missing in the capture",
	tcpstream.Cut:      "the capture cut the segments of the connection",
	tcpstream.GivenUp:  "its bytes were dropped to stay within memory",
	tcpstream.Finished: render.ClosedWithin,
	tcpstream.Reset:    render.ResetWithin,
	tcpstream.Reused:   "a new connection began between the same ends",
	tcpstream.Ended:    "the capture ended within the message",
	tcpstream.Expired:  "the connection was silent for too long",
	tcpstream.Evicted:  "the connection was evicted to stay within memory",
}

// connReport makes messages and notes of what is read in connections. A note is written
// at the packet at work, after what was last reported of its connection.
type connReport struct {
	now        *current
	tracker    *tracker
	emitter    *emitter
	sights     *sightMaker             // nil: there are no watchers
	skipsTexts map[*dissect.Proto]bool // see Config.skipsTexts
	ctx        dissect.Context
	stream     dissect.Stream   // ctx points to it
	msg        *dissect.Message // shared with who parses datagrams
	reply      dissect.Message  // that was joined
	frames     []uint64
}

// makeContext fills in r.ctx for bytes that end dir sent, and returns it.
func (r *connReport) makeContext(c *tcpstream.Conn, k *connection, dir int) *dissect.Context {
	ctx := &r.ctx
	r.stream = dissect.Stream{Dir: dissect.ToServer, Session: k.sess, Opened: c.HasBothSYNs(),
		Gap: k.dirs[dir].followsGap, OtherMissing: k.dirs[dir].mayMissOther || c.HasUndelivered(1-dir)}
	if dir == k.server {
		r.stream.Dir = dissect.ToClient
	}
	*ctx = dissect.Context{Src: c.Ends[dir], Dst: c.Ends[1-dir], Stream: &r.stream, Unread: k.dissector != nil && r.skipsTexts[k.dissector.Proto()]}
	return ctx
}

// reportWhole reports the message x at offset off of ch.
func (r *connReport) reportWhole(c *tcpstream.Conn, k *connection, dir int, ch *tcpstream.Chunk, off int, x *dissect.Record) {
	r.reportMessage(c, k, dir, ch, &reading{data: ch.Data[off : off+x.Len], off: off, typ: x.Type, wire: x.Len, isLenKnown: true})
}

// reportTorn reports the start of a message that a break cuts, at offset off of ch, and
// returns how many bytes of the message are missing, 0 if that is unknown.
func (r *connReport) reportTorn(c *tcpstream.Conn, k *connection, dir int, ch *tcpstream.Chunk, off int, why tcpstream.Reason) (left uint64) {
	rest, w := ch.Data[off:], &k.dirs[dir]
	x := k.dissector.Frame(r.makeContext(c, k, dir), rest)
	if w.isLost || x.Conf == dissect.No {
		w.passed += uint64(len(rest))
		w.isLost = true
		return 0
	}
	wire := max(x.Len, len(rest)+1)
	if why == tcpstream.Finished {
		wire = len(rest) // the sender's fault: malformed
	}
	r.reportMessage(c, k, dir, ch, &reading{data: rest, off: off, typ: x.Type, wire: wire, why: tornBy[why], isLenKnown: x.Len > 0})
	if x.Len == 0 {
		w.isLost = true
		return 0
	}
	return uint64(x.Len - len(rest))
}

// reading is a message, or the start of one, in a chunk of a stream.
type reading struct {
	data       []byte
	off        int // in the chunk
	typ        *dissect.Type
	wire       int    // length as sent, or any number above len(data) if that is unknown
	isLenKnown bool   // wire is the length as sent
	why        string // what became of the rest; empty if nothing is missing
}

// reportMessage dissects x, in ch, and reports it, and the reply in several messages that
// it completes.
func (r *connReport) reportMessage(c *tcpstream.Conn, k *connection, dir int, ch *tcpstream.Chunk, x *reading) {
	s := payload{src: c.Ends[dir], dst: c.Ends[1-dir], data: x.data, run: len(x.data), wire: x.wire, isTCP: true, conn: k.number, why: x.why, seq: ch.Seq + uint32(x.off)}
	r.addOrigin(&s, ch, x.off)
	ctx := r.makeContext(c, k, dir)
	ctx.Wire, ctx.Disputed = x.wire, k.dirs[dir].takeDisputed(s.seq, len(x.data))
	r.stream.Frame, r.stream.Nanos = s.frame, s.nanos
	m := r.msg
	m.Reset(k.dissector.Proto(), x.data)
	k.dissector.Dissect(ctx, x.typ, x.data, m)
	m.Conf, m.Why = dissect.Likely, k.why
	if m.Type != nil {
		s.isReply = m.Type.Reply
	}
	k.dirs[dir].followsGap, k.dirs[dir].mayMissOther = false, false
	k.dirs[dir].hasSpoken, k.used = true, r.now.item.frame
	k.dissector.Learn(ctx, m)
	if x.why != "" && m.Status == dissect.Complete {
		m.Status = dissect.Truncated
	}
	if !x.isLenKnown {
		m.Wire = len(x.data)
	}
	k.key, k.frame, k.nanos = s.firstFrame(), s.frame, s.nanos
	if k.first == 0 {
		k.first = k.key
	}
	s.stream = k.first
	r.tracker.trackMessage(&s, m)
	if r.sights != nil {
		r.sights.addLogin(&s, m)
	}
	r.reportJoined(ctx, k)
}

// addOrigin fills in the frames and times of the packets that brought s, at offset off of
// ch. The frame of s is the one that came last.
func (r *connReport) addOrigin(s *payload, ch *tcpstream.Chunk, off int) {
	shift := r.now.shift
	r.frames = r.frames[:0]
	for i := range ch.Pieces {
		x := &ch.Pieces[i]
		if int(x.Off+x.Len) <= off || int(x.Off) >= off+s.run {
			continue
		}
		r.frames = append(r.frames, x.Frame)
		if x.Frame > s.frame {
			s.frame, s.nanos = x.Frame, x.Nanos+shift
		}
		if len(r.frames) == 1 || x.Nanos+shift < s.began {
			s.began = x.Nanos + shift
		}
	}
	if len(r.frames) > 1 {
		slices.Sort(r.frames)
		s.frames, s.cut = slices.Compact(r.frames), cutIntoSegments
	}
}

// reportJoined reports a reply that came in several messages, if the one at hand completed
// it. If its texts are skipped, it does nothing: the single messages were counted.
func (r *connReport) reportJoined(ctx *dissect.Context, k *connection) {
	r.stream.Frames = r.stream.Frames[:0]
	if ctx.Unread || !k.dissector.Joined(ctx, &r.reply) {
		return
	}
	server, client := ctx.Src, ctx.Dst
	if r.stream.Dir == dissect.ToServer {
		server, client = client, server
	}
	s := payload{src: server, dst: client, isTCP: true, conn: k.number, stream: k.first, isReply: true, record: "reply", cut: cutIntoMessages,
		frames: r.stream.Frames, frame: k.frame, nanos: k.nanos, key: k.key}
	r.tracker.trackMessage(&s, &r.reply)
}

// reportGap reports a gap in what end dir sent. The left bytes before it belong to no
// whole message.
func (r *connReport) reportGap(c *tcpstream.Conn, k *connection, dir int, b tcpstream.Break, left int) {
	if b.Why == tcpstream.GivenUp {
		r.reportFinding(c, k, &tcpstream.Dropped, b.Len+uint64(left), dir)
		return
	}
	r.reportFinding(c, k, &tcpstream.Missing, b.Len, dir)
}

// reportSkipped reports the bytes that could not be read, if there are any.
func (r *connReport) reportSkipped(c *tcpstream.Conn, k *connection, w *direction, dir int) {
	if w.passed > 0 {
		r.reportFinding(c, k, &tcpstream.Skipped, w.passed, dir)
		w.passed, w.followsGap = 0, true
	}
}

// reportFinding reports a finding about n bytes that end dir sent.
func (r *connReport) reportFinding(c *tcpstream.Conn, k *connection, code *finding.Code, n uint64, dir int) {
	x := r.emitter.newNote(code, n, 0)
	x.Server, x.Client = c.Ends[k.server], c.Ends[1-k.server]
	d := c.Ends[dir].AppendTo(append(x.Detail, ": "...))
	x.Detail = c.Ends[1-dir].AppendTo(append(d, " > "...))
	r.emitter.emitNote(k.key, k.first)
}

// reportEnding asks the protocol what it means that the server sends nothing more, and reports that. why is the
// reason.
func (r *connReport) reportEnding(c *tcpstream.Conn, k *connection, why tcpstream.Reason) {
	d, ok := k.dissector.(dissect.EndReporter)
	if k.ending.isReported || !ok || why.IsGap() || why == tcpstream.Evicted {
		return
	}
	k.ending.isReported = true
	ctx := r.makeContext(c, k, k.server)
	e := dissect.Ending{Nanos: r.now.item.nanos}
	if k.ending.set {
		e.By, e.IsReset = dissect.ToClient, k.ending.why == tcpstream.Reset
		if k.ending.dir != k.server {
			e.By = dissect.ToServer
		}
	}
	found, text, ok := d.ReportEnd(ctx, e)
	if !ok {
		return
	}
	x := r.emitter.newNote(found.Code, found.A, found.B)
	x.Expert.Severity = found.Severity
	x.Server, x.Client = c.Ends[k.server], c.Ends[1-k.server]
	x.Detail = append(x.Detail, ": "...)
	if len(text) > 0 {
		x.Detail = append(append(x.Detail, text...), ": "...)
	}
	x.Detail = x.Client.AppendTo(x.Detail)
	x.Detail = x.Server.AppendTo(append(x.Detail, " > "...))
	r.emitter.emitNote(k.key, k.first)
}

// reportEnd reports the end of a connection, and the reply in several messages that it
// completes.
func (r *connReport) reportEnd(c *tcpstream.Conn, k *connection) {
	ctx := r.makeContext(c, k, k.server)
	k.dissector.Finish(ctx)
	r.reportJoined(ctx, k)
	r.emitter.emitEnd(k.first, k.key)
}

const (
	// limit: sessionMemory is the bytes for replies that come in several messages, which protocols keep
	// besides the fixed size of a session. 4 MiB in all partitions hold twenty of the longest lists that
	// consoles print.
	sessionMemory = 256 << 10
	// limit: minUnansweredSYNs is how many SYNs without an answer show that nobody takes the connection:
	// Linux and Windows repeat the first one after 1 and after 3 s.
	minUnansweredSYNs = 3
	// limit: maxSought is how many bytes of one direction are searched for the start of a message where
	// the start of the connection was not captured. Chosen as one long message: a file that is being
	// downloaded is not searched to its end.
	maxSought = 64 << 10
)
