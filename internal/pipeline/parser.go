package pipeline

import (
	"qsniff/dissect"
	"qsniff/dissect/finding"
	"qsniff/internal/base/console"
	"qsniff/internal/track"
	"qsniff/reassembly/split"
	"qsniff/reassembly/wire"
)

// parser makes messages of identified payloads, records what they show about their
// flows, and passes them to the tracker.
type parser struct {
	reg        *dissect.Registry
	flows      *track.Flows
	tracker    *tracker
	brevity    *brevity
	skipsTexts bool             // see Config.skipsTexts
	msg        *dissect.Message // is used again
	parts      partFields
}

// parseMessage makes a message of s, of the type in v. c is the context in which it was
// identified.
func (p *parser) parseMessage(s *payload, c *dissect.Context, v *dissect.Verdict) {
	m, b := p.msg, s.data[:s.run]
	server, client := s.dst, s.src
	if v.Type.FromServer() {
		server, client = client, server
	}
	c.Passwords, c.Unread = p.flows.Passwords(server, client.Addr()), p.skipsTexts
	isWhole := len(b) == len(s.data) // parts after a gap become fields
	p.readMessage(c, v, b, isWhole && p.brevity.isEnough(v.Dissector.Proto(), v.Type))
	if c.Passwords != nil && v.Type.Prints != nil && !c.Unread {
		m.KeepTail(&c.Passwords.Tail, v.Type.Prints, false)
	}
	m.Conf, m.Why = v.Conf, v.Why
	if v.Type.Asks&dissect.AskRcon != 0 && !v.Type.FromServer() {
		m.CollectPasswords(p.flows.OpenPasswords(server, client.Addr()))
	}
	m.Learn.Proto = p.reg.FlowProto(v.Dissector)
	switch {
	case s.isMismatched():
		m.Status, m.Learn = dissect.Malformed, dissect.FlowFacts{Proto: m.Learn.Proto}
		if !s.set.IsSound {
			m.Conf = min(m.Conf, dissect.Likely)
		}
	case s.set != nil:
		m.Learn.Engine, m.Learn.Proven = s.set.Engine, !s.set.IsInferred
	}
	p.flows.Learn(server, client.Addr(), m.Learn)
	s.isReply = v.Type.Reply
	p.finish(s, c.Passwords)
}

// readMessage fills in the message in b: without fields, if it may be brief and the dissector can
// do that.
func (p *parser) readMessage(c *dissect.Context, v *dissect.Verdict, b []byte, mayBeBrief bool) {
	m, d := p.msg, v.Dissector
	if mayBeBrief {
		if k, ok := d.(dissect.Keyer); ok && m.ResetBrief(k, c, v.Type, d.Proto(), b) {
			return
		}
	}
	m.Reset(d.Proto(), b)
	d.Dissect(c, v.Type, b, m)
}

// parseUnread makes a message of a split set, of which s was made, that cannot be read:
// its header, and its bytes.
func (p *parser) parseUnread(s *payload, status dissect.Status) {
	m, set := p.msg, s.set
	m.Reset(p.reg.SplitProto(set.Engine), set.Joined)
	if !s.isMismatched() { // then set.Wire is of what came out
		m.Wire = max(m.Wire, set.Wire)
	}
	m.Status = status
	s.data, s.run, s.pieces = set.Joined, len(set.Joined), set.Pieces
	s.isReply = !p.reg.ToServer(s.src.Port(), s.dst.Port())
	if set.Prefix > 0 {
		m.Append(&dissect.SplitSize, 0, 4, "")
		m.Fields[0].Num = uint64(set.Declared)
		m.Append(&dissect.SplitCRC, 4, 4, "")
		m.Fields[1].Num = uint64(set.CRC)
	}
	server, client := s.src, s.dst
	if !s.isReply {
		server, client = client, server
	}
	said := p.flows.Passwords(server, client.Addr())
	p.addParts(set, said, uint32(set.Prefix), "")
	p.finish(s, said)
}

// addParts adds the parts of a set from offset from on as fields.
func (p *parser) addParts(set *split.Set, said *console.Passwords, from uint32, note string) {
	p.parts.m = p.msg
	p.parts.addParts(set, p.reg.SplitProto(set.Engine), said, from, note)
}

// finish adds findings about how the message was cut into datagrams, and passes it on.
// said are the passwords of its flow.
func (p *parser) finish(s *payload, said *console.Passwords) {
	m := p.msg
	switch {
	case s.set != nil:
		p.finishSet(s, said)
	case s.joined != nil:
		p.finishJoined(s)
	case s.isReply && (s.wire > maxUnsplit || s.ipPieces > 1):
		m.Expert = append(m.Expert, finding.Expert{Code: split.Oversize, Severity: split.Oversize.Severity,
			Field: -1, A: uint64(s.wire), B: uint64(s.ipPieces)})
	}
	if s.isIncomplete {
		m.Status = dissect.Fragment
	}
	if s.isMisfit {
		m.Status = dissect.Malformed
		m.Expert = append(m.Expert, finding.Expert{Code: &track.Misfit, Severity: track.Misfit.Severity, Field: -1})
		p.tracker.emitter.emitMessage(s, m, new(track.Part)) // of no exchange: the receiver never had it
		return
	}
	p.tracker.trackMessage(s, m)
}

// finishSet adds the findings of a split set, and the parts after a gap as fields.
func (p *parser) finishSet(s *payload, said *console.Passwords) {
	m, set := p.msg, s.set
	if s.isIncomplete { // the length of the whole is unknown
		m.Wire = len(s.data)
	}
	m.Expert = append(m.Expert, set.Expert...)
	if !s.isReply {
		number := uint8(0)
		if len(set.Parts) > 0 {
			number = set.Parts[0].Number
		}
		m.Expert = append(m.Expert, finding.Expert{Code: split.ToServer, Severity: split.ToServer.Severity,
			Field: -1, A: uint64(number), B: uint64(set.Total)})
	}
	if s.run == len(s.data) {
		return
	}
	m.Data = s.data
	m.Wire = max(m.Wire, len(s.data))
	p.addParts(set, said, uint32(s.run), "after the gap")
}

// finishJoined adds the fragments after a gap as fields. They are hidden: the name before
// a secret may be what is missing.
func (p *parser) finishJoined(s *payload) {
	m := p.msg
	if s.isIncomplete { // the length of the whole is unknown
		m.Wire = len(s.data)
	}
	if s.run == len(s.data) {
		return
	}
	m.Data = s.data
	for _, part := range s.joined.Parts {
		if int(part.Off) >= s.run {
			m.Append(&dissect.HiddenPart, part.Off, part.Len, "after the gap")
		}
	}
}

// maxHidden is how many stretches of unread parts are hidden one by one; after
// that the rest is hidden whole.
const maxHidden = 64

// stretch is a range of a message's bytes.
type stretch struct{ lo, hi uint32 }

// partFields adds parts that are shown and not dissected to a message, as fields.
type partFields struct {
	m      *dissect.Message
	hidden []stretch // of the run at work, in order
}

// addParts adds the parts of a set from offset from on, each with the note. If proto, the
// protocol of the split format, has a console, secrets in the parts are hidden, also those
// that reach across the border of two parts; said are the passwords of the flow. What
// follows a missing part, or one whose end the capture cut off, may begin within a secret.
// In the form without a size field, which may be a wrong guess, two bytes of each part may
// belong to its header: then each part is searched for secrets alone.
func (f *partFields) addParts(set *split.Set, proto *dissect.Proto, said *console.Passwords, from uint32, note string) {
	for i := 0; i < len(set.Parts); {
		j := i + 1
		for j < len(set.Parts) && set.Engine != wire.SourceOld && set.Parts[j].Number == set.Parts[j-1].Number+1 && !set.Parts[j-1].IsCut {
			j++
		}
		run := set.Parts[i:j]
		lo, hi := max(run[0].Off, from), run[len(run)-1].Off+run[len(run)-1].Len
		if lo < hi {
			f.hidden = f.hidden[:0]
			if proto.Console {
				f.hide(stretch{lo, hi}, said, run[0].Number > 0 && !set.Compressed, set.Disputed)
			}
			for k := range run {
				f.addPart(stretch{max(run[k].Off, from), run[k].Off + run[k].Len}, note)
			}
		}
		i = j
	}
}

// hide collects the stretches of a run of parts that must not be shown, in order.
// followsGap is set if bytes before the run are missing; isDisputed is dissect.Context's.
func (f *partFields) hide(run stretch, said *console.Passwords, followsGap, isDisputed bool) {
	text := f.m.Data[run.lo:run.hi]
	k := console.Finder{Passwords: said, IsCut: true}
	switch {
	case isDisputed:
		k.First.Hi = len(text)
	case followsGap:
		k.First = console.FindTorn(text)
	}
	for at := 0; at < len(text); {
		lo, hi := k.Next(text[at:])
		if lo < 0 {
			return
		}
		if len(f.hidden) >= maxHidden {
			f.hidden = append(f.hidden, stretch{run.lo + uint32(at+lo), run.hi})
			return
		}
		f.hidden = append(f.hidden, stretch{run.lo + uint32(at+lo), run.lo + uint32(at+hi)})
		at += hi
	}
}

// addPart adds one part as fields: shown, hidden, shown.
func (f *partFields) addPart(part stretch, note string) {
	m, at := f.m, part.lo
	for _, h := range f.hidden {
		lo, hi := max(h.lo, at), min(h.hi, part.hi)
		if lo >= hi {
			continue
		}
		if at < lo {
			m.Append(&dissect.Part, at, lo-at, note)
		}
		m.Append(&dissect.HiddenPart, lo, hi-lo, note)
		at = hi
	}
	if at < part.hi {
		m.Append(&dissect.Part, at, part.hi-at, note)
	}
}

const (
	// limit: maxUnsplit is the payload length above which Source and GoldSource split a reply. IP
	// fragments a longer datagram, and many filters drop the fragments.
	maxUnsplit = 1400
)
