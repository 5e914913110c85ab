package replay

import (
	"encoding/binary"
	"net/netip"
	"slices"

	"qsniff/capture"
	"qsniff/dissect"
	"qsniff/internal/pipeline"
	"qsniff/internal/render"
)

// Collector collects what servers were asked and what they replied. It is a
// pipeline.PacketSink.
type Collector struct {
	catalog catalog
	books   map[netip.AddrPort]*Book
	pending map[pendingKey]pendingRequest
	last    map[pendingKey]pendingKey // of connections, which have no key, the request replied to last
	waiting []pendingKey              // in order of arrival, from oldest on
	oldest  int
	text    int    // bytes of kinds
	replies int    // bytes of replies over TCP
	serial  uint64 // number of the last request

	// Skipped is how many requests are not in a Book, because of a limit.
	Skipped uint64
	// Cut is how many messages are missing in replies over TCP, because of a limit.
	Cut uint64
}

// pendingKey is a request: in a datagram by its frame, over TCP, where a frame may have
// several, by its ends and its key.
type pendingKey struct {
	frame, key     uint64
	client, server netip.AddrPort
}

// pendingRequest is a request whose replies may follow.
type pendingRequest struct {
	kind   *kind
	serial uint64
	number uint64
	brings bool
}

// NewCollector returns a Collector for messages of the protocols in reg.
func NewCollector(reg *dissect.Registry) *Collector {
	return &Collector{catalog: newCatalog(reg), books: make(map[netip.AddrPort]*Book), pending: make(map[pendingKey]pendingRequest), last: make(map[pendingKey]pendingKey)}
}

// AppendNote appends what AddMessage needs of a message.
func (c *Collector) AppendNote(dst []byte, e *render.Event, _ bool) ([]byte, bool) {
	return c.catalog.appendNote(dst, e)
}

// AddPackets does nothing: packets are fetched when it is known which are wanted.
func (c *Collector) AddPackets(*capture.Batch) error { return nil }

// AddMessage adds a message.
func (c *Collector) AddMessage(p *pipeline.Pick) {
	n := c.catalog.parse(p.Note)
	if n.isReply {
		c.addReply(p, &n)
	} else {
		c.addRequest(p, &n)
	}
}

// addRequest adds a request, which waits for its replies.
func (c *Collector) addRequest(p *pipeline.Pick, n *note) {
	b := c.bookOf(p.Dst)
	if b == nil {
		c.Skipped++
		return
	}
	b.Asked++
	k := c.kindOf(b, p.IsTCP, n)
	if k == nil {
		c.Skipped++
		return
	}
	c.serial++
	at := pendingKey{frame: p.Frame}
	if p.IsTCP {
		at = pendingKey{key: n.key, client: p.Src, server: p.Dst}
	}
	if len(c.waiting) < maxPending {
		c.waiting = append(c.waiting, at)
	} else {
		delete(c.pending, c.waiting[c.oldest])
		c.waiting[c.oldest] = at
		c.oldest = (c.oldest + 1) % maxPending
	}
	c.pending[at] = pendingRequest{k, c.serial, n.number, n.brings}
}

// bookOf returns the Book of a server, nil if there are too many.
func (c *Collector) bookOf(server netip.AddrPort) *Book {
	b := c.books[server]
	if b == nil && len(c.books) < maxServers {
		b = newBook(server)
		c.books[server] = b
	}
	return b
}

// kindOf returns the kind of a request to the server of b. Where there are too many of a
// type, it is the first of it if their bytes do not matter, and otherwise nil.
func (c *Collector) kindOf(b *Book, isTCP bool, n *note) *kind {
	text := n.data
	if n.brings || n.numberAt.hi > 0 {
		text = without(text, n.numberAt)
	}
	at := keyOf(n.typ, isTCP, text)
	if k := b.kinds[at]; k != nil {
		return k
	}
	if b.counts[n.typ] >= maxKinds || c.text+len(text) > maxText {
		if n.typ.Asks.Has(anyBytes) {
			return b.first[n.typ]
		}
		return nil
	}
	b.counts[n.typ]++
	c.text += len(text)
	k := &kind{proto: n.proto, typ: n.typ, isTCP: isTCP}
	b.kinds[at] = k
	if b.first[k.typ] == nil {
		b.first[k.typ] = k
	}
	if !slices.Contains(b.protos, n.proto) {
		b.protos = append(b.protos, n.proto)
	}
	return k
}

// addReply adds a reply to the answer of its request's kind, if that is the first one.
func (c *Collector) addReply(p *pipeline.Pick, n *note) {
	at := pendingKey{frame: n.request}
	if p.IsTCP {
		at = c.requestOf(p, n)
	}
	r, ok := c.pending[at]
	if !ok || p.IsTCP && n.key == 0 && n.numberAt.hi > 0 && uint32(n.number) != uint32(r.number) {
		return
	}
	k := r.kind
	x := part{typ: n.typ, number: n.number}
	switch {
	case k.cut == r.serial, k.isRepeated(&r, n): // of a reply that came again, whole or not, the first is kept
		return
	case !n.isWhole, k.isRefusal(n.typ):
		k.cut = r.serial
		if k.request == r.serial { // the next request may be answered whole
			k.request, k.answer = 0, nil
		}
		return
	case p.IsTCP:
		if n.numberAt.hi > 0 && uint32(n.number) == uint32(r.number) {
			x.numberAt = n.numberAt
		}
		x.datagrams = [][]byte{slices.Clone(n.data)}
	default:
		x.frames, x.numberAt = slices.Clone(p.Frames), n.numberAt
		if n.numberAt.hi > 0 && len(p.Frames) == 1 {
			x.datagrams = [][]byte{slices.Clone(n.data)}
		}
		if x.datagrams != nil && !k.typ.Asks.Has(dissect.AskChallenge|dissect.AskRconChallenge) {
			k.challenge = &x
			return
		}
	}
	c.addPart(k, &r, x, n)
}

// isRefusal reports whether a reply of type t gives nothing of what a request of the kind asks for: a server that
// refuses one client answers another.
func (k *kind) isRefusal(t *dissect.Type) bool {
	return k.typ.Asks != 0 && t.Prints != nil && !t.Asks.Has(k.typ.Asks)
}

// requestOf returns the request that a reply over TCP is to: the one that it names, or else
// the one that was replied to last, as where an end probe is replied to twice.
func (c *Collector) requestOf(p *pipeline.Pick, n *note) pendingKey {
	conn := pendingKey{client: p.Dst, server: p.Src}
	if n.key == 0 {
		return c.last[conn]
	}
	at := conn
	at.key = n.key
	if len(c.last) >= maxPending {
		clear(c.last) // such replies are rare
	}
	c.last[conn] = at
	return at
}

// isRepeated reports whether k has a reply of n's type from the same request already: of
// datagrams a second one of the same type repeats the first.
func (k *kind) isRepeated(r *pendingRequest, n *note) bool {
	return !k.isTCP && n.typ != nil && k.request == r.serial && slices.ContainsFunc(k.answer, func(y part) bool { return y.typ == n.typ })
}

// addPart adds a message to the answer of k if it is of the same request.
func (c *Collector) addPart(k *kind, r *pendingRequest, x part, n *note) {
	if k.request == 0 {
		k.request, k.isPlain, k.refuses = r.serial, !r.brings, n.refuses
	}
	if k.request != r.serial {
		return
	}
	if len(k.answer) == maxParts || c.replies+len(n.data) > maxReplies {
		c.Cut++
		return
	}
	k.refuses = k.refuses || n.refuses
	c.replies += len(n.data)
	k.answer = append(k.answer, x)
}

// Servers returns the books with an answer, those that were asked most first.
func (c *Collector) Servers() []*Book {
	var all []*Book
	for _, b := range c.books {
		b.chooseFirst()
		if n, _ := b.Kinds(); n > 0 {
			all = append(all, b)
		}
	}
	slices.SortFunc(all, func(x, y *Book) int {
		if x.Asked != y.Asked {
			if x.Asked > y.Asked {
				return -1
			}
			return 1
		}
		return x.Server.Compare(y.Server)
	})
	return all
}

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

const (
	// limit: maxServers is how many servers of a capture are looked at. Chosen: more than a capture of
	// a hoster's network has; --server names the one of others.
	maxServers = 4096

	// limit: maxKinds is how many different requests are kept of one type to one server. Chosen: more
	// pages than a list of all servers of a game has, and more commands than anybody types.
	maxKinds = 1024

	// limit: maxText is how much of different requests is kept in all, in bytes.
	maxText = 16 << 20

	// limit: maxPending is how many requests wait for their replies. Chosen: more than come within
	// the seconds that a reply takes, outside of floods.
	maxPending = 1 << 16

	// limit: maxParts is how many messages a reply over TCP may have. Chosen: a thousand packets of
	// 4 KB are more than any console prints.
	maxParts = 1024
)
