package pipeline

import (
	"bytes"
	"iter"
	"math/bits"
	"net/netip"
	"time"

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
	seed     uint64 // of the hashes, from the batch
	reg      *dissect.Registry
	decodeAs []DecodeAs
	ctx      dissect.Context
	msg      dissect.Message
	same     alike
	first    *look // at the datagram at hand; nil if it was not looked at
	own      look  // that of identify
	copies   [copyPlaces]double
}

const (
	// copyPlaces is room for what a partition's share of a million packets a second
	// brings in copyWindow; a newer packet takes the place of an older one.
	copyPlaces = 1 << 9
	// copyWindow is how long a mirror port delays a copy at most, as in dedup.
	copyWindow = 5 * time.Millisecond
	// printed is how much of a payload makes its print, and its copies.
	printed = 128
)

// watch notes what is to be seen of an item.
func (p *partition) watch(it *item) {
	s := p.spot(it)
	switch it.kind {
	case datagram:
		p.sights.datagram(s, it)
	case quoted:
		s.What = track.IsUnreachable
		s.Mix(p.sights.seed)
	case tcp:
		p.sights.segment(s, it)
	case tick, end, gap:
		p.mark(it)
		return
	default: // the rest of what began or was given up came as something else
		return
	}
	p.seg.sights = p.seg.sights[:len(p.seg.sights)+1]
	if s.Type != nil && s.Type.Lists != nil {
		p.listed(it)
	}
}

// listed notes the servers that a reply names.
func (p *partition) listed(it *item) {
	from := p.seg.sights[len(p.seg.sights)-1]
	if from.Flags&track.Cut != 0 { // others are named that nobody knows
		from.What = track.IsListed
		p.seg.sights = append(p.seg.sights, from)
	}
	for a := range p.sights.addresses(it, from.Type) {
		if a.Port() == 0 { // 0.0.0.0:0 ends a list
			continue
		}
		x := from
		x.What, x.Src, x.SrcPort = track.IsListed, track.HostOf(a), a.Port()
		x.Flags &^= track.Cut
		x.Mix(p.sights.seed)
		p.seg.sights = append(p.seg.sights, x)
	}
}

// login notes what a message over TCP says about a password.
func (p *partition) login(s *source) {
	m := &p.msg
	if m.Type == nil || !m.Type.Asks.Has(dissect.AskLogin) {
		return
	}
	x := sight{index: p.index, part: p.number}
	x.Frame, x.Age, x.Nanos = s.frame, s.nanos-p.shift, s.nanos
	x.Src, x.SrcPort, x.Dst, x.DstPort = track.HostOf(s.src), s.src.Port(), track.HostOf(s.dst), s.dst.Port()
	x.Proto, x.Type, x.Asks, x.Flags = m.Proto, m.Type, m.Type.Asks, track.Connection
	x.Secret, x.Bytes = m.Secret, uint32(m.Wire)
	switch {
	case !s.reply:
		x.What = track.IsLogin
	case m.Refused:
		x.What = track.IsRejected
	default:
		x.What = track.IsWelcome
	}
	x.Mix(p.sights.seed)
	p.seg.sights = append(p.seg.sights, x)
}

// mark notes what happens to all partitions once.
func (p *partition) mark(it *item) {
	x := sight{index: p.index, part: p.number, event: passed}
	switch it.kind {
	case end:
		x.event, x.part = over, lastly
	case gap:
		x.event = missing
	}
	if p.number == 0 {
		x.Age, x.Nanos = it.age, it.nanos
		p.seg.sights = append(p.seg.sights, x)
	}
}

// spot fills in a sighting behind the last one of the segment, where it stays if
// the caller makes the list longer.
func (p *partition) spot(it *item) *track.Sighting {
	n := len(p.seg.sights)
	if n == cap(p.seg.sights) {
		p.seg.sights = append(p.seg.sights, sight{})[:n]
	}
	x := &p.seg.sights[:n+1][n]
	*x = sight{index: p.index, part: p.number}
	s := &x.Sighting
	s.Frame, s.Age, s.Nanos, s.TTL = it.frame, it.age, it.nanos, it.TTL
	s.Src, s.SrcPort, s.Dst, s.DstPort = track.HostOf(it.Src), it.Src.Port(), track.HostOf(it.Dst), it.Dst.Port()
	s.Bytes = uint32(it.Wire)
	return s
}

// datagram says what a UDP datagram is.
func (w *sights) datagram(s *track.Sighting, it *item) {
	b := it.Payload
	w.first = nil
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
	sure := w.identify(s, b)
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
	s.Mix(w.seed)
	w.copy(s, it, sum)
}

// alike is the last payload that was sure to be a message, and what it is: most
// packets of a flood are the same one.
type alike struct {
	n, wire int
	v4      bool // IPv4, whose lists of servers are others
	b       [alikeBytes]byte
	sum     uint64
	known   track.Sighting
	first   look
}

// alikeBytes is as long as the payload of requests with a challenge, and some more.
const alikeBytes = 64

func (a *alike) is(b []byte, it *item) bool {
	return len(b) == a.n && it.Wire == a.wire && a.n > 0 && it.Src.Addr().Unmap().Is4() == a.v4 && bytes.Equal(b, a.b[:a.n])
}

func (a *alike) keep(s *track.Sighting, first *look, it *item, sum uint64) {
	b := it.Payload
	if len(b) > len(a.b) {
		return
	}
	a.n, a.wire, a.v4, a.sum = copy(a.b[:], b), it.Wire, it.Src.Addr().Unmap().Is4(), sum
	a.first = *first
	a.known = track.Sighting{What: s.What, Flags: s.Flags, Asks: s.Asks, Proto: s.Proto, Type: s.Type, Key: s.Key}
}

// tell fills in what is known.
func (a *alike) tell(s *track.Sighting) {
	k := &a.known
	s.What, s.Flags, s.Asks, s.Proto, s.Type, s.Key = k.What, k.Flags, k.Asks, k.Proto, k.Type, k.Key
}

// identify asks the protocols. Only what has a challenge is read: requests and
// challenges. It tells whether the payload alone says what it is.
func (w *sights) identify(s *track.Sighting, b []byte) (sure bool) {
	c := &w.ctx
	if len(b) == 0 {
		return false
	}
	v, told := lookAt(w.reg, w.decodeAs, c, b)
	w.own = look{v, told}
	w.first = &w.own
	if v.Dissector == nil {
		if w.reg.IsJunk(b) {
			s.What = track.IsJunk
		}
		return false
	}
	sure = v.Conf > dissect.Maybe && len(w.decodeAs) == 0
	if !told && !w.reg.Believe(c, &v) {
		s.Flags |= track.Weak
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

// copy notes whether a packet with the same content went the same way just now. Of
// three in a row the third is none: mirrors double, senders repeat.
func (w *sights) copy(s *track.Sighting, it *item, h uint64) {
	h = lru.Mix(h, uint64(s.SrcPort)<<48|uint64(s.DstPort)<<32|uint64(it.IPID)<<16|uint64(s.What))
	h = lru.Mix(h^uint64(s.Key)<<32, s.ClientHash^bits.RotateLeft64(s.ServerHash, 32))
	x := &w.copies[h%copyPlaces]
	if x.sum == uint32(h>>32) && s.Age-x.age <= int64(copyWindow) {
		s.Flags |= track.Copy
		*x = double{}
		return
	}
	*x = double{sum: uint32(h >> 32), age: s.Age}
}

// double is a packet that may come again.
type double struct {
	age int64
	sum uint32
}

// segment says what a TCP segment does for its connection.
func (w *sights) segment(s *track.Sighting, it *item) {
	s.Flags |= track.Connection
	s.Wire = s.Bytes + tcpHeaders + ipHeaders(it.Src)
	syn, ack := it.TCP.Flags&netlayer.FlagSYN != 0, it.TCP.Flags&netlayer.FlagACK != 0
	switch {
	case syn && ack:
		s.What, s.Key = track.IsAgreed, it.TCP.Seq
	case syn:
		s.What, s.Key = track.IsOpened, it.TCP.Seq
	case ack && it.TCP.Flags&netlayer.FlagRST == 0:
		s.What, s.Key = track.IsAcked, it.TCP.Ack-1
	}
	s.Mix(w.seed)
	w.copy(s, it, lru.Mix(uint64(it.TCP.Seq), uint64(it.TCP.Ack)<<32|uint64(it.TCP.Flags)<<16|uint64(s.Bytes)))
}
