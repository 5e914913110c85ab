package pipeline

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"net/netip"

	"qsniff/capture"
	"qsniff/capture/packet"
	"qsniff/dissect"
	"qsniff/internal/base/lru"
	"qsniff/internal/render/tally"
	"qsniff/internal/track"
	"qsniff/reassembly"
	"qsniff/reassembly/ipfrag"
)

// tickEvery is the packet time between two ticks, in nanoseconds. Chosen: short enough
// that what expires is written near its place, long enough to cost nothing.
const tickEvery = 250_000_000

// reader reads packets, makes items of them and fills batches. No other stage sees all
// packets.
type reader struct {
	src     capture.Source
	decoder decoder // src, if it is one
	frags   *ipfrag.Table
	seed    uint64 // of hashes; 0: not known yet
	b       *batch // being filled

	clock        clock
	idle         idle
	nextTick     int64 // by the clock's age
	inputs       inputs
	copies       copies
	clocks       *clockWatch         // nil: they are aligned
	translations []tally.Translation // list of copies.translations of version listed
	listed       int
	offload      dissect.Offload
	proxies      *proxies // nil: headers of proxies are not read
	weight       uint32   // of each packet: see Config.Sampled
	now          moment   // of the packet at hand; sets that are given up at it get it as well
	odd          item     // the packet at hand if it is no whole datagram or segment
	ways         packet.Ways
	watched      bool // somebody wants to see what no message can be made of

	n readerTotals
}

func newReader(src capture.Source, fragBytes int) *reader {
	r := &reader{src: src, frags: ipfrag.New(fragBytes)}
	r.frags.DeliverIncomplete = r.giveAbandoned
	r.decoder, _ = src.(decoder)
	r.inputs.source, _ = src.(capture.Describer)
	r.inputs.found = -1
	return r
}

// fill reads one batch into b and reports whether another follows.
func (r *reader) fill(ctx context.Context, b *batch) bool {
	b.reset()
	r.b = b
	b.err = r.src.Read(&b.raw)
	if err := ctx.Err(); err != nil && b.err == nil {
		b.err = err
	}
	if r.clocks != nil {
		b.skews = r.clocks.look(&b.raw, b.err != nil)
	}
	r.setSeed(b)
	r.inputs.begin()
	r.copies.begin(&b.raw, r.inputs.hasSeveral)
	if r.proxies != nil {
		r.proxies.hasLooked = false
	}
	r.lookAhead(b)
	r.passTime(len(b.raw.Packets))
	hasMore := len(b.raw.Gaps)+len(b.raw.Comments) > 0 // than packets
	for i := range b.raw.Packets {
		if hasMore {
			r.giveGaps(i)
			b.notes = r.inputs.collectComments(&b.raw, i, b.notes)
		}
		r.readPacket(&b.raw.Packets[i], b.raw.Packets[i+1:])
	}
	r.giveGaps(len(b.raw.Packets))
	if b.err == nil {
		r.copyTotals(b)
		return true
	}
	if errors.Is(b.err, io.EOF) {
		b.err = io.EOF
	}
	r.frags.Flush()
	b.giveAll(item{kind: kindEnd, weight: r.weight, moment: moment{frame: r.now.frame, nanos: r.now.nanos, age: r.clock.age}})
	r.copyTotals(b)
	return false
}

func (r *reader) copyTotals(b *batch) {
	r.n.frags, r.n.source = r.frags.Counters(), r.src.Stats()
	if r.proxies != nil {
		r.n.proxied, r.n.proxyEvicted = r.proxies.n, r.proxies.evicted
	}
	r.copies.listPlaces(&r.inputs, &b.copiesAt)
	if v := r.copies.translations.version; v != r.listed {
		r.listed, r.translations = v, r.copies.translations.list()
	}
	b.translations, b.steps = r.translations, r.clock.steps
	b.totals = r.n
}

// setSeed gives the batch the seed of its hashes: that of the configuration, else the one
// made of the first packet.
func (r *reader) setSeed(b *batch) {
	if r.seed == 0 && len(b.raw.Packets) > 0 {
		r.seed = seedOf(&b.raw.Packets[0])
	}
	b.seed = r.seed
}

// lookAhead counts the first packets of a file in the census before anything is made of them.
func (r *reader) lookAhead(b *batch) {
	if !r.copies.looksAhead {
		return
	}
	it := &r.odd
	for i := range b.raw.Packets {
		p := &b.raw.Packets[i]
		it.nanos, it.Outer = p.Nanos, &r.ways
		it.Decode(p.Link, p.Data, int(p.Wire))
		if it.Src.IsValid() {
			r.copies.lookAt(it, p, r.seed)
		}
	}
	r.copies.endLook(b.err != nil)
}

// passTime limits the clock, at a batch with packets, to the time that has passed since
// the first packets, and advances it at an empty batch by the time since the last
// packets. Without Config.Clock, and before the first packet, it does nothing.
func (r *reader) passTime(packets int) {
	switch {
	case r.idle.now == nil:
	case packets > 0:
		now := r.idle.now()
		if r.clock.isStarted {
			r.clock.maxAge = r.idle.maxAge(r.clock.age, now)
		}
		r.idle.since, r.idle.passed = now, 0
	case r.clock.isStarted:
		span := r.idle.takeSpan()
		r.clock.pass(span)
		r.now.nanos += span
		r.now.age = r.clock.age
		r.giveTickIfDue()
	}
}

// giveGaps gives the gaps that precede packet i to all partitions: answers of any flow
// may be missing there.
func (r *reader) giveGaps(i int) {
	raw := &r.b.raw
	for g := r.inputs.nextGap(raw, i); g != nil; g = r.inputs.nextGap(raw, i) {
		it := item{kind: kindGap, weight: r.weight, moment: r.now, rare: r.b.addRare(rare{damage: g})}
		it.age = r.clock.age
		if i < len(raw.Packets) {
			it.frame, it.nanos = raw.Packets[i].No, addStamp(raw.Packets[i].Nanos, r.clock.ahead)
		}
		r.b.giveAll(it)
	}
}

// readPacket decodes one packet and gives it to its partition. next are those that follow.
func (r *reader) readPacket(p *capture.Packet, next []capture.Packet) {
	r.n.packets++
	r.n.bytes += uint64(len(p.Data))
	r.advanceTime(p, next)
	it := r.b.spare()
	it.kind, it.rare, it.Outer, it.weight = kindDatagram, nil, &r.ways, r.weight
	if r.weight > 1 {
		r.n.samples, r.n.sampledFor = r.n.samples+1, r.n.sampledFor+uint64(r.weight)
	}
	it.frame, it.nanos, it.age, it.from = r.now.frame, r.now.nanos, r.now.age, r.now.from
	if r.decoder != nil {
		r.decoder.Decode(&it.Packet, p)
	} else {
		it.Decode(p.Link, p.Data, int(p.Wire))
	}
	switch {
	case r.copies.isActive && r.copies.isCopy(it, p, r.seed):
		r.n.copies++
	case it.Stop == packet.TCP:
		it.kind = kindSegment
		r.b.keepSpare()
	case it.Stop == packet.OK && !it.Frag.Set:
		if it.Dst.Port() == packet.SFlowPort && r.giveSamples(it) {
			break
		}
		if (p.Segment != 0 || dissect.MayBeMerged(it.Payload)) && r.giveMerged(it, p) {
			break
		}
		if r.proxies.mayMatter(it.Payload) {
			r.unwrap(it, next)
		}
		r.b.keepSpare()
	default:
		r.odd = *it
		r.giveOdd(&r.odd, p)
	}
}

// unwrap makes it, a datagram that a proxy forwarded, one between a client and a server.
func (r *reader) unwrap(it *item, next []capture.Packet) {
	n, ok := r.proxies.unwrap(&it.Packet, r.now, next)
	if !ok || n == 0 {
		return
	}
	if it.rare == nil {
		it.rare = r.b.addRare(rare{place: r.b.joined.addPieces([]reassembly.Piece{
			{Frame: it.frame, At: uint32(n), Len: uint32(len(it.Payload))}})})
	} else if x := it.rare; len(x.place) > 0 {
		x.place[0].At, x.place[0].Len = x.place[0].At+uint32(n), x.place[0].Len-uint32(n)
	}
}

// giveMerged gives the datagrams that it was merged from. It reports false if it was sent as it is.
func (r *reader) giveMerged(it *item, p *capture.Packet) bool {
	size := r.offload.SegmentSize(it.Src, it.Dst, it.Payload, it.Wire, p.Segment)
	if size == 0 {
		return false
	}
	r.odd = *it
	r.giveSegments(&r.odd, size)
	return true
}

// giveSegments gives each of the datagrams that it was merged from, which are size bytes long. Each
// has the IP identification that it has on the wire: one more than the one before.
func (r *reader) giveSegments(it *item, size int) {
	r.n.merged++
	whole, wire := it.Payload, it.Wire
	for at := 0; at < wire; at += size {
		x := *it
		from, to := min(at, len(whole)), min(at+size, len(whole))
		x.Payload, x.Wire = whole[from:to], min(size, wire-at)
		x.IPID += uint16(at / size)
		x.rare = r.b.addRare(rare{place: r.b.joined.addPieces([]reassembly.Piece{
			{Frame: it.frame, At: uint32(from), Len: uint32(to - from)}})})
		r.n.segments++
		if r.proxies.mayMatter(x.Payload) {
			r.unwrap(&x, nil)
		}
		r.b.give(&x)
	}
}

// giveSamples gives the packets that the sFlow datagram it has samples of, each with its factor. It
// reports false if it is none, or has none.
func (r *reader) giveSamples(it *item) bool {
	flow, ok := packet.NewSFlow(it.Payload)
	if !ok {
		return false
	}
	found, outer := false, *it
	for s := (packet.Sample{}); flow.Next(&s); found = true {
		x := outer
		x.DecodeSample(&s)
		x.weight = uint32(min(uint64(max(s.Rate, 1))*uint64(max(r.weight, 1)), track.MaxWeight))
		x.rare = r.b.addRare(rare{isSample: true})
		r.n.samples, r.n.sampledFor = r.n.samples+1, r.n.sampledFor+uint64(x.weight)
		switch {
		case x.Stop == packet.TCP:
			x.kind = kindSegment
			r.b.give(&x)
		case x.Stop == packet.OK && !x.Frag.Set:
			r.b.give(&x)
		case x.Stop == packet.OK:
			r.giveStray(&x) // the other fragments are hardly among the samples
		default:
			r.n.stops[x.Stop]++
			if isStray(&x) {
				r.giveStray(&x)
			}
		}
	}
	r.n.notSampled += uint64(flow.Skipped)
	return found || flow.Skipped > 0
}

// giveOdd gives what there is of a packet that is no whole datagram or segment.
func (r *reader) giveOdd(it *item, p *capture.Packet) {
	switch {
	case it.Stop == packet.ICMP && r.giveQuoted(it):
	case it.Stop != packet.OK:
		if u := it.NotRead(); u != packet.UnreadUnknown {
			r.n.unread[u]++
		} else {
			r.n.stops[it.Stop]++
		}
		if it.Stop == packet.UnknownLink {
			r.n.link = p.Link
		}
		if isStray(it) {
			r.giveStray(it)
		}
	default:
		r.giveStray(it)
		r.giveBegun(it)
		if d := r.frags.Add(&it.Packet, p.No, r.clock.age); d != nil {
			r.giveJoined(d, kindDatagram)
		}
	}
}

// isStray reports whether a packet that has no datagram or segment is one that watchers
// see. What the capture cut is none: its ends, or what it is, are not known.
func isStray(it *item) bool {
	switch it.Stop {
	case packet.ICMP, packet.OtherProto, packet.BadTCP, packet.BadUDP:
		return true
	}
	return false
}

// giveStray gives a packet that no message can be made of to the partition of its ends, if
// anybody watches.
func (r *reader) giveStray(it *item) {
	if !r.watched {
		return
	}
	it.kind = kindStray
	r.b.give(it)
	it.kind = kindDatagram
}

// giveQuoted gives what an ICMP error quotes of a UDP datagram to the partition of that
// datagram's ends.
func (r *reader) giveQuoted(it *item) bool {
	q := it.Quote()
	if !q.Set || q.Proto != packet.ProtoUDP || len(q.Payload) == 0 && q.Src.Port() == 0 {
		return false
	}
	x := *it
	h := it.PairHash()
	x.part, x.pair = uint8(h%Partitions), uint16(h>>16)
	x.kind = kindQuoted
	x.rare = r.b.addRare(rare{icmp: icmp{from: it.Src.Addr(), reason: q.Reason, kind: q.Type, code: q.Code,
		wire: uint32(it.Wire) + ipHeaderBytes(it.Src)}})
	x.Src, x.Dst, x.Payload, x.Wire = q.Src, q.Dst, q.Payload, q.Wire
	r.b.appendItem(&x)
	return true
}

// giveBegun gives the first fragment of a datagram, which names its ports, to the
// partition of its ends: a reply has begun, even if its other fragments take long or do
// not come.
func (r *reader) giveBegun(it *item) {
	const ports = 4
	if it.Frag.Off != 0 || it.Proto != packet.ProtoUDP || len(it.Payload) < ports {
		return
	}
	x := *it
	x.kind = kindBegun
	x.Src = netip.AddrPortFrom(it.Src.Addr(), binary.BigEndian.Uint16(it.Payload))
	x.Dst = netip.AddrPortFrom(it.Dst.Addr(), binary.BigEndian.Uint16(it.Payload[2:]))
	x.setPartition()
	r.b.appendItem(&x)
}

// advanceTime advances the clock to a packet, and gives a tick if one is due. next are the packets
// that follow it in the batch.
func (r *reader) advanceTime(p *capture.Packet, next []capture.Packet) {
	nanos, back := r.clock.observe(p, next)
	if back {
		r.n.backwards++
	}
	if r.n.packets == 1 {
		r.n.first, r.n.last = nanos, nanos
	}
	r.n.first, r.n.last = min(r.n.first, nanos), max(r.n.last, nanos)
	r.now.frame, r.now.nanos, r.now.age = p.No, nanos, r.clock.age
	r.now.from = r.inputs.originOf(p, r.b)
	r.giveTickIfDue()
}

// giveTickIfDue gives a tick, before the packet at hand, to all partitions if one is due.
func (r *reader) giveTickIfDue() {
	age := r.now.age
	if age < r.nextTick {
		return
	}
	if r.nextTick != 0 {
		r.frags.Expire(age)
		r.b.giveAll(item{kind: kindTick, weight: r.weight, moment: r.now})
	}
	r.nextTick = age + tickEvery
}

// giveAbandoned gives what there is of a datagram whose other fragments are missing to its
// partition: its start may be enough to identify the message.
func (r *reader) giveAbandoned(d *ipfrag.Datagram) {
	r.n.abandoned++
	r.giveJoined(d, kindAbandoned)
}

// fragmentsLost is what became of the rest of an abandoned datagram, in words.
var fragmentsLost = [...]string{
	ipfrag.Expired: "IP fragments did not come in time",
	ipfrag.Evicted: "IP fragments evicted to stay within memory",
	ipfrag.Ended:   "the capture ended before all IP fragments came",
	ipfrag.Overlap: "IP fragments overlap",
	ipfrag.TooMany: "too many IP fragments",
}

// giveJoined gives a datagram that was joined from fragments to its partition, or counts
// why it cannot be decoded.
func (r *reader) giveJoined(d *ipfrag.Datagram, k kind) {
	it := item{kind: k, moment: r.now, weight: r.weight}
	if k == kindDatagram {
		it.Outer, it.Depth = r.odd.Outer, r.odd.Depth
	}
	d.Decode(&it.Packet)
	if it.Stop == packet.TCP && k == kindDatagram {
		it.kind = kindSegment
	} else if it.Stop != packet.OK {
		r.n.stops[it.Stop]++
		return
	}
	if k == kindDatagram && r.copies.isNeeded && r.copies.isCopyAt(r.copies.places.at, &it, r.seed) {
		r.n.copies++ // fragments of datagrams whose addresses were translated differ in these
		return
	}
	why := ""
	if k == kindAbandoned { // the last fragment that came stands for the set
		it.nanos, it.frame, why = d.Last+r.now.nanos-r.now.age, 0, fragmentsLost[d.Outcome]
		for _, p := range d.Pieces {
			it.frame = max(it.frame, p.Frame)
		}
	}
	if k == kindDatagram && it.kind == kindDatagram && r.proxies.mayMatter(it.Payload) {
		r.proxies.unwrap(&it.Packet, r.now, nil)
	}
	header := uint32(cap(d.Data) - cap(it.Payload))
	it.Payload = r.b.joined.add(it.Payload)
	it.rare = r.b.addRare(rare{pieces: r.b.joined.addPieces(d.Pieces), why: why})
	countFromPayload(it.pieces, header)
	r.b.give(&it)
}

// countFromPayload makes the offsets of pieces, which count from the start of the
// datagram, count from its payload, which begins header bytes later. In the frames that
// brought header bytes the payload begins after these.
func countFromPayload(pieces []reassembly.Piece, header uint32) {
	for i := range pieces {
		p := &pieces[i]
		n := min(p.Len, header-min(p.Off, header)) // of this piece, before the payload
		p.Off, p.Len, p.At = p.Off+n-header, p.Len-n, p.At+n
	}
}

// seedOf makes a seed of the first packet of a capture: the same capture gives the same
// output, whether it is a file, compressed or comes through a pipe. Later packets do
// not count, because a pipe may bring them late.
//
// Estimates rest on hashes with this seed. An attacker on the wire cannot choose packets
// whose hashes collide: neither the time stamp of the first packet nor its link addresses
// are known there. The author of a file can, and make estimates wrong, but nothing slow:
// each hash with this seed leads to a fixed number of places, and tables that are
// searched have secret seeds, see package lru.
func seedOf(p *capture.Packet) uint64 {
	h := sha256.New()
	var b [12]byte
	binary.LittleEndian.PutUint64(b[:], uint64(p.Nanos))
	binary.LittleEndian.PutUint32(b[8:], p.Wire)
	h.Write(b[:])
	h.Write(p.Data)
	return max(binary.LittleEndian.Uint64(h.Sum(nil)), 1) // 0 is none
}

// Lengths in bytes of the headers around a payload, without options. A flood or an
// amplified reply loads a line with them, too.
const (
	udpHeaders  = 8
	tcpHeaders  = 20
	ipv4Headers = 20
	ipv6Headers = 40
)

// headerBytes returns the length of the headers around a payload in each of its packets.
func headerBytes(s *payload) uint32 {
	if s.isTCP {
		return tcpHeaders + ipHeaderBytes(s.src)
	}
	return udpHeaders + ipHeaderBytes(s.src)
}

// ipHeaderBytes returns the length of the IP header of a packet from a.
func ipHeaderBytes(a netip.AddrPort) uint32 {
	if a.Addr().Is4() {
		return ipv4Headers
	}
	return ipv6Headers
}

// Sightings of what no message can be made of: watchers count it, and nobody else.

// greHeaders is the least that a GRE tunnel puts around an IP packet: an IPv4 header and
// four bytes (RFC 2784).
const greHeaders = ipv4Headers + 4

// classifyStray fills in what a packet is that has no datagram or segment of its own.
func (w *sightMaker) classifyStray(s *track.Sighting, it *item) {
	b := it.Payload
	s.Detail = it.Proto
	s.Wire = s.Bytes + ipHeaderBytes(it.Src)
	switch {
	case it.Frag.Set:
		s.What, s.Key = track.IsFragment, it.Frag.ID
		if it.Frag.Off == 0 {
			s.Flags |= track.First
			readPorts(s, it)
		}
	case it.Stop == packet.ICMP:
		s.What, s.Detail = track.IsControl, 0
		if len(b) > 0 {
			s.Detail = b[0]
		}
		if len(b) >= icmpHeader {
			s.Key = binary.BigEndian.Uint32(b[4:])
		}
	default:
		s.What = track.IsCarried
	}
	w.addHashes(s, lru.MixBytes(uint64(it.Frag.Off)<<32|uint64(s.Bytes), b[:min(len(b), printedBytes)]))
}

// icmpHeader is the length of the header of an ICMP message (RFC 792, RFC 4443).
const icmpHeader = 8

// readPorts reads the ports at the start of the first fragment of a datagram or segment.
func readPorts(s *track.Sighting, it *item) {
	const ports = 4
	if it.Proto != packet.ProtoUDP && it.Proto != packet.ProtoTCP || len(it.Payload) < ports {
		return
	}
	s.SrcPort, s.DstPort = binary.BigEndian.Uint16(it.Payload), binary.BigEndian.Uint16(it.Payload[2:])
}

// addTunnel adds the outermost GRE tunnel around a packet that was shown: its receiver is
// another host, whom the packets inside may be sent to in order to flood it.
func (w *sightMaker) addTunnel(it *item) {
	for i := range it.ways {
		way := &it.ways[i]
		if way.Kind != packet.WayGRE {
			continue
		}
		seg := w.now.seg
		x := seg.sights[len(seg.sights)-1]
		x.list, x.post = 0, 0 // they are of the packet inside
		inner := x.Wire
		x.Sighting = track.Sighting{What: track.IsCarried, Detail: packet.ProtoGRE, Frame: x.Frame, Age: x.Age, Nanos: x.Nanos,
			Src: track.HostOf(netip.AddrPortFrom(way.Src.Addr(), 0)), Dst: track.HostOf(netip.AddrPortFrom(way.Dst.Addr(), 0)),
			Bytes: inner, Wire: inner + greHeaders, Weight: it.weight}
		x.FillHashes(w.now.seed)
		seg.sights = append(seg.sights, x)
		return
	}
}
