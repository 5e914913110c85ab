package pipeline

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net/netip"

	"qsniff/capture"
	"qsniff/netlayer"
	"qsniff/reassembly"
	"qsniff/reassembly/ipfrag"
)

// tickEvery is the packet time between two ticks: fine enough that what expires
// is written near its place, coarse enough to cost nothing.
const tickEvery = 250_000_000

// reader fills batches. It is the only worker that sees all packets.
type reader struct {
	src     capture.Source
	decoder decoder // src, if it is one
	frags   *ipfrag.Table
	seed    uint64 // of hashes; 0: not known yet
	b       *batch // being filled

	clock    clock
	idle     idle
	nextTick int64 // by the clock's age
	inputs   inputs
	dedup    dedup
	last     item // of the packet at hand, for sets that are abandoned at it
	ways     netlayer.Ways
	watched  bool // somebody wants to see what no message can be made of

	n readerTotals
}

func newReader(src capture.Source, fragBytes int) *reader {
	r := &reader{src: src, frags: ipfrag.New(fragBytes)}
	r.frags.Abandoned = r.abandon
	r.decoder, _ = src.(decoder)
	r.inputs.source, _ = src.(capture.Describer)
	r.inputs.found = -1
	return r
}

// fill reads one batch. It returns false after the last one.
func (r *reader) fill(ctx context.Context, b *batch) bool {
	b.reset()
	r.b = b
	b.err = r.src.Read(&b.raw)
	if err := ctx.Err(); err != nil && b.err == nil {
		b.err = err
	}
	r.setSeed(b)
	r.inputs.begin()
	r.passTime(len(b.raw.Packets))
	for i := range b.raw.Packets {
		r.giveGaps(i)
		b.notes = r.inputs.collectComments(&b.raw, i, b.notes)
		r.packet(&b.raw.Packets[i])
	}
	r.giveGaps(len(b.raw.Packets))
	if b.err == nil {
		r.snapshot(b)
		return true
	}
	if errors.Is(b.err, io.EOF) {
		b.err = io.EOF
	}
	r.frags.Flush()
	b.giveAll(item{kind: kindEnd, frame: r.last.frame, nanos: r.last.nanos, age: r.clock.age})
	r.snapshot(b)
	return false
}

func (r *reader) snapshot(b *batch) {
	r.n.frags, r.n.source = r.frags.Counters(), r.src.Stats()
	b.totals = r.n
}

// setSeed gives the batch the seed of its hashes: the one that was chosen, else that of
// the first packet.
func (r *reader) setSeed(b *batch) {
	if r.seed == 0 && len(b.raw.Packets) > 0 {
		r.seed = seedOf(&b.raw.Packets[0])
	}
	b.seed = r.seed
}

// passTime notes that a batch of so many packets came, and lets time go on if there are
// none. Before the first packet nothing waits.
func (r *reader) passTime(packets int) {
	switch {
	case r.idle.now == nil:
	case packets > 0:
		now := r.idle.now()
		if r.clock.isStarted {
			r.clock.ceiling = r.idle.ceiling(r.clock.age, now)
		}
		r.idle.since, r.idle.passed = now, 0
	case r.clock.isStarted:
		span := r.idle.span()
		r.clock.pass(span)
		r.last.nanos += span
		r.last.age = r.clock.age
		r.tick()
	}
}

// giveGaps gives the damage that precedes packet i to all partitions: answers of any flow
// may be missing there.
func (r *reader) giveGaps(i int) {
	raw := &r.b.raw
	for g := r.inputs.nextGap(raw, i); g != nil; g = r.inputs.nextGap(raw, i) {
		it := item{kind: kindGap, frame: r.last.frame, nanos: r.last.nanos, age: r.clock.age, damage: g}
		if i < len(raw.Packets) {
			it.frame, it.nanos = raw.Packets[i].No, raw.Packets[i].Nanos
		}
		r.b.giveAll(it)
	}
}

// packet decodes one packet and gives it to its partition.
func (r *reader) packet(p *capture.Packet) {
	r.n.packets++
	r.n.bytes += uint64(len(p.Data))
	r.time(p)
	it := &r.last
	it.Outer, it.ways = &r.ways, nil
	if r.decoder != nil {
		r.decoder.Decode(&it.Packet, p)
	} else {
		it.Decode(p.Link, p.Data, int(p.Wire))
	}
	if r.dedup.isCopy(it, p, r.seed, r.inputs.hasSeveral) {
		r.n.copies++
		return
	}
	switch {
	case it.Stop == netlayer.TCP:
		it.kind = kindSegment
		r.b.give(it)
	case it.Stop == netlayer.ICMP && r.quote(it):
	case it.Stop != netlayer.OK:
		r.n.stops[it.Stop]++
		if it.Stop == netlayer.UnknownLink {
			r.n.link = p.Link
		}
		if isStray(it) {
			r.stray(it)
		}
	case it.Frag.Set:
		r.stray(it)
		r.beginning(it)
		if d := r.frags.Add(&it.Packet, p.No, r.clock.age); d != nil {
			r.join(d, kindDatagram)
		}
	default:
		r.b.give(it)
	}
}

// isStray reports whether a packet that has no datagram or segment is one that watchers
// see. What the capture cut is none: its ends, or what it is, are not known.
func isStray(it *item) bool {
	switch it.Stop {
	case netlayer.ICMP, netlayer.OtherProto, netlayer.BadTCP, netlayer.BadUDP:
		return true
	}
	return false
}

// stray gives a packet that no message can be made of to the partition of its ends, if
// anybody watches.
func (r *reader) stray(it *item) {
	if !r.watched {
		return
	}
	it.kind = kindStray
	r.b.give(it)
	it.kind = kindDatagram
}

// quote gives what an ICMP error quotes of a UDP datagram to the partition of that
// datagram's ends.
func (r *reader) quote(it *item) bool {
	q := it.Quote()
	if !q.Set || q.Proto != netlayer.ProtoUDP || len(q.Payload) == 0 && q.Src.Port() == 0 {
		return false
	}
	x := *it
	x.part = it.Partition()
	x.kind = kindQuoted
	x.icmp = icmp{from: it.Src.Addr(), reason: q.Reason, kind: q.Type, code: q.Code, wire: uint32(it.Wire) + ipHeaders(it.Src)}
	x.Src, x.Dst, x.Payload, x.Wire = q.Src, q.Dst, q.Payload, q.Wire
	r.b.keep(&x)
	return true
}

// beginning tells a partition that a datagram is on its way, whose first fragment
// names its ends: the others can take long, or never come.
func (r *reader) beginning(it *item) {
	const ports = 4
	if it.Frag.Off != 0 || it.Proto != netlayer.ProtoUDP || len(it.Payload) < ports {
		return
	}
	x := *it
	x.kind = kindBegun
	x.Src = netip.AddrPortFrom(it.Src.Addr(), binary.BigEndian.Uint16(it.Payload))
	x.Dst = netip.AddrPortFrom(it.Dst.Addr(), binary.BigEndian.Uint16(it.Payload[2:]))
	x.part = x.Partition()
	r.b.keep(&x)
}

// time advances the clock and the item at hand to a packet, with a tick if it is
// time for one.
func (r *reader) time(p *capture.Packet) {
	if r.n.packets == 1 {
		r.n.first, r.n.last = p.Nanos, p.Nanos
	}
	r.n.first, r.n.last = min(r.n.first, p.Nanos), max(r.n.last, p.Nanos)
	if r.clock.at(p.Nanos) {
		r.n.backwards++
	}
	it := &r.last
	it.kind, it.frame, it.nanos, it.age = kindDatagram, p.No, p.Nanos, r.clock.age
	it.pieces, it.why = nil, ""
	it.from = r.inputs.originOf(p)
	r.tick()
}

// tick puts a tick before the packet at hand if it is time for one.
func (r *reader) tick() {
	it := &r.last
	if it.age < r.nextTick {
		return
	}
	if r.nextTick != 0 {
		r.frags.Expire(it.age)
		r.b.giveAll(item{kind: kindTick, frame: it.frame, nanos: it.nanos, age: it.age})
	}
	r.nextTick = it.age + tickEvery
}

// abandon takes what there is of a set whose other fragments are missing: its
// start may tell the message.
func (r *reader) abandon(d *ipfrag.Datagram) {
	r.n.abandoned++
	r.join(d, kindAbandoned)
}

// fragmentsLost says what became of the rest of an abandoned datagram.
var fragmentsLost = [...]string{
	ipfrag.Expired: "IP fragments did not come in time",
	ipfrag.Evicted: "IP fragments given up to stay within memory",
	ipfrag.Ended:   "the capture ended before all IP fragments came",
	ipfrag.Overlap: "IP fragments overlap",
	ipfrag.TooMany: "too many IP fragments",
}

// join gives a datagram made of fragments to its partition, or counts why not.
func (r *reader) join(d *ipfrag.Datagram, k kind) {
	it := item{kind: k, frame: r.last.frame, nanos: r.last.nanos, age: r.last.age, from: r.last.from}
	if k == kindDatagram {
		it.Outer, it.Depth = r.last.Outer, r.last.Depth
	}
	d.Decode(&it.Packet)
	if it.Stop == netlayer.TCP && k == kindDatagram {
		it.kind = kindSegment
	} else if it.Stop != netlayer.OK {
		r.n.stops[it.Stop]++
		return
	}
	if k == kindAbandoned { // the last fragment that came stands for the set
		it.nanos, it.frame, it.why = d.Last+r.last.nanos-r.last.age, 0, fragmentsLost[d.Why]
		for _, p := range d.Pieces {
			it.frame = max(it.frame, p.Frame)
		}
	}
	header := uint32(cap(d.Data) - cap(it.Payload))
	it.Payload = r.b.joined.add(it.Payload)
	it.pieces = r.b.joined.addPieces(d.Pieces)
	countFromPayload(it.pieces, header)
	r.b.give(&it)
}

// countFromPayload makes offsets count from the payload on, header bytes into the datagram.
func countFromPayload(pieces []reassembly.Piece, header uint32) {
	for i := range pieces {
		p := &pieces[i]
		n := min(p.Len, header-min(p.Off, header)) // of this piece, before the payload
		p.Off, p.Len = p.Off+n-header, p.Len-n
	}
}
