package rcon

import "qsniff/dissect"

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

	frames   []uint64 // that brought its packets, at most maxFrames
	ncommand uint8
	command  [maxCommand]byte
	// hidden is how much of its start is a secret, or may be because what precedes it
	// is missing.
	hidden int
	// isDisputed is set where a part is, see dissect.Context: all of the text is hidden.
	isDisputed bool
	// body is the text as far as it is kept; its capacity is taken from the budget.
	body []byte
}

// What shows that a reply is over.
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
		if f := &m.Fields[i]; f.Def == &defBodySecret && f.Off == headerLen && r.hidden == before {
			r.hidden += int(f.Len)
		}
	}
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
