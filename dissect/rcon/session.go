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
