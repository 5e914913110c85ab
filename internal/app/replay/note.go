package replay

import (
	"encoding/binary"

	"qsniff/dissect"
	"qsniff/internal/render"
)

// note is what the Collector needs of a message besides its frames and ends.
type note struct {
	proto    *dissect.Proto
	typ      *dissect.Type // nil if unknown
	isReply  bool
	isWhole  bool // nothing of it is missing in the capture
	refuses  bool
	brings   bool   // it has the number that its type declares, and no placeholder
	request  uint64 // of a reply in a datagram, the frame of the request
	key      uint64 // of a message over TCP, what a request and its reply have in common
	number   uint64 // that its type declares, at numberAt
	numberAt span
	data     []byte
}

// span is a stretch of bytes; none if hi is 0.
type span struct{ lo, hi int }

// catalog numbers protocols and types, so that notes can name them.
type catalog struct {
	protos []*dissect.Proto
	types  []*dissect.Type
	index  map[*dissect.Type]int
}

func newCatalog(reg *dissect.Registry) catalog {
	c := catalog{protos: reg.Protos(), index: make(map[*dissect.Type]int)}
	for _, p := range c.protos {
		for _, t := range p.Types {
			c.index[t] = len(c.types)
			c.types = append(c.types, t)
		}
	}
	return c
}

// The flags of an encoded note.
const (
	flagReply = 1 << iota
	flagWhole
	flagRefuses
	flagBrings
	flagTyped
)

// appendNote appends the note of a message. It returns false for one that belongs to no
// exchange.
func (c *catalog) appendNote(dst []byte, e *render.Event) ([]byte, bool) {
	m := e.Msg
	isPaired := e.Exchange.ID != 0 && !e.TCP || (m.Key != 0 || e.Reply) && e.TCP
	if e.Record != "" || !isPaired || m.Proto == nil || m.Type == nil && !e.Reply || m.Type != nil && m.Type.Notice {
		return dst, false
	}
	flags, typ := uint64(0), 0
	set := func(flag uint64, on bool) {
		if on {
			flags |= flag
		}
	}
	number, at := numberOf(m)
	set(flagReply, e.Reply)
	set(flagWhole, m.Status == dissect.Complete || m.Status == dissect.Malformed)
	set(flagRefuses, m.Refused)
	set(flagBrings, at.hi > 0 && m.Key != 0)
	if m.Type != nil {
		flags, typ = flags|flagTyped, c.index[m.Type]
	}
	proto := 0
	for i, p := range c.protos {
		if p == m.Proto {
			proto = i
		}
	}
	for _, v := range [...]uint64{flags, uint64(proto), uint64(typ), e.Exchange.Request, m.Key, number, uint64(at.lo), uint64(at.hi)} {
		dst = binary.AppendUvarint(dst, v)
	}
	if !e.Reply || e.TCP || at.hi > 0 { // the datagrams of other replies are fetched
		dst = append(dst, m.Data...)
	}
	return dst, true
}

// parse parses an encoded note. Its data is that of b.
func (c *catalog) parse(b []byte) note {
	next := func() uint64 {
		v, n := binary.Uvarint(b)
		b = b[n:]
		return v
	}
	flags := next()
	n := note{isReply: flags&flagReply != 0, isWhole: flags&flagWhole != 0, refuses: flags&flagRefuses != 0, brings: flags&flagBrings != 0}
	n.proto = c.protos[next()]
	if t := c.types[next()]; flags&flagTyped != 0 {
		n.typ = t
	}
	n.request, n.key, n.number = next(), next(), next()
	n.numberAt = span{int(next()), int(next())}
	n.data = b
	return n
}

// numberOf returns the number that the type of m declares, and where it is, without the
// blanks before it.
func numberOf(m *dissect.Message) (number uint64, at span) {
	if m.Type == nil || m.Type.Number == nil {
		return 0, span{}
	}
	f := m.Find(m.Type.Number)
	if f == nil || f.Len == 0 || f.Flags&(dissect.Cut|dissect.Aux) != 0 {
		return 0, span{}
	}
	at = span{int(f.Off), int(f.Off + f.Len)}
	for at.lo < at.hi-1 && isDigits(m.Data[at.lo+1:at.hi]) && m.Data[at.lo] <= ' ' {
		at.lo++
	}
	return f.Num, at
}

func isDigits(b []byte) bool {
	for i, x := range b {
		if (x < '0' || x > '9') && (x > ' ' || i == len(b)-1) {
			return false
		}
	}
	return len(b) > 0
}

// without returns b without the bytes at s.
func without(b []byte, s span) []byte {
	out := append([]byte(nil), b[:s.lo]...)
	return append(out, b[s.hi:]...)
}
