package diff

import (
	"cmp"
	"math"
	"net/netip"
	"slices"

	"qsniff/capture/packet"
	"qsniff/dissect"
	"qsniff/internal/base/lru"
)

// segment is what a datagram is besides, if it is a TCP segment: then its ends are of TCP.
type segment struct {
	seq   uint32
	flags uint8
	// isAgain is set where the sender had sent all of it before.
	isAgain bool
}

// compared are the flags by which segments without data are compared.
const compared = packet.FlagSYN | packet.FlagFIN | packet.FlagRST

// isData reports whether a segment brings bytes of the stream.
func (d *datagram) isData() bool { return d.src.isTCP && d.wire > 0 && d.flags&packet.FlagSYN == 0 }

// isReset reports whether it ends the connection at once.
func (d *datagram) isReset() bool { return d.src.isTCP && d.flags&packet.FlagRST != 0 }

// cuts are the lengths up to which payloads are compared, as captures were cut.
type cuts struct{ datagrams, segments int }

// uncut compares all bytes.
var uncut = cuts{math.MaxInt, math.MaxInt}

func (c cuts) min(o cuts) cuts {
	return cuts{min(c.datagrams, o.datagrams), min(c.segments, o.segments)}
}

// decodeSegment calls add for a TCP segment whose connection has a server of a known protocol, if it
// brings data or begins or ends the connection. Acknowledgements alone are not compared: every host
// on the way may send, join and drop them.
func (r *reader) decodeSegment(p *packet.Packet, d *datagram, add func(*datagram, []byte)) {
	if len(p.Payload) < p.Wire {
		r.counts.cutTo.segments = min(r.counts.cutTo.segments, len(p.Payload))
	}
	d.src, d.dst = endOf(p.Src, true), endOf(p.Dst, true)
	d.wire, d.seq, d.flags = uint16(min(p.Wire, math.MaxUint16)), p.TCP.Seq, p.TCP.Flags
	if p.Wire == 0 && d.flags&compared == 0 || !r.id.identifySegment(p, r.streams, d) {
		r.counts.TCP++
		return
	}
	r.counts.Segments++
	if len(p.Payload) < p.Wire {
		r.counts.Cut++
	}
	switch {
	case !d.isData():
		d.hash = lru.Mix(r.seed, uint64(flagsOf(d.flags))<<32|uint64(d.wire))
	case r.cut == uncut:
		d.hash = r.poly.sum(p.Payload)
	default:
		b := p.Payload[:min(len(p.Payload), r.cut.segments)]
		d.hash = lru.Mix(lru.MixBytes(r.seed, b), uint64(p.Wire))
	}
	d.isWanted = r.wants == nil || r.wants(p, d.frame, d.nanos)
	add(d, p.Payload)
}

// flagsOf returns the flags that a segment without data is compared by.
func flagsOf(flags uint8) uint8 {
	if flags&packet.FlagSYN != 0 {
		return flags & (compared | packet.FlagACK)
	}
	return flags & compared
}

// identifySegment sets the kind of a segment, by the message that begins in it, and reports whether one of
// its ends serves a known protocol over TCP: it did before, or its port is one where that is usual.
func (x *identifier) identifySegment(p *packet.Packet, s *survey, d *datagram) bool {
	isKnown := s.streams.Peek(d.src) != nil || s.streams.Peek(d.dst) != nil
	isUsual := x.reg.OnStreamPort(d.src.port) || x.reg.OnStreamPort(d.dst.port)
	switch {
	case d.flags&packet.FlagRST != 0:
		d.kind = kindRST
	case d.flags&(packet.FlagSYN|packet.FlagACK) == packet.FlagSYN:
		d.kind = kindSYN
	case d.flags&packet.FlagSYN != 0:
		d.kind = kindSYNACK
	case p.Wire == 0:
		d.kind = kindFIN
	default:
		d.kind = kindData
		v := x.claimSegment(p, s.wayOf(d.src, d.dst, nil))
		if v.Dissector != nil && v.Type != nil && (v.Conf >= dissect.Likely || v.Conf == dissect.Maybe && (isKnown || isUsual)) {
			d.kind, isKnown = x.kindOfType(v.Dissector.Proto(), v.Type), true
		}
	}
	return isKnown || isUsual
}

// claimSegment returns whose message begins with a segment.
func (x *identifier) claimSegment(p *packet.Packet, way Way) dissect.Claim {
	stream := dissect.Stream{Dir: streamDirection(way)}
	c := dissect.Context{Src: p.Src, Dst: p.Dst, Wire: p.Wire, Unread: true, Stream: &stream}
	return x.reg.PickStream(&c, p.Payload)
}

func streamDirection(w Way) dissect.Direction {
	return [...]dissect.Direction{UnknownWay: dissect.Unsure, ToServer: dissect.ToServer, ToClient: dissect.ToClient}[w]
}

// sentTo is how far an end has sent its stream to another one.
type sentTo struct {
	next    uint32 // sequence number after the last byte
	isKnown bool
}

// newStream is the least step back of sequence numbers that is another connection of the same ports.
// Chosen: more than any window that a console has.
const newStream = 1 << 24

// noteSent sets whether a segment was sent before, by its sequence numbers. A reset, which anybody can
// send, shows nothing, nor does the byte that keeps a connection alive.
func (c *comparer) noteSent(s Side, d *datagram) {
	if !d.src.isTCP || d.isReset() || d.isData() && d.wire == 1 {
		return
	}
	v, evicted := c.sent[s].Put(connKey{d.src, d.dst})
	if evicted != nil {
		c.result.ConnsEvicted++
	}
	end := d.seq + uint32(d.wire)
	if d.flags&packet.FlagSYN != 0 {
		end++
	}
	if d.flags&packet.FlagFIN != 0 {
		end++
	}
	ahead := int32(end - v.next)
	d.isAgain = v.isKnown && ahead <= 0 && ahead > -newStream && (d.flags&packet.FlagSYN == 0 || ahead == 0)
	if d.flags&packet.FlagSYN != 0 && !d.isAgain {
		c.shifts.Delete(connKey{d.src, d.dst}) // of a former connection with these ports
	}
	if !v.isKnown || ahead > 0 || !d.isAgain {
		*v = sentTo{end, true}
	}
}

// isInjected reports whether a segment is a reset that its sender did not send: the point of the receiver
// alone has it.
func (c *comparer) isInjected(s Side, d *datagram) bool {
	sender, isKnown := c.result.Sender(d.way)
	return d.isReset() && isKnown && sender != s
}

// pairResegmented finds the bytes of connections that are in other segments at one point than at the other:
// network cards join segments, and so do proxies. Their bytes are equal, their segments are not.
func (c *comparer) pairResegmented() {
	if c.readers[Edge].cut != uncut {
		return
	}
	for s := range c.windows {
		c.windows[s].sortKeys(func(d *datagram) (uint64, bool) {
			return runKey(uint64(d.way), &d.src, &d.dst), d.isFree() && d.isData() && d.class != Duplicated
		})
	}
	c.joinRuns(func(edges, hosts []key) {
		e, h := c.inStream(Edge, edges), c.inStream(Host, hosts)
		for i := 0; i < len(e); {
			used, gone := c.resegmentAt(e[i:], h)
			h = slices.Delete(h, gone[0], gone[1])
			i += max(1, used)
		}
	})
}

// inStream returns the segments of a run in the order of their stream, each place once.
func (c *comparer) inStream(s Side, run []key) (all []int) {
	w := c.windows[s].all
	for _, k := range run {
		all = append(all, int(k.at))
	}
	base := w[all[0]].seq
	slices.SortStableFunc(all, func(a, b int) int { return cmp.Compare(int32(w[a].seq-base), int32(w[b].seq-base)) })
	return slices.CompactFunc(all, func(a, b int) bool { return w[a].seq == w[b].seq })
}

// resegmentAt looks for the segments of HOST that have the same bytes as the first ones of EDGE. It returns how many
// of EDGE these are, and from where to where those of HOST.
func (c *comparer) resegmentAt(e, h []int) (used int, gone [2]int) {
	we, wh := c.windows[Edge].all, c.windows[Host].all
	for j := range h {
		if !c.isWithinWait(Edge, &we[e[0]], &wh[h[j]]) || !c.isPlace(&we[e[0]], &wh[h[j]]) {
			continue
		}
		if n, m := c.equalBytes(e, h[j:]); n > 0 {
			c.joinReframed(Edge, e[:n], h[j:j+m])
			return n, [2]int{j, j + m}
		}
	}
	return 0, gone
}

// equalBytes returns how many of the first segments of both sides have the same bytes, which follow each
// other without a gap.
func (c *comparer) equalBytes(e, h []int) (n, m int) {
	poly := c.readers[Edge].poly
	var sums [2]uint64
	var lengths, counts [2]int
	for range 2 * maxJoined {
		s := Edge
		if lengths[Edge] > lengths[Host] {
			s = Host
		}
		w, at := c.windows[s].all, [2][]int{e, h}[s]
		i := counts[s]
		if i == len(at) || i == maxJoined || i > 0 && w[at[i-1]].seq+uint32(w[at[i-1]].wire) != w[at[i]].seq {
			return 0, 0
		}
		d := &w[at[i]]
		sums[s] = poly.join(sums[s], d.hash, int(d.wire))
		lengths[s], counts[s] = lengths[s]+int(d.wire), i+1
		if lengths[Edge] == lengths[Host] {
			if sums[Edge] != sums[Host] {
				return 0, 0
			}
			return counts[Edge], counts[Host]
		}
	}
	return 0, 0
}

// Segments with equal bytes are distinguished by their place in the stream. Something between the points may
// change all sequence numbers of a direction by the same amount; that is learned from what is there once.

// shift is what is added to the sequence numbers of a direction from EDGE to HOST.
type shift struct {
	by      uint32
	votes   int
	isKnown bool
}

// learnShifts learns the shifts of directions of which none is known, from contents that each side has at
// one place only.
func (c *comparer) learnShifts() {
	for s := range c.windows {
		c.windows[s].sortKeys(func(d *datagram) (uint64, bool) {
			return runKey(d.hash, &d.src, &d.dst), d.src.isTCP && d.state == pending && !c.shiftOf(d).isKnown
		})
	}
	we, wh := c.windows[Edge].all, c.windows[Host].all
	learned := map[connKey]shift{}
	c.joinRuns(func(edges, hosts []key) {
		e, h := &we[edges[0].at], &wh[hosts[0].at]
		if !isOnePlace(we, edges) || !isOnePlace(wh, hosts) {
			return
		}
		k := connKey{e.src, e.dst}
		v := learned[k]
		switch by := h.seq - e.seq; {
		case v.votes == 0:
			v = shift{by, 1, true}
		case v.by == by:
			v.votes++
		default:
			v.votes--
		}
		learned[k] = v
	})
	for k, v := range learned {
		if v.votes > 0 {
			p, evicted := c.shifts.Put(k)
			if *p = v; evicted != nil {
				c.result.ConnsEvicted++
			}
		}
	}
}

// isOnePlace reports whether all segments of a run are at one place of the stream.
func isOnePlace(w []datagram, run []key) bool {
	for _, k := range run {
		if w[k.at].seq != w[run[0].at].seq {
			return false
		}
	}
	return true
}

// shiftOf returns the shift of the direction of a segment.
func (c *comparer) shiftOf(d *datagram) shift {
	if v := c.shifts.Peek(connKey{d.src, d.dst}); v != nil {
		return *v
	}
	return shift{}
}

// placeOf returns the sequence number that a segment of a side has at HOST, and whether it is known.
func (c *comparer) placeOf(s Side, d *datagram) (uint32, bool) {
	v := c.shiftOf(d)
	if s == Host {
		return d.seq, v.isKnown
	}
	return d.seq + v.by, v.isKnown
}

// isPlace reports whether a segment of EDGE and one of HOST may be at the same place of their stream.
func (c *comparer) isPlace(e, h *datagram) bool {
	at, isKnown := c.placeOf(Edge, e)
	return !isKnown || at == h.seq
}

// runOf returns the run of a datagram: content and ends, of a segment its place in the stream too, and at first the
// IP ID, which only a copy shares.
func (c *comparer) runOf(s Side, d *datagram, withID bool) (uint64, bool) {
	hash := d.hash
	if d.src.isTCP {
		if withID && d.ipid == 0 {
			return 0, false
		}
		if at, isKnown := c.placeOf(s, d); isKnown {
			hash = lru.Mix(hash, uint64(at))
		}
		if withID {
			hash = lru.Mix(hash, 1<<32|uint64(d.ipid))
		}
	}
	return runKey(hash, &d.src, &d.dst), d.isFree() && d.class != Duplicated && (!withID || d.src.isTCP)
}

// setCopiesAside finds the copies of segments that were paired by their IP ID: they are no counterpart of a segment
// with the same bytes that was sent again.
func (c *comparer) setCopiesAside() {
	for s := range c.windows {
		w := &c.windows[s]
		w.sortKeys(func(d *datagram) (uint64, bool) {
			return runKey(d.hash^uint64(d.ipid)<<32^uint64(d.seq), &d.src, &d.dst), d.src.isTCP && d.ipid != 0
		})
		for keys := w.keys; len(keys) > 0; {
			var run []key
			run, keys = nextRun(keys)
			isPaired := false
			for _, k := range run {
				isPaired = isPaired || w.all[k.at].mate >= 0 || w.all[k.at].state == wasPaired
			}
			for _, k := range run {
				if d := &w.all[k.at]; isPaired && d.isFree() {
					d.class = Duplicated
				}
			}
		}
	}
}

// pairMoved pairs what is left of segments with equal bytes that are at another place, as after a segment whose
// length was changed: those that are there once, in the usual time.
func (c *comparer) pairMoved() {
	for s := range c.windows {
		c.windows[s].sortKeys(func(d *datagram) (uint64, bool) {
			return runKey(d.hash, &d.src, &d.dst), d.isData() && d.isFree() && d.class != Duplicated
		})
	}
	we, wh := c.windows[Edge].all, c.windows[Host].all
	c.joinRuns(func(edges, hosts []key) {
		if len(edges)+len(hosts) > 2 {
			return
		}
		e, h := edges[0].at, hosts[0].at
		if off, ok := c.align.deviation(&we[e], &wh[h]); ok && off <= int64(c.opt.Late) {
			we[e].mate, wh[h].mate = h, e
			wh[h].class = we[e].class
		}
	})
}

// connKey is a connection, its client first, or a direction of one, its sender first.
type connKey struct{ from, to end }

// Hash implements lru.Key.
func (k connKey) Hash(seed uint64) uint64 { return lru.Mix(k.from.Hash(seed), k.to.Hash(seed)) }

// conn is what both captures show of a connection.
type conn struct {
	frames   [2]uint64 // the first one at each side
	segments [2]uint64
	nanos    int64
	isJudged bool // the other capture covers a segment of it
	answered bool
}

// Connection is one that is at one point only.
type Connection struct {
	Side           Side
	Server, Client netip.AddrPort // as that capture has them
	Frame          uint64         // the first one
	Nanos          int64          // in the clock of HOST
	Segments       uint64
	// IsAnswered is set where the server, or something in its place, accepted the connection.
	IsAnswered bool
}

// Connections are those of servers over TCP.
type Connections struct {
	Both     uint64 // at both points
	Only     [2]uint64
	OneSided []Connection // the first maxOneSided of these
}

// countConnection counts a segment for its connection.
func (c *comparer) countConnection(s Side, d *datagram) {
	if !d.src.isTCP {
		return
	}
	k := connKey{d.src, d.dst}
	if d.way == ToClient {
		k = connKey{d.dst, d.src}
	}
	v, evicted := c.conns.Put(k)
	if evicted != nil {
		c.result.ConnsEvicted++
		c.listConnection(evicted.Key, &evicted.Val)
	}
	if v.frames[s] == 0 {
		v.frames[s] = d.frame
	}
	if v.nanos == 0 || d.nanos < v.nanos {
		v.nanos = d.nanos
	}
	v.segments[s]++
	v.isJudged = v.isJudged || d.class != Outside
	v.answered = v.answered || d.kind == kindSYNACK
}

// listConnections ends all connections.
func (c *comparer) listConnections() {
	for k, v := range c.conns.All() {
		c.listConnection(k, v)
	}
	slices.SortFunc(c.result.Connections.OneSided, func(a, b Connection) int {
		return cmp.Or(cmp.Compare(a.Nanos, b.Nanos), cmp.Compare(a.Side, b.Side), cmp.Compare(a.Frame, b.Frame))
	})
}

// listConnection counts a connection that has ended, and lists it if one point alone has it.
func (c *comparer) listConnection(k connKey, v *conn) {
	all := &c.result.Connections
	s := Edge
	switch {
	case v.frames[Edge] > 0 && v.frames[Host] > 0:
		all.Both++
		return
	case !v.isJudged:
		return
	case v.frames[Edge] == 0:
		s = Host
	}
	all.Only[s]++
	if len(all.OneSided) < maxOneSided {
		all.OneSided = append(all.OneSided, Connection{s, c.names.nameAt(s, k.to).addrPort(), c.names.nameAt(s, k.from).addrPort(),
			v.frames[s], v.nanos, v.segments[s], v.answered})
	}
}

const (
	// limit: maxOneSided is how many connections that one capture alone has are listed; the others are counted.
	// Chosen: as rows of kinds, more than anybody reads.
	maxOneSided = 1 << 11

	// limit: maxJoined is how many segments at one point can be the bytes of one at the other, or of several. Chosen: 64 KiB in
	// segments of an Ethernet are 45.
	maxJoined = 64
)
