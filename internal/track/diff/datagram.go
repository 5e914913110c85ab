package diff

import (
	"context"
	"errors"
	"io"
	"net/netip"

	"qsniff/capture"
	"qsniff/capture/packet"
	"qsniff/dissect"
	"qsniff/internal/base/lru"
	"qsniff/reassembly/ipfrag"
	"qsniff/reassembly/split"
	"qsniff/reassembly/wire"
)

// Side is one of the two captures.
type Side uint8

// The sides, in the order of the arguments.
const (
	Edge Side = iota
	Host
)

func (s Side) other() Side { return 1 - s }

// Kind is what a datagram is: a type of message, or, without one, what Result.Name returns.
type Kind struct {
	Proto *dissect.Proto
	Type  *dissect.Type
}

// The kinds that are no type of message, by their index in Result.Kinds.
const (
	kindOther = iota
	kindPart
	kindData
	kindSYN
	kindSYNACK
	kindFIN
	kindRST
	numUntyped
)

// end is an address with its port, without the pointer that netip.AddrPort has. A port of TCP is
// another end than that of UDP with the same number: each is translated on its own.
type end struct {
	addr  [16]byte
	port  uint16
	isTCP bool
}

func endOf(a netip.AddrPort, isTCP bool) end { return end{a.Addr().As16(), a.Port(), isTCP} }

// host returns the address alone, as an end without a port.
func (e end) host() end { return end{addr: e.addr} }

func (e end) addrPort() netip.AddrPort {
	if e == (end{}) {
		return netip.AddrPort{}
	}
	return netip.AddrPortFrom(netip.AddrFrom16(e.addr).Unmap(), e.port)
}

// portWord returns the port and whether it is of TCP.
func (e end) portWord() uint64 { return uint64(e.port) | bit(e.isTCP)<<16 }

// Hash implements lru.Key.
func (e end) Hash(seed uint64) uint64 { return lru.Mix(lru.Mix16(seed, &e.addr), e.portWord()) }

// datagram is one UDP datagram of a capture, or one TCP segment that is compared.
type datagram struct {
	hash     uint64 // of the payload, as far as both captures have it, and its length
	nanos    int64  // in the clock of HOST
	frame    uint64 // that completed it
	src, dst end    // as HOST has them, once translated
	mate     int32  // index of its counterpart in the other window, -1 for none
	wire     uint16 // length of the payload
	kind     uint16
	ipid     uint16
	ttl      uint8
	way      Way
	state    state
	class    Class
	isJoined bool // of IP fragments
	isWanted bool // the caller wants it to be counted
	// isSrcKnown and isDstKnown are set at EDGE where the name at HOST is known.
	isSrcKnown, isDstKnown bool
	isReframed             bool
	isKept                 bool   // of an answer from in between: its request went no further
	request                uint64 // of an answer from in between; of a reframed one, the first frame at the other point
	segment
}

// isFree reports whether the datagram is not judged and has no counterpart yet.
func (d *datagram) isFree() bool { return d.state == pending && d.mate < 0 && !d.isReframed }

// reader reads the datagrams of a capture.
type reader struct {
	src   capture.Source
	batch capture.Batch
	frags *ipfrag.Table
	id    *identifier
	// servers, if not nil, has who serves: a weak claim about a message of such a server is believed.
	servers *survey
	streams *survey // of the same capture: who serves over TCP; not nil
	seed    uint64
	poly    polynomial
	cut     cuts
	err     error

	offload  dissect.Offload
	counts   Capture
	packet   packet.Packet
	joined   packet.Packet
	onPieces func(frame uint64, d *ipfrag.Datagram) // of joined datagrams; may be nil
	wants    func(p *packet.Packet, frame uint64, nanos int64) bool
	parts    *split.Assembler // nil if parts are not joined
}

func newReader(src capture.Source, id *identifier, seed uint64, cut cuts) *reader {
	return &reader{src: src, frags: ipfrag.New(fragmentBytes), id: id, seed: seed, offload: dissect.NewOffload(id.reg), poly: newPolynomial(seed), cut: cut}
}

// read reads a batch and calls add for each datagram in it. It reports whether there is more.
func (r *reader) read(ctx context.Context, add func(d *datagram, payload []byte)) bool {
	if r.err == nil {
		r.err = ctx.Err()
	}
	if r.err != nil {
		return false
	}
	err := r.src.Read(&r.batch)
	for i := range r.batch.Packets {
		r.decode(&r.batch.Packets[i], add)
	}
	r.err = err
	return err == nil
}

// failure returns why reading ended before the end of the capture, or nil.
func (r *reader) failure() error {
	if errors.Is(r.err, io.EOF) {
		return nil
	}
	return r.err
}

// decode calls add if c completes a datagram.
func (r *reader) decode(c *capture.Packet, add func(*datagram, []byte)) {
	if r.counts.Packets == 0 {
		r.counts.First, r.counts.Last = c.Nanos, c.Nanos
	}
	r.counts.Packets++
	r.counts.First, r.counts.Last = min(r.counts.First, c.Nanos), max(r.counts.Last, c.Nanos)
	p := &r.packet
	p.Decode(c.Link, c.Data, int(c.Wire))
	d := datagram{frame: c.No, nanos: c.Nanos, mate: -1, ttl: p.TTL, ipid: p.IPID}
	if p.Stop == packet.OK && p.Frag.Set {
		whole := r.frags.Add(p, c.No, c.Nanos)
		if whole == nil {
			return
		}
		r.joined = *p
		whole.Decode(&r.joined)
		p, d.isJoined, d.ipid, d.ttl = &r.joined, true, uint16(whole.ID), whole.TTL
		if r.onPieces != nil {
			r.onPieces(c.No, whole)
		}
	}
	switch {
	case p.Stop == packet.TCP:
		r.decodeSegment(p, &d, add)
		return
	case p.Stop != packet.OK:
		r.counts.Others++
		return
	}
	size := r.offload.SegmentSize(p.Src, p.Dst, p.Payload, p.Wire, c.Segment)
	if size == 0 {
		r.addDatagram(c, p, d, add)
		return
	}
	whole, wire := p.Payload, p.Wire
	for at := 0; at < wire; at += size {
		p.Payload, p.Wire = whole[min(at, len(whole)):min(at+size, len(whole))], min(size, wire-at)
		r.addDatagram(c, p, d, add)
		d.ipid++
	}
}

// addDatagram calls add for the datagram in p, of which d has what is the frame's.
func (r *reader) addDatagram(c *capture.Packet, p *packet.Packet, d datagram, add func(*datagram, []byte)) {
	r.counts.Datagrams++
	if len(p.Payload) < p.Wire {
		r.counts.Cut++
		r.counts.cutTo.datagrams = min(r.counts.cutTo.datagrams, len(p.Payload))
	}
	d.src, d.dst, d.wire = endOf(p.Src, false), endOf(p.Dst, false), uint16(p.Wire)
	b := p.Payload[:min(len(p.Payload), r.cut.datagrams)]
	d.hash = lru.Mix(lru.MixBytes(r.seed, b), uint64(p.Wire))
	d.kind = r.id.kindOf(p, r.servers, &d)
	d.isWanted = r.wants == nil || r.wants(p, c.No, c.Nanos)
	add(&d, p.Payload)
	if r.parts != nil && d.kind == kindPart {
		r.parts.Add(&split.Datagram{Src: p.Src, Dst: p.Dst, Data: p.Payload, Wire: p.Wire, Frame: c.No, Nanos: c.Nanos})
	}
}

// identifier names kinds. Both captures share one.
type identifier struct {
	reg    *dissect.Registry
	kinds  []Kind
	byType map[*dissect.Type]uint16
	noKind uint64
}

func newIdentifier(reg *dissect.Registry) *identifier {
	return &identifier{reg: reg, kinds: make([]Kind, numUntyped), byType: map[*dissect.Type]uint16{}}
}

// kindOf returns the kind of a datagram, by its bytes and its ports, and by who serves.
func (x *identifier) kindOf(p *packet.Packet, servers *survey, d *datagram) uint16 {
	c := dissect.Context{Src: p.Src, Dst: p.Dst, Wire: p.Wire, Unread: true}
	v := x.reg.Pick(&c, p.Payload)
	switch {
	case v.Dissector != nil && v.Type != nil && (x.reg.Believe(&c, &v) || servers.hasServer(v.Type, d)):
	case wire.IsSplit(p.Payload):
		return kindPart
	default:
		return kindOther
	}
	return x.kindOfType(v.Dissector.Proto(), v.Type)
}

// kindOfType returns the kind of messages of a type.
func (x *identifier) kindOfType(p *dissect.Proto, t *dissect.Type) uint16 {
	k, known := x.byType[t]
	if !known && len(x.kinds) == maxKinds {
		x.noKind++
	} else if !known {
		k = uint16(len(x.kinds))
		x.kinds, x.byType[t] = append(x.kinds, Kind{p, t}), k
	}
	return k
}

// answers reports whether messages of kind r can answer those of kind q: challenges answer everything, and what has no
// type may.
func (x *identifier) answers(q, r uint16) bool {
	a, b := x.kinds[q].Type, x.kinds[r].Type
	return a == nil || b == nil || a.Asks.Has(b.Asks) || b.Asks.Has(dissect.AskChallenge)
}

// role returns whether a kind shows which end serves: 1 the destination, -1 the source, 0 neither.
func (x *identifier) role(kind uint16) int {
	switch t := x.kinds[kind].Type; {
	case kind == kindSYN:
		return 1
	case kind == kindSYNACK:
		return -1
	case t == nil:
		return 0
	case t.FromServer():
		return -1
	}
	return 1
}

// limit: maxKinds is how many types of messages are distinguished: all that there are, and room.
const maxKinds = 1 << 12
