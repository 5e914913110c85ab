package advice

import (
	"cmp"
	"encoding/binary"
	"math"
	"net/netip"
	"slices"

	"qsniff/internal/base/lru"
	"qsniff/internal/flood"
	"qsniff/internal/track"
)

// outcome counts what the lines of an advice would have done to the packets of the capture
// that followed the detection.
type outcome struct {
	// Flood counts the packets that the incident is about and whose source had not proved
	// its address, or is named alone by the lines, or asks more than any client. The first
	// packet of a new client is one of them: it cannot be distinguished from the flood.
	Flood        uint64
	FloodDropped uint64
	// Clients counts the clients that had proved their address, ClientsHit those of them
	// that lost at least one packet in touchedShare, ClientPackets what they sent, ClientLost what of it was dropped.
	Clients        int
	ClientsHit     int
	ClientPackets  uint64
	ClientLost     uint64
	HasMoreClients bool // more than trialClients: Clients and ClientsHit are lower bounds
	// NewHit counts those of ClientsHit that proved their address after the detection: the
	// ones that are hit where the others are let pass first.
	NewHit int
	// IsBlind is set by the caller where the capture shows no proof of any address, as
	// where it has one direction only.
	IsBlind bool
	// isSampled is set where packets are samples, on which lines cannot be tried.
	isSampled bool

	plan plan // what was tried
}

// touchedShare: a client that loses less than one packet in so many is not touched. Chosen: a
// player who loses one of a thousand packets of the game notices nothing, and a client that
// asks a few things loses an answer.
const touchedShare = 100

// trial applies the plans for one incident to the packets that follow its detection, side by
// side, and counts what they would have done. Limits work as the kernel's, see rateLimit. How
// clients would have reacted is unknown: one that lost a packet asks again, and proves its
// address later than in the capture.
type trial struct {
	advisor     *Advisor // whose memory it has
	seed        uint64   // of the tables; secret
	placeSeed   uint64   // of the places in lastDropped; of the first packet, so that one capture has one outcome
	kind        flood.Kind
	port        uint16 // of the target
	isEmpty     bool   // the plans have no rules
	perPort     bool   // each port of an address is a client
	attempts    [trialPlans]attempt
	numAttempts int
	forms       [trialForms]formLines
	lastDropped [replyPlaces][trialPlans]uint32 // sources whose last packet a plan dropped, by a hash; 0: none
	needsSent   bool                            // lines look at what the server sends
	busyLimit   rateLimit                       // what asks more is no client, proven or not
	clients     hashTable                       // proven ones: their index in records
	records     []clientRecord
	flood       [1 << trialPlans]uint64 // packets of the flood, by the plans that dropped them
	beyond      clientRecord            // proven clients that there was no room for
}

// clientRecord is what a proven client sent and lost.
type clientRecord struct {
	full        int64 // of the bucket with busyLimit
	isBusy      bool  // it asks more than any client
	isNew       bool  // it proved its address after the detection
	packets     uint64
	asked       uint64 // of these, what the incident is about
	lost        [trialPlans]uint32
	askedOfLost [trialPlans]uint32 // of these, what the incident is about
}

// planSet is a set of the plans of a trial: bit i is plan i.
type planSet uint8

func (x planSet) has(i int) bool { return x&(1<<i) != 0 }

// reset begins anew with the plans for in, and keeps the memory of the tables.
func (t *trial) reset(in *flood.Incident) {
	plans := t.advisor.newPlans(in)
	t.numAttempts, t.kind, t.port, t.isEmpty = len(plans), in.Kind, plans[0].target.Port(), plans[0].numRules == 0
	t.needsSent, t.placeSeed = false, 0
	t.perPort = in.Kind == flood.FloodCompleting && !isOfOne(in)
	for i := range plans {
		t.attempts[i].reset(&plans[i])
		t.needsSent = t.needsSent || plans[i].needsSent()
	}
	t.needsSent = t.needsSent && in.Kind != flood.Reflection
	clear(t.forms[:])
	clear(t.lastDropped[:])
	t.busyLimit = plans[0].busyRate(in)
	t.clients.reset(trialClients)
	t.records, t.beyond = t.records[:0], clientRecord{}
	clear(t.flood[:])
}

// Apply applies the lines to a packet: one to or from the target, or one to the victim of
// replies. For proven see flood.Trial. Where a mirror doubles packets, the caller must not
// pass the copies: the kernel gets one of each.
func (t *trial) Apply(s *track.Sighting, proven bool) {
	if t.isEmpty || !isPacket(s) {
		return
	}
	if fromServer := t.isFromServer(s); t.kind != flood.ReplyFloodVictim && fromServer != (t.kind == flood.Reflection) {
		if fromServer {
			t.recordSent(s)
		}
		return
	}
	if s.What == track.IsOther && t.kind != flood.JunkFlood { // the game's, which no other lines look at
		return
	}
	end := t.remoteEnd(s)
	lines := t.linesFor(s)
	dropped := lines.apply(&end, s.Age)
	if t.needsSent {
		if t.placeSeed == 0 {
			t.placeSeed = s.ClientHash | 1
		}
		t.recordDropped(&end, dropped)
	}
	switch {
	case proven && (!t.namesAlone(end.host) || t.attempts[0].spares(&end)):
		t.countClient(s, &end, lines.isAbout, dropped)
	case lines.isAbout:
		t.flood[dropped]++
	}
}

// namesAlone reports whether the lines of a plan name an address alone, and not its network. A
// proven client in a blocked network is a loss; one that is blocked for what it sent is none.
func (t *trial) namesAlone(who *track.Host) bool {
	for i := range t.attempts[:t.numAttempts] {
		a := &t.attempts[i]
		if slices.ContainsFunc(a.named[a.plan.numNetworks:a.numNames], func(n network) bool { return n.contains(who) }) {
			return true
		}
	}
	return false
}

// isFromServer reports whether the server at the target sent a packet.
func (t *trial) isFromServer(s *track.Sighting) bool {
	p := &t.attempts[0].plan // the servers of a network may have several ports
	return (s.SrcPort == t.port || !p.net.IsSingleIP()) && p.net.Contains(s.Src.Addr())
}

// remoteEnd is the end of a packet that is not the target.
type remoteEnd struct {
	host *track.Host
	hash uint64
	// source is a hash of what a limit for each source counts as one: the host, in IPv6 its
	// /64, because a host has all of that to send from.
	source uint64
	port   uint16
}

// bucketOf returns what a limit counts as one.
func (e *remoteEnd) bucketOf(r *ruleTest) uint64 {
	if r.isPerPair {
		return e.pair()
	}
	return e.source
}

// pair is a hash of the host and its port.
func (e *remoteEnd) pair() uint64 { return lru.Mix(e.hash, uint64(e.port)) }

// hashOf returns a hash for the tables, of two products: unlike sketches, they do not mind if
// addresses in a row are spread evenly.
func (t *trial) hashOf(h *track.Host) uint64 {
	return lru.Mix(lru.Mix16(t.seed, (*[16]byte)(h)), 0)
}

func (t *trial) remoteEnd(s *track.Sighting) remoteEnd {
	h, port := &s.Src, s.SrcPort
	if t.kind == flood.Reflection {
		h, port = &s.Dst, s.DstPort
	}
	e := remoteEnd{host: h, hash: t.hashOf(h), port: port}
	e.source = e.hash
	if !h.Is4() {
		net := *h
		clear(net[8:])
		e.source = t.hashOf(&net)
	}
	return e
}

// recordDropped records which plans dropped the last packet of a source.
func (t *trial) recordDropped(end *remoteEnd, dropped planSet) {
	last, h := t.lastDroppedOf(end.host)
	for i := range last {
		switch {
		case dropped.has(i):
			last[i] = h
		case last[i] == h:
			last[i] = 0
		}
	}
}

// lastDroppedOf returns the place of a source in lastDropped, and what stands for it there.
func (t *trial) lastDroppedOf(h *track.Host) (last *[trialPlans]uint32, source uint32) {
	x := lru.Mix16(t.placeSeed, (*[16]byte)(h))
	return &t.lastDropped[x%replyPlaces], uint32(x>>32) | 1
}

// recordSent records that the target sent its client something, for the plans that have not
// dropped the request to which it is a reply.
func (t *trial) recordSent(s *track.Sighting) {
	if !t.needsSent {
		return
	}
	h := t.hashOf(&s.Dst)
	last, source := t.lastDroppedOf(&s.Dst)
	isGated := s.What == track.IsReply && t.attempts[0].plan.gated.hasSighting(s) // the same for all plans
	for i := range t.attempts[:t.numAttempts] {
		if s.What == track.IsOther || last[i] != source {
			t.attempts[i].recordSent(h, isGated, s.Age)
		}
	}
}

// isPacket reports whether a sighting is of a datagram or a segment, and not of a message in
// one, or of an ICMP error about one.
func isPacket(s *track.Sighting) bool {
	switch s.What {
	case track.IsUnreachable, track.IsLogin, track.IsWelcome, track.IsRejected:
		return false
	}
	return true
}

// countClient counts a packet of a client that proved its address.
func (t *trial) countClient(s *track.Sighting, end *remoteEnd, isAbout bool, dropped planSet) {
	r := &t.beyond
	client := end.hash
	if t.perPort { // strangers who share an address are not bots because one of them is
		client = end.pair()
	}
	if number := t.clients.findOrAdd(client); number != nil {
		if *number == math.MinInt64 {
			*number = int64(len(t.records))
			t.records = append(t.records, clientRecord{full: math.MinInt64, isNew: s.Flags&track.HasKey != 0})
		}
		r = &t.records[*number]
		isFirst := s.What == track.IsRequest && s.Flags&track.HasKey == 0 || s.What == track.IsJunk
		r.isBusy = r.isBusy || isFirst && t.busyLimit.charge(&r.full, s.Age)
	}
	r.packets++
	if isAbout {
		r.asked++
	}
	for i := range t.attempts[:t.numAttempts] {
		if dropped.has(i) {
			r.lost[i]++
			if isAbout {
				r.askedOfLost[i]++
			}
		}
	}
}

// outcomeOf returns what the lines of plan i would have done so far.
func (t *trial) outcomeOf(i int) outcome {
	a := &t.attempts[i]
	c := outcome{ClientPackets: t.beyond.packets,
		ClientLost: uint64(t.beyond.lost[i]), HasMoreClients: t.beyond.packets > 0, plan: a.plan}
	for plans, n := range t.flood {
		c.Flood += n
		if planSet(plans).has(i) {
			c.FloodDropped += n
		}
	}
	for k := range t.records {
		r := &t.records[k]
		if r.isBusy {
			c.Flood += r.asked
			c.FloodDropped += uint64(r.askedOfLost[i])
			continue
		}
		c.Clients++
		c.ClientPackets += r.packets
		c.ClientLost += uint64(r.lost[i])
		if touchedShare*uint64(r.lost[i]) >= r.packets && r.lost[i] > 0 {
			c.ClientsHit++
			if r.isNew {
				c.NewHit++
			}
		}
	}
	return c
}

// conclude returns the outcomes of all plans, the best one first: one that is good, then the
// one that drops the largest share of the flood. Of two that drop about as much, the one
// that touches fewer clients is better, then the one that comes first.
func (t *trial) conclude(blind bool) []outcome {
	all := make([]outcome, t.numAttempts)
	for i := range all {
		all[i] = t.outcomeOf(i)
		all[i].IsBlind = blind
	}
	slices.SortStableFunc(all, func(x, y outcome) int {
		if d := cmp.Compare(y.rank(), x.rank()); d != 0 {
			return d
		}
		if dx, dy := share(x.FloodDropped, x.Flood), share(y.FloodDropped, y.Flood); math.Abs(dx-dy) > asGood {
			return cmp.Compare(dy, dx)
		}
		return cmp.Compare(x.hitShare(), y.hitShare())
	})
	return all
}

// network is a network prefix in two words, IPv4 mapped to IPv6.
type network struct{ hi, lo, hiMask, loMask uint64 }

func newNetwork(p netip.Prefix) network {
	bits := p.Bits()
	if p.Addr().Is4() {
		bits += 96
	}
	a := p.Addr().As16()
	n := network{hiMask: ^uint64(0), loMask: ^uint64(0)}
	if bits < 64 {
		n.hiMask, n.loMask = n.hiMask<<(64-bits), 0
	} else {
		n.loMask <<= 128 - bits
	}
	n.hi, n.lo = binary.BigEndian.Uint64(a[:8])&n.hiMask, binary.BigEndian.Uint64(a[8:])&n.loMask
	return n
}

func (n *network) contains(h *track.Host) bool {
	return binary.BigEndian.Uint64(h[:8])&n.hiMask == n.hi && binary.BigEndian.Uint64(h[8:])&n.loMask == n.lo
}
