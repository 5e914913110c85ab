package pipeline

import (
	"iter"
	"net/netip"

	"qsniff/dissect"
	"qsniff/internal/lru"
	"qsniff/netlayer"
	"qsniff/track"
	"qsniff/wire"
)

// sights makes sightings of one partition. It decides by each packet alone, and
// so makes the same of it whatever else is done with the packet; only the table of
// copies remembers, and that only for five milliseconds.
type sights struct {
	now      *current
	reg      *dissect.Registry
	decodeAs []DecodeAs
	ctx      dissect.Context
	msg      dissect.Message
	same     alike
	first    *look // at the datagram at hand; nil if it was not looked at
	own      look  // that of identifyPayload
	copies   copyTable
}

// printed is how much of a payload makes its print, and its copies.
const printed = 128

// watch notes what is to be seen of an item. Of a datagram it returns what the bytes
// alone say, nil if nobody looked at them.
func (w *sights) watch(it *item) *look {
	s := w.spot(it)
	w.first = nil
	switch it.kind {
	case kindDatagram:
		w.readDatagram(s, it)
	case kindQuoted:
		s.What, s.Detail, s.Wire = track.IsUnreachable, it.icmp.kind, it.icmp.wire
		s.Mix(w.now.seed)
		w.copies.findCopy(s, it, uint64(s.Wire))
	case kindSegment:
		w.readSegment(s, it)
	case kindStray:
		w.readStray(s, it)
	case kindTick, kindEnd, kindGap:
		w.mark(it)
		return nil
	default: // the rest of what began or was given up came as something else
		return nil
	}
	seg := w.now.seg
	seg.sights = seg.sights[:len(seg.sights)+1]
	if s.Type != nil && s.Type.Lists != nil {
		w.addListed(it)
	}
	if len(it.ways) > 0 {
		w.addTunnel(it)
	}
	return w.first
}

// spot fills in a sighting after the last one of the segment, where it stays if
// the caller makes the list longer.
func (w *sights) spot(it *item) *track.Sighting {
	seg := w.now.seg
	n := len(seg.sights)
	if n == cap(seg.sights) {
		seg.sights = append(seg.sights, sight{})[:n]
	}
	x := &seg.sights[:n+1][n]
	*x = sight{index: w.now.index, part: w.now.part}
	s := &x.Sighting
	s.Frame, s.Age, s.Nanos, s.TTL = it.frame, it.age, it.nanos, it.TTL
	s.Src, s.SrcPort, s.Dst, s.DstPort = track.HostOf(it.Src), it.Src.Port(), track.HostOf(it.Dst), it.Dst.Port()
	s.Bytes = uint32(it.Wire)
	if len(it.pieces) > 0 {
		s.Flags = track.Joined
	}
	return s
}

// addListed adds the servers that a reply names.
func (w *sights) addListed(it *item) {
	seg := w.now.seg
	from := seg.sights[len(seg.sights)-1]
	if from.Flags&track.Cut != 0 { // others are named that nobody knows
		from.What = track.IsListed
		seg.sights = append(seg.sights, from)
	}
	for a := range w.addresses(it, from.Type) {
		if a.Port() == 0 { // 0.0.0.0:0 ends a list
			continue
		}
		x := from
		x.What, x.Src, x.SrcPort = track.IsListed, track.HostOf(a), a.Port()
		x.Flags &^= track.Cut
		x.Mix(w.now.seed)
		seg.sights = append(seg.sights, x)
	}
}

// mark notes what happens to all partitions once.
func (w *sights) mark(it *item) {
	x := sight{index: w.now.index, part: w.now.part, event: sawTick}
	switch it.kind {
	case kindEnd:
		x.event, x.part = sawEnd, lastly
	case kindGap:
		x.event = sawLoss
	}
	if w.now.part == 0 {
		x.Age, x.Nanos = it.age, it.nanos
		w.now.seg.sights = append(w.now.seg.sights, x)
	}
}

// login notes what m, a message over TCP that was made of s, says about a password.
func (w *sights) login(s *source, m *dissect.Message) {
	if m.Type == nil || !m.Type.Asks.Has(dissect.AskLogin) {
		return
	}
	x := sight{index: w.now.index, part: w.now.part}
	x.Frame, x.Age, x.Nanos = s.frame, s.nanos-w.now.shift, s.nanos
	x.Src, x.SrcPort, x.Dst, x.DstPort = track.HostOf(s.src), s.src.Port(), track.HostOf(s.dst), s.dst.Port()
	x.Proto, x.Type, x.Asks, x.Flags = m.Proto, m.Type, m.Type.Asks, track.Connection
	x.Secret, x.Bytes = m.Secret, uint32(m.Wire)
	switch {
	case !s.isReply:
		x.What = track.IsLogin
	case m.Refused:
		x.What = track.IsRejected
	default:
		x.What = track.IsWelcome
	}
	x.Mix(w.now.seed)
	w.now.seg.sights = append(w.now.seg.sights, x)
}

// readDatagram says what a UDP datagram is.
func (w *sights) readDatagram(s *track.Sighting, it *item) {
	b := it.Payload
	s.Wire = s.Bytes + udpHeaders + ipHeaders(it.Src)*uint32(max(len(it.pieces), 1))
	if len(b) < it.Wire {
		s.Flags |= track.Cut
	}
	if wire.IsSplit(b) && len(b) >= wire.MinSplitLen {
		s.What = track.IsPart
		if h, ok := wire.ParseSplit(b, wire.GuessSplit(b, it.Wire)); ok && h.Number == 0 || wire.SplitProof(b) != wire.None {
			s.Flags |= track.First
		}
		w.seal(s, it, printOf(s, b))
		return
	}
	w.ctx.Src, w.ctx.Dst, w.ctx.Wire = it.Src, it.Dst, it.Wire // nothing else of it is ever known here
	if w.same.is(b, it) {
		w.same.tell(s)
		w.first = &w.same.first
		w.seal(s, it, w.same.sum)
		return
	}
	sure := w.identifyPayload(s, b)
	sum := printOf(s, b)
	if sure {
		w.same.keep(s, &w.own, it, sum)
	}
	w.seal(s, it, sum)
}

// printOf is a hash of the start of a payload without its token.
func printOf(s *track.Sighting, b []byte) uint64 {
	var after []byte
	if s.Flags&track.HasKey != 0 {
		b, after = s.Type.WithoutToken(b)
	}
	h := lru.MixBytes(uint64(len(b)+len(after)), b[:min(len(b), printed)])
	if len(after) > 0 && len(b) < printed {
		h = lru.MixBytes(h, after[:min(len(after), printed-len(b))])
	}
	return h
}

// seal fills in the hashes.
func (w *sights) seal(s *track.Sighting, it *item, sum uint64) {
	s.Print = uint32(sum >> 32)
	s.Mix(w.now.seed)
	w.copies.findCopy(s, it, sum)
}

// identifyPayload asks the protocols. Only what has a challenge is read: requests and
// challenges. It reports whether the payload alone says what it is.
func (w *sights) identifyPayload(s *track.Sighting, b []byte) (sure bool) {
	c := &w.ctx
	if len(b) == 0 {
		return false
	}
	w.own = lookAt(w.reg, w.decodeAs, c, b)
	w.first = &w.own
	v := w.own.verdict
	if v.Dissector == nil {
		if w.reg.IsJunk(b) {
			s.What = track.IsJunk
		}
		s.Foreign = w.reg.ForeignType(b, c.Wire)
		return false
	}
	sure = v.Conf > dissect.Maybe && len(w.decodeAs) == 0
	if !w.own.isTold && !w.reg.Believe(c, &v) {
		s.Flags |= track.Weak
		s.Foreign = w.reg.ForeignType(b, c.Wire)
	}
	t := v.Type
	s.Proto, s.Type, s.Asks, s.What = v.Dissector.Proto(), t, t.Asks, track.IsRequest
	switch {
	case t.Reply && t.Asks.Has(dissect.AskChallenge):
		s.What = track.IsChallenge
	case t.Reply:
		s.What = track.IsReply
		return sure
	case t.Notice:
		s.What = track.IsOther
		return sure
	}
	if key := w.key(c, &v, b); key != 0 {
		s.Key = uint32(key)
		s.Flags |= track.HasKey
	}
	return sure
}

// key is the challenge in a message, 0 if it has none.
func (w *sights) key(c *dissect.Context, v *dissect.Verdict, b []byte) uint64 {
	if k, ok := v.Dissector.(dissect.Keyer); ok {
		if key, ok := k.Key(c, v.Type, b); ok {
			return key
		}
	}
	m := &w.msg
	m.Reset(v.Dissector.Proto(), b)
	v.Dissector.Dissect(c, v.Type, b, m)
	return m.Key
}

// addresses are those that the message of it, of type t, names.
func (w *sights) addresses(it *item, t *dissect.Type) iter.Seq[netip.AddrPort] {
	return func(yield func(netip.AddrPort) bool) {
		m := &w.msg
		d := w.first.verdict.Dissector
		m.Reset(d.Proto(), it.Payload)
		d.Dissect(&w.ctx, t, it.Payload, m)
		for i := range m.Fields {
			f := &m.Fields[i]
			if f.Def != t.Lists {
				continue
			}
			if a, _, ok := m.Addr(f); ok && !yield(a) {
				return
			}
		}
	}
}

// readSegment says what a TCP segment does for its connection.
func (w *sights) readSegment(s *track.Sighting, it *item) {
	s.Flags |= track.Connection
	s.Wire = s.Bytes + uint32(it.TCP.Len) + ipHeaders(it.Src)
	syn, ack := it.TCP.Flags&netlayer.FlagSYN != 0, it.TCP.Flags&netlayer.FlagACK != 0
	switch {
	case syn && ack:
		s.What, s.Key = track.IsAgreed, it.TCP.Seq
	case syn:
		s.What, s.Key = track.IsOpened, it.TCP.Seq
	case ack && it.TCP.Flags&netlayer.FlagRST == 0:
		s.What, s.Key = track.IsAcked, it.TCP.Ack-1
	}
	s.Mix(w.now.seed)
	w.copies.findCopy(s, it, lru.Mix(uint64(it.TCP.Seq), uint64(it.TCP.Ack)<<32|uint64(it.TCP.Flags)<<16|uint64(s.Bytes)))
}
