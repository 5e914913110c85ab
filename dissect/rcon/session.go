package rcon

import (
	"slices"
	"unicode/utf8"

	"qsniff/dissect"
	"qsniff/dissect/finding"
	"qsniff/internal/base/console"
)

// authState is how far the client's login got.
type authState uint8

const (
	authNone authState = iota
	authAsked
	authDone
	authFailed
)

// request is a client's packet that waits for an answer.
type request struct {
	id       int32
	probe    bool
	whole    bool // the capture is whole since
	seq      uint64
	nanos    int64
	ncommand uint8
	command  [maxCommand]byte
}

// session is what one connection showed so far.
type session struct {
	budget *dissect.Budget

	auth            authState
	authID          int32
	authSeq         uint64
	authNanos       int64
	authWhole       bool // the capture is whole since the login
	preamble        bool // a RESPONSE_VALUE with its id followed it
	preambleLen     int  // length of the longest such
	saidBan         bool // and one says that the address is banned
	clearTextRaised bool // RCN-08 was raised
	twoOpenRaised   bool // RCN-21 was raised

	gapped        bool // bytes were missing, now or before
	serverSpoke   bool // the server sent a packet
	afterEmpty    bool // the server's last packet was empty and of type 0
	serverTorn    bool // the server's last packet did not end with its NULs
	clientTorn    bool // the client's last packet did not
	echoesIDs     bool // the server repeats ids
	hasFixedID    bool // the server puts one id into all its packets
	neverMirrors  bool // an end probe was not answered
	outputMissing bool // bytes of the server are missing, and no output followed

	passwords console.Passwords

	seq uint64 // requests so far
	// answered is the last request that was answered, or that the server may have answered.
	answered uint64
	asked    []request // those without an answer, at most maxAsked

	cur   reply
	ended reply // the reply that ended last; valid where endedBy is set
	// endedBy is what showed that ended is over; nil if the last message ended no
	// reply of several packets.
	endedBy []byte
}

// Reset empties the session and releases what it took from the Budget. The lists
// keep their memory for the next connection.
func (s *session) Reset() {
	s.releaseBody(&s.cur, 0)
	s.releaseBody(&s.ended, 0)
	*s = session{budget: s.budget, asked: s.asked[:0],
		cur: reply{frames: s.cur.frames[:0]}, ended: reply{frames: s.ended.frames[:0]}}
}

// Learn adds what the message shows of its connection.
func (d *Dissector) Learn(c *dissect.Context, m *dissect.Message) {
	v := viewOf(c)
	if !v.known {
		return
	}
	s := v.s
	s.dropEnded()
	if v.dir == dissect.Unsure {
		v.dir = dissect.ToServer
		if m.Type != nil && m.Type.Reply {
			v.dir = dissect.ToClient
		}
	}
	fromServer := v.dir == dissect.ToClient
	p, ok := packetOf(m)
	pl := place{asked: -1}
	if ok {
		pl = v.placePacket(&p)
	}
	if fromServer {
		s.serverSpoke, s.afterEmpty, s.serverTorn = true, false, isTorn(m)
	} else {
		s.clientTorn = isTorn(m)
	}
	stray := m.Find(&defSize) == nil && m.Find(&dissect.Trailing) != nil
	if v.gap || !ok && !stray {
		s.markMissing(fromServer && (v.torn || !ok))
	}
	if !fromServer || m.Find(&defPassword) != nil {
		m.CollectPasswords(&s.passwords)
	}
	switch {
	case stray:
		s.endReply(endTrailer)
	case !ok:
	case fromServer:
		m.KeepTail(&s.passwords.Tail, &defBody, pl.part > 1)
		if nul := m.Find(&defTerminators); nul != nil && nul.Len > endLen {
			s.passwords.Tail.AddNUL()
		}
		s.addReply(&v, c.Stream.Frame, m, &p, pl)
	default:
		s.addRequest(c.Stream.Nanos, m, &p, pl)
	}
}

// packetOf returns the packet whose fields m has; ok is false where m has no whole header.
func packetOf(m *dissect.Message) (p packet, ok bool) {
	size, id, num := m.Find(&defSize), m.Find(&defID), m.Find(&defType)
	if num == nil || num.Flags&dissect.Cut != 0 || !(header{n: headerLen, size: uint32(size.Num)}).fits(maxSize) && findRaised(m, &codeUncounted) == nil {
		return p, false
	}
	p = packet{id: int32(id.Num), num: int32(num.Num), body: bodyOf(m)}
	p.n = len(p.body)
	if m.Stopped != nil {
		p.n = max(p.n, int(size.Num)-minSize)
	}
	return p, true
}

// bodyOf is the body of m with its secrets.
func bodyOf(m *dissect.Message) []byte {
	for i := range m.Fields {
		switch f := &m.Fields[i]; f.Def {
		case &defPassword:
			return m.Bytes(f)
		case &defBody:
			if n := m.Pieces(i); n > 1 {
				return m.Joined(i, n)
			}
			return m.Bytes(f)
		}
	}
	return nil
}

// isTorn reports whether m ends without its NULs, as where its size is too small.
func isTorn(m *dissect.Message) bool {
	x := findRaised(m, &codeTerminators)
	return x != nil && x.A < endLen
}

// findRaised returns the finding of a code in m, or nil.
func findRaised(m *dissect.Message, code *finding.Code) *finding.Expert {
	for i := range m.Expert {
		if x := &m.Expert[i]; x.Code == code {
			return x
		}
	}
	return nil
}

// markMissing records that bytes are missing from the capture: from here on a packet
// that was not seen may have been sent all the same.
func (s *session) markMissing(fromServer bool) {
	s.gapped, s.authWhole = true, false
	for i := range s.asked {
		s.asked[i].whole = false
	}
	if fromServer {
		s.cur.gap, s.outputMissing, s.cur.isUnfinished = s.cur.open, true, false
	}
}

// addRequest adds a client's packet.
func (s *session) addRequest(nanos int64, m *dissect.Message, p *packet, pl place) {
	s.seq++
	if p.num == numAuth {
		s.auth, s.authID, s.authSeq = authAsked, p.id, s.seq
		s.authWhole, s.authNanos = true, nanos
		s.preamble, s.preambleLen, s.saidBan = false, 0, false
		s.clearTextRaised = s.clearTextRaised || findRaised(m, &codeClearText) != nil
		return
	}
	s.twoOpenRaised = s.twoOpenRaised || findRaised(m, &codeTwoOpen) != nil
	if pl.role == noRole && s.cur.open && !s.hasProbe() {
		s.cur.overtaken = true
		s.cur.continuesRaised = s.cur.continuesRaised || findRaised(m, &codeContinues) != nil
	}
	if len(s.asked) == maxAsked {
		s.removeRequest(0)
	}
	q := request{id: p.id, probe: pl.role == probe, whole: true, seq: s.seq, nanos: nanos}
	q.ncommand = uint8(copy(q.command[:], commandStart(m)))
	s.asked = append(s.asked, q)
}

// commandStart is the start of the command in m that can be kept: up to the first
// secret, without half a character.
func commandStart(m *dissect.Message) []byte {
	f := m.Find(&defBody)
	if f == nil {
		return nil
	}
	b := m.Bytes(f)
	if len(b) <= maxCommand {
		return b
	}
	n := maxCommand
	for n > maxCommand-utf8.UTFMax && !utf8.RuneStart(b[n]) {
		n--
	}
	return b[:n]
}

// removeRequest removes the request at index k.
func (s *session) removeRequest(k int) {
	s.asked = slices.Delete(s.asked, k, k+1)
}

// addReply adds a server's packet.
func (s *session) addReply(v *view, frame uint64, m *dissect.Message, p *packet, pl place) {
	s.afterEmpty = p.num == numValue && p.n == 0
	if p.num == numAuthResponse || p.num == numValue && (p.n > 0 || pl.role == mirror) {
		s.outputMissing = false
	}
	switch {
	case p.num == numAuthResponse:
		s.addLoginAnswer(p.id)
		return
	case pl.isLoginAnswer: // its id is the login's, and its type says the rest
		s.addLoginAnswer(p.num)
		return
	case pl.preamble:
		s.preamble = true
		s.preambleLen = max(s.preambleLen, p.n)
		s.saidBan = s.saidBan || saysBan(p.body)
		return
	case pl.role == trailer:
		s.endReply(endTrailer)
		if k := s.findRequest(p.id); k >= 0 && s.asked[k].probe {
			s.answered = max(s.answered, s.asked[k].seq)
			s.removeRequest(k)
		}
		return
	case pl.role == mirror:
		s.endReply(endMirror)
		s.answered = max(s.answered, s.asked[pl.asked].seq)
		s.removeRequest(pl.asked)
		return
	case pl.part == 0:
		if pl.role == push { // on some servers that is where answers come
			s.answered = s.seq
		}
		return
	}
	switch {
	case pl.asked >= 0:
		s.answered = max(s.answered, s.asked[pl.asked].seq)
	case pl.part == 1 || s.findRequest(p.id) >= 0: // which one it answers cannot be determined
		s.answered = s.seq
	}
	if p.n > 0 && (s.auth != authDone && s.gapped || s.auth == authNone && !v.opened) {
		s.auth = authDone // servers run no commands without
	}
	if pl.part == 1 {
		s.beginReply(v, p, pl)
	}
	s.cur.continuesRaised = s.cur.continuesRaised || findRaised(m, &codeContinues) != nil
	s.cur.isDisputed = s.cur.isDisputed || v.isDisputed
	s.cur.isGuess = s.cur.isGuess || pl.isGuess
	s.addPart(frame, m, p)
}

// addLoginAnswer adds the answer to a login: -1 refuses it. Other ids are the
// login's own, or the one that the server puts into all its packets.
func (s *session) addLoginAnswer(id int32) {
	switch {
	case id != failedID:
		s.auth = authDone
	case s.auth != authNone:
		s.auth = authFailed
	}
}

// beginReply starts the reply to the request that pl names.
func (s *session) beginReply(v *view, p *packet, pl place) {
	s.endReply(endNext)
	r := &s.cur
	r.open, r.id, r.asked = true, p.id, s.seq
	if pl.asked < 0 {
		return
	}
	q := &s.asked[pl.asked]
	r.seq, r.hasRequest, r.command, r.ncommand = q.seq, true, q.command, q.ncommand
	s.hasFixedID = s.hasFixedID || pl.byOrder
	s.echoesIDs = s.echoesIDs || !pl.byOrder && p.id == q.id && p.id != 0
	if v.unmirrored(&pl) != nil {
		s.neverMirrors = true
	}
	seq := q.seq
	s.removeRequest(pl.asked)
	for i := len(s.asked) - 1; i >= 0; i-- { // no mirror comes any more
		if s.asked[i].probe && s.asked[i].seq < seq {
			s.removeRequest(i)
		}
	}
}

// secretFinder returns what finds the secrets in a text of this connection. cut is set
// where the end of the text is missing.
func (s *session) secretFinder(cut bool) console.Finder {
	return console.Finder{Passwords: &s.passwords, IsCut: cut}
}

// reply is the answer to one command, in one or more packets.
type reply struct {
	open bool
	id   int32  // in its packets
	seq  uint64 // of the request, 0 if that is not known
	// asked is the last request before its first packet. isGuess is set where a packet may be
	// another reply's, see place.
	asked   uint64
	isGuess bool
	// hasRequest is set where the request was seen: command is the start of it.
	hasRequest bool
	gap        bool // bytes are missing
	// isUnfinished is set where they are because the server closed the connection within a packet.
	isUnfinished bool
	short        bool // bytes are not kept: its own limit, or the budget's
	// overtaken is set where the client sent its next command before the reply was over,
	// continuesRaised where that was reported (RCN-03).
	overtaken, continuesRaised bool

	parts, last int // packets; length of the last one's body
	length      int // of all bodies

	frames    []uint64 // that brought its packets, at most maxFrames
	ncommand  uint8
	command   [maxCommand]byte
	endsInNUL bool // the last packet has a NUL between its text and its end
	// hidden is how much of its start is a secret, or may be because what precedes it
	// is missing.
	hidden int
	// isDisputed is set where a part is, see dissect.Context, and where a NUL that the joined text lacks
	// shows that a part begins with a secret: all of the text is hidden.
	isDisputed bool
	// body is the text as far as it is kept; its capacity is taken from the budget.
	body []byte
}

// Signs that a reply is over.
var (
	endMirror  = []byte("mirror")
	endTrailer = []byte("trailer")
	endNext    = []byte("next reply")
	endClosed  = []byte("connection end")
)

// full reports whether more is likely to follow the last packet: servers that send longer ones cut none.
func (r *reply) full() bool { return r.last >= fullBody && r.last <= usualSize && !r.gap }

// addPart adds a packet to the open reply.
func (s *session) addPart(frame uint64, m *dissect.Message, p *packet) {
	r, before := &s.cur, s.cur.length
	r.parts++
	r.last = p.n
	r.length += p.n
	if n := len(r.frames); n < maxFrames && (n == 0 || r.frames[n-1] != frame) {
		r.frames = append(r.frames, frame)
	}
	if !r.gap && !r.short {
		s.appendBody(r, p.body)
	}
	if p.n > len(p.body) {
		r.isUnfinished = !r.gap && m.Status == dissect.Malformed
		r.gap = true
	}
	for i := range m.Fields {
		if f := &m.Fields[i]; f.Def == &defBodySecret && f.Off == headerLen {
			r.isDisputed = r.isDisputed || r.endsInNUL
			if r.hidden == before {
				r.hidden += int(f.Len)
			}
		}
	}
	nul := m.Find(&defTerminators)
	r.endsInNUL = nul != nil && nul.Len > endLen
}

// appendBody copies text after what is kept, as far as there is room.
func (s *session) appendBody(r *reply, text []byte) {
	n := min(len(text), maxBody-len(r.body))
	if want := len(r.body) + n; want > cap(r.body) {
		var ok bool
		if r.body, ok = s.budget.Grow(r.body, want); !ok {
			n = cap(r.body) - len(r.body)
		}
	}
	r.short = n < len(text)
	r.body = append(r.body, text[:n]...)
}

// endReply closes the open reply. Of several packets, it becomes done.
func (s *session) endReply(by []byte) {
	switch {
	case !s.cur.open:
	case s.cur.parts < 2:
		s.clearReply(&s.cur)
	default:
		s.cur, s.ended = s.ended, s.cur
		s.endedBy = by
	}
}

// dropEnded forgets the reply that the last message ended.
func (s *session) dropEnded() {
	if s.endedBy != nil {
		s.endedBy = nil
		s.clearReply(&s.ended)
	}
}

// clearReply empties r. It keeps a little memory for the next reply.
func (s *session) clearReply(r *reply) {
	s.releaseBody(r, keepBody)
	*r = reply{body: r.body[:0], frames: r.frames[:0]}
}

// releaseBody gives back the memory of r if it is more than keep.
func (s *session) releaseBody(r *reply, keep int) {
	if cap(r.body) > keep {
		s.budget.Release(r.body)
		r.body = nil
	}
}

// Finish closes the reply that was open at the end of the connection.
func (*Dissector) Finish(c *dissect.Context) {
	v := viewOf(c)
	if !v.known {
		return
	}
	v.s.dropEnded()
	if v.gap {
		v.s.markMissing(true)
	}
	v.s.endReply(endClosed)
}

// Joined fills m with the reply that the last message ended.
func (*Dissector) Joined(c *dissect.Context, m *dissect.Message) bool {
	v := viewOf(c)
	if !v.known || v.s.endedBy == nil {
		return false
	}
	r := &v.s.ended
	whole := *c
	whole.Wire = r.length
	if r.isUnfinished && !r.short {
		whole.Wire = len(r.body)
	}
	m.Reset(&proto, r.body)
	m.Type, m.Key = &typeJoined, r.seq
	cur := m.Cursor(&whole)
	cur.Generated(&defReplyID, uint64(int64(r.id)))
	if r.hasRequest {
		cur.Derived(&defReplyCommand, r.command[:r.ncommand])
	}
	cur.Generated(&defReplyParts, uint64(r.parts))
	cur.Generated(&defReplyLength, uint64(r.length))
	cur.Derived(&defReplyEndedBy, v.s.endedBy)
	k := v.s.secretFinder(r.gap || r.short)
	k.IsOutput = true
	k.First.Hi = min(r.hidden, len(r.body))
	if r.isDisputed {
		k.First.Hi = len(r.body)
	}
	switch lo, _ := k.Next(r.body); {
	case len(r.body) == 0:
		cur.Derived(&defReplyBody, nil)
	case lo == 0:
		cur.Generated(&defReplyBody, 0)
	}
	if r.isGuess {
		cur.ExpertAt(&codeSameID, codeSameID.Severity, -1, uint64(uint32(r.id)), 0)
	}
	cur.Pieces(&defReplyBody, &defReplyBodySecret, len(r.body), 0, k.Next)
	cur.Done()
	switch {
	case !r.gap || m.Status != dissect.Complete:
	case r.isUnfinished:
		m.Status = dissect.Malformed
	default:
		m.Status = dissect.Truncated
	}
	c.Stream.Frames = r.frames
	return true
}

// limit: fullBody is from how many bytes on a body looks cut to fit a packet: servers
// that count the whole packet stop 10 bytes earlier than those that count the
// body.
const fullBody = 4096 - minSize

// What a session keeps, apart from the bodies of replies: below 1 KiB, and below 5 KiB
// where its lists are full. The usual console has two requests and a frame in them.
const (
	// limit: maxAsked is how many requests may wait for an answer. Clients send one and
	// its probe, tools that write a script at once a dozen. The oldest is
	// evicted: its reply then lacks the command.
	maxAsked = 16

	// limit: maxCommand is how much of a command stands beside its reply: a line's worth.
	maxCommand = 64

	// limit: maxFrames is how many packets of a reply are listed. At 4 KiB a packet that
	// is twice what is kept of its body; later ones are counted in its parts.
	maxFrames = 128
)

// limit: The body of a reply, which is taken from the budget of the session.
const (
	// maxBody is how much of a reply is kept: 64 full packets. The longest honest
	// output known, the list of all variables of a server, has about 200 KiB. What
	// is beyond it, or beyond the budget, is counted in the reply's length.
	maxBody = 256 << 10
	// keepBody is how much a session keeps between two replies, so that replies of
	// one packet need no new memory.
	keepBody = 4 << 10
)
