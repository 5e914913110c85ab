package advice

import (
	"cmp"
	"encoding/binary"
	"math"
	"net/netip"
	"slices"
	"time"

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
	// that lost at least one packet in flood.TouchedShare, ClientPackets what they sent, ClientLost what of it was dropped.
	Clients        int
	ClientsHit     int
	ClientPackets  uint64
	ClientLost     uint64
	HasMoreClients bool // more than trialClients: Clients and ClientsHit are lower bounds
	// NewHit counts those of ClientsHit that proved their address after the detection: the
	// ones that are hit where the others are let pass first.
	NewHit int
	losses flood.ClientLosses // while the incident lasted
	// IsBlind is set by the caller where the capture shows no proof of any address, as
	// where it has one direction only.
	IsBlind bool
	answers flood.Answers // what clients got meanwhile, without these lines
	// limitShare is the share of all requests that the server's own limit let it answer when the flood began; 1: none
	// was seen.
	limitShare float64
	// isSampled is set where packets are samples, on which lines cannot be tried.
	isSampled bool

	Sources uint64 // of a class, with a limit for each: how many came
	plan    plan   // what was tried
}

// trial applies the plans for one incident to the packets that follow its detection, side by
// side, and counts what they would have done. Limits work as the kernel's, see rateLimit. How
// clients would have reacted is unknown: one that lost a packet asks again, and proves its
// address later than in the capture.
type trial struct {
	advisor     *Advisor // whose memory it has
	seed        uint64   // of the tables, the same in all trials of the advisor; secret
	placeSeed   uint64   // of the places in lastDropped; of the first packet, so that one capture has one outcome
	kind        flood.Kind
	port        uint16 // of the target
	isEmpty     bool   // the plans have no rules
	isOfClass   bool   // all packets that it gets are of the incident's class
	perPort     bool   // each port of an address is a client
	attempts    [trialPlans]attempt
	numAttempts int
	forms       [trialForms]formLines
	lastDropped [replyPlaces]lastPacket // of the sources that came last, by a hash
	needsSent   bool                    // lines look at what the server sends
	busyLimit   rateLimit               // what asks more is no client, proven or not
	clients     hashTable               // proven ones: their index in records
	records     []clientRecord
	flood       [1 << trialPlans]uint64 // packets of the flood, by the plans that dropped them
	beyond      clientRecord            // proven clients that there was no room for
	first       asked                   // requests of all but proven clients
	past        flood.Answers           // of trials of this incident before this one
	clock       int64                   // of the last packet
}

// asked counts requests and replies.
type asked struct{ requests, replies uint32 }

// lastPacket is what became of the last packet of a source: a hash of the source, and in its lowest
// bits the planSet that dropped it; 0: none came.
type lastPacket uint64

const planBits = 1<<trialPlans - 1

// clientRecord is what a proven client sent and lost.
type clientRecord struct {
	began       int64  // Unix time of its first packet here
	game        uint64 // packets of the game that no lines look at
	plays       bool
	firstLost   planSet // they dropped the packet before the one that proved its address
	knowsFirst  bool    // that packet is known
	full        int64   // of the bucket with busyLimit
	isBusy      bool    // it asks more than any client
	isNew       bool    // it proved its address after the detection
	packets     uint64
	asked       uint64 // of these, what the incident is about
	asks, keyed asked
	lastAsked   int64 // the age of its last request
	isWaiting   bool  // for the reply to it
	isServed    bool  // it got a reply to the last request but the one that it waits for
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
	t.isOfClass = in.Class != nil && in.Kind == flood.OtherFlood
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
	t.first, t.past = asked{}, flood.Answers{}
	clear(t.flood[:])
}

// Apply applies the lines to a packet: one to or from the target, or one to the victim of
// replies. For proven see flood.Trial. Where a mirror doubles packets, the caller must not
// pass the copies: the kernel gets one of each.
func (t *trial) Apply(s *track.Sighting, proven bool) {
	if t.isEmpty || !isPacket(s) {
		return
	}
	if t.isOfClass {
		t.applyToClass(s)
		return
	}
	if fromServer := t.isFromServer(s); t.kind != flood.ReplyFloodVictim && fromServer != (t.kind == flood.Reflection) {
		if fromServer {
			t.recordReply(s, proven)
			t.recordSent(s)
		}
		return
	}
	t.clock = s.Age
	end := t.remoteEnd(s)
	if s.What == track.IsOther && t.kind != flood.JunkFlood { // the game's, which no other lines look at
		if proven && t.hasClasses() {
			if r := t.recordOf(s, &end); r != nil {
				r.game++
				r.plays = true
			}
		}
		return
	}
	lines := t.linesFor(s)
	dropped := lines.apply(&end, s.Age)
	if t.placeSeed == 0 {
		t.placeSeed = s.ClientHash | 1
	}
	switch {
	case proven && (!t.namesAlone(end.host) || t.attempts[0].spares(&end)):
		t.countClient(s, &end, lines.isAbout, dropped)
	default:
		if s.What == track.IsRequest {
			t.first.requests++
		}
		if lines.isAbout {
			t.flood[dropped]++
		}
	}
	last, source := t.lastPacketOf(end.host)
	*last = source | lastPacket(dropped)
}

// applyToClass applies the lines against a class to one of its packets. From those whom the host sent something
// none is of the class. Fragments after the first have no ports, and pass lines that look at these: in a kernel
// that follows connections they are joined before, and do not.
func (t *trial) applyToClass(s *track.Sighting) {
	a := &t.attempts[0]
	r, now := &a.tests[0], s.Age
	var dropped planSet
	switch {
	case s.What == track.IsFragment && s.Flags&track.First == 0 && a.plan.isOfPorts():
	case now < r.opens:
		dropped = 1
	case !r.isPerSource:
		r.charge(now)
	default:
		end := t.remoteEnd(s)
		if a.isOver(r, end.bucketOf(r), now) {
			dropped = 1
		}
	}
	t.flood[dropped]++
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

// lastPacketOf returns the place of a source in lastDropped, and what stands for it there if nothing
// dropped its packet.
func (t *trial) lastPacketOf(h *track.Host) (last *lastPacket, source lastPacket) {
	x := lru.Mix16(t.placeSeed, (*[16]byte)(h))
	return &t.lastDropped[x%replyPlaces], lastPacket(x|1<<63) &^ planBits
}

// whatDropped returns which plans dropped the last packet of a source, if that is known.
func (t *trial) whatDropped(h *track.Host) (dropped planSet, isKnown bool) {
	last, source := t.lastPacketOf(h)
	if *last&^planBits != source {
		return 0, false
	}
	return planSet(*last & planBits), true
}

// recordSent records that the target sent its client something, for the plans that have not
// dropped the request to which it is a reply.
func (t *trial) recordSent(s *track.Sighting) {
	if !t.needsSent {
		return
	}
	h := t.hashOf(&s.Dst)
	dropped, _ := t.whatDropped(&s.Dst)
	of := &t.attempts[0].plan // both are the same for all plans
	isGated, isReply := s.What == track.IsReply && of.gated.hasSighting(s), of.replies.hasSighting(s)
	for i := range t.attempts[:t.numAttempts] {
		if s.What == track.IsOther || !dropped.has(i) {
			t.attempts[i].recordSent(h, isGated, isReply, s.Age)
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

// recordReply counts a reply of the server, proven reports whether to a client that proved its address.
func (t *trial) recordReply(s *track.Sighting, proven bool) {
	if s.What != track.IsReply && s.What != track.IsChallenge && (s.What != track.IsPart || s.Flags&track.First == 0) {
		return
	}
	if proven {
		client := t.hashOf(&s.Dst)
		if t.perPort {
			client = lru.Mix(client, uint64(s.DstPort))
		}
		if number := t.clients.lookup(client); number != nil {
			r := &t.records[*number]
			r.asks.replies++
			if s.What != track.IsChallenge {
				r.keyed.replies++
			}
			r.isServed, r.isWaiting = true, false
			return
		}
	}
	t.first.replies++
}

// Answers returns what clients got of what they asked for since the incident was detected.
func (t *trial) Answers() flood.Answers {
	a := t.past
	if !t.hasClasses() || t.isEmpty {
		return a
	}
	a.Clients, a.ClientsServed = 0, 0
	firstAsked, firstGiven := uint64(t.first.requests), uint64(t.first.replies)
	for i := range t.records {
		r := &t.records[i]
		requests, replies := uint64(r.asks.requests), uint64(min(r.asks.replies, r.asks.requests))
		if r.isBusy { // a forged address, or no client
			firstAsked += requests
			firstGiven += replies
			continue
		}
		a.ProvenAsked += requests
		a.ProvenGiven += replies
		a.KeyedAsked += uint64(r.keyed.requests)
		a.KeyedGiven += uint64(min(r.keyed.replies, r.keyed.requests))
		if requests > 0 && t.clock-r.lastAsked < int64(lately) {
			a.Clients++
			if r.isServed {
				a.ClientsServed++
			}
		}
	}
	a.FirstAsked += firstAsked
	a.FirstGiven += min(firstGiven, firstAsked)
	return a
}

// recordOf returns the record of a client that proved its address; nil if there is no room for it.
func (t *trial) recordOf(s *track.Sighting, end *remoteEnd) *clientRecord {
	client := end.hash
	if t.perPort { // strangers who share an address are not bots because one of them is
		client = end.pair()
	}
	number := t.clients.findOrAdd(client)
	if number == nil {
		return nil
	}
	if *number == math.MinInt64 {
		*number = int64(len(t.records))
		r := clientRecord{full: math.MinInt64, isNew: s.Flags&track.HasKey != 0, began: s.Nanos}
		if r.isNew {
			r.firstLost, r.knowsFirst = t.whatDropped(end.host)
		}
		t.records = append(t.records, r)
	}
	return &t.records[*number]
}

// countClient counts a packet of a client that proved its address.
func (t *trial) countClient(s *track.Sighting, end *remoteEnd, isAbout bool, dropped planSet) {
	r := t.recordOf(s, end)
	if r == nil {
		r = &t.beyond
	} else {
		isFirst := s.What == track.IsRequest && s.Flags&track.HasKey == 0 || s.What == track.IsJunk
		r.isBusy = r.isBusy || isFirst && t.busyLimit.charge(&r.full, s.Age)
		r.plays = r.plays || s.What == track.IsOther
	}
	r.packets++
	if isAbout {
		r.asked++
	}
	if s.What == track.IsRequest {
		r.asks.requests++
		if s.Flags&track.HasKey != 0 {
			r.keyed.requests++
		}
		if r.isWaiting {
			r.isServed = false
		}
		r.lastAsked, r.isWaiting = s.Age, true
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
	if t.isOfClass {
		c.Sources = uint64(a.sourceBuckets.numKeys)
	}
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
		if r.packets == 0 { // it plays, and sent nothing that the lines look at
			continue
		}
		c.Clients++
		c.ClientPackets += r.packets
		c.ClientLost += uint64(r.lost[i])
		if flood.TouchedShare*uint64(r.lost[i]) >= r.packets && r.lost[i] > 0 {
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
func (t *trial) conclude(blind bool, end int64) []outcome {
	all := make([]outcome, t.numAttempts)
	for i := range all {
		all[i] = t.outcomeOf(i)
		all[i].losses = t.lossesOf(i, &all[i], end)
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

// hasClasses reports whether the clients of the incident are players and visitors of the server.
func (t *trial) hasClasses() bool { return hasClasses(t.kind) }

func hasClasses(k flood.Kind) bool {
	return k != flood.Reflection && k != flood.ReplyFloodVictim && k != flood.RconBruteforce
}

// lossesOf returns what each client loses by the lines of plan i. Those that came after end, the Unix
// time when the incident was over, met no full limit, and do not count; 0: it is not over.
func (t *trial) lossesOf(i int, c *outcome, end int64) flood.ClientLosses {
	x := flood.ClientLosses{FloodShare: share(c.FloodDropped, c.Flood)}
	if !t.hasClasses() {
		return x
	}
	for _, slot := range t.clients.slots {
		if slot.key == 0 {
			continue
		}
		r := &t.records[slot.val]
		if r.isBusy || end != 0 && r.began > end {
			continue
		}
		l := flood.ClientLoss{Client: slot.key, Packets: uint32(min(r.packets+r.game, math.MaxUint32)), Lost: r.lost[i], IsPlayer: r.plays, IsNew: r.isNew}
		switch {
		case !r.knowsFirst:
		case r.firstLost.has(i):
			l.First = flood.FirstDropped
		default:
			l.First = flood.FirstPassed
		}
		x.All = append(x.All, l)
	}
	return x
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

// attempt is one plan of a trial, with the state that the kernel would have for its lines. What
// each packet needs of it comes first.
type attempt struct {
	tests         [planRules]ruleTest
	numNames      int
	sourceBuckets hashTable // when the bucket of each source is full
	answered      hashTable // when the server sent data for a challenge to each source
	peers         hashTable // when the server sent something to each source
	passBuckets   hashTable // when the bucket of each of these is full
	needsPeers    bool      // the lines look up whom the server sent something
	skipsReplies  bool      // other than replies
	needsAnswered bool      // the lines look up whom the server answered
	named         [planNames]network
	plan          plan
}

// ruleTest is what a packet needs of a rule.
type ruleTest struct {
	opens       int64 // of the bucket that all sources share: packets before that time are over the limit
	costs       bucketCost
	idle        time.Duration
	isPerSource bool
	isPerPair   bool // each port of a source has its own
	spares      bool // it may not match what it looks at: one of the following is set
	isOfNames   bool
	needsPeers  bool
	letsPass    bool // those that the server has answered
}

// reset begins anew with a plan, and keeps the memory of the tables.
func (a *attempt) reset(p *plan) {
	a.plan, a.numNames = *p, p.numNames
	a.needsPeers, a.skipsReplies, a.needsAnswered = p.needsPeers(), p.skipsReplies(), p.needsAnswered()
	for i, x := range p.named[:p.numNames] {
		a.named[i] = newNetwork(x)
	}
	a.setTests()
	a.sourceBuckets.reset(trialSources)
	a.peers.reset(trialPeers)
	a.answered.reset(trialAnswered)
	a.passBuckets.reset(trialAnswered)
}

// setTests makes the tests for the rules of the plan.
func (a *attempt) setTests() {
	for i := range a.plan.rules {
		r := &a.plan.rules[i]
		x := ruleTest{opens: math.MinInt64, costs: r.limit.costs(), idle: r.kind.idleTime(), isPerSource: r.kind.isPerSource(), isPerPair: r.kind == linePairs,
			isOfNames: r.kind.isOfNames(), needsPeers: r.kind.needsPeers(), letsPass: a.plan.letsAnsweredPass(r.kind)}
		x.spares = x.isOfNames || x.needsPeers || x.letsPass
		if r.limit.packets == 0 || r.limit.burst == 0 { // it drops everything
			x.opens, x.isPerSource = math.MaxInt64, false
		}
		a.tests[i] = x
	}
}

// names reports whether the lines name an address or its network.
func (a *attempt) names(who *track.Host) bool {
	return slices.ContainsFunc(a.named[:a.numNames], func(n network) bool { return n.contains(who) })
}

// spares reports whether the lines let a host that they name pass, from the port where it asks itself.
func (a *attempt) spares(end *remoteEnd) bool {
	return a.plan.numSpared > 0 && a.plan.spares(netip.AddrPortFrom(end.host.Addr(), end.port))
}

// isSpared reports whether a rule does not match a packet that it looks at.
func (a *attempt) isSpared(r *ruleTest, end *remoteEnd, now int64) bool {
	return r.isOfNames && (!a.names(end.host) || a.spares(end)) || r.needsPeers && a.isPeer(end.hash, now) || r.letsPass && a.isLetPass(end, now)
}

// charge charges a packet that is not over the limit to the bucket that all sources share.
func (r *ruleTest) charge(now int64) {
	c := r.costs
	full := r.opens + c.most - c.each
	_ = c.charge(&full, now)
	r.opens = full - (c.most - c.each)
}

// isOver charges a packet of a source at the time now to the limit that a rule has for each, and
// reports whether the packet is over it.
func (a *attempt) isOver(r *ruleTest, source uint64, now int64) bool {
	full := a.sourceBuckets.findOrReplace(source, now, r.idle)
	return full != nil && r.costs.charge(full, now)
}

// recordSent records that the server sent something to a source at the time now. isGated
// reports whether the server gives that for a challenge only, isReply whether anyone gets it who
// asks. As in the kernel, a full set takes no new source.
func (a *attempt) recordSent(source uint64, isGated, isReply bool, now int64) {
	if isGated && a.needsAnswered {
		a.answered.record(source, now, answeredIdle)
	}
	if a.needsPeers && !(isReply && a.skipsReplies) {
		a.peers.record(source, now, peerIdle)
	}
}

// isPeer reports whether the server sent something to a source in the last peerIdle.
func (a *attempt) isPeer(h uint64, now int64) bool {
	at := a.peers.lookup(h)
	return at != nil && *at > now-int64(peerIdle)
}

// needsPeers reports whether the lines of a plan look up whom the server sent something.
func (p *plan) needsPeers() bool {
	for _, r := range p.rules[:p.numRules] {
		if r.kind.needsPeers() {
			return true
		}
	}
	return false
}

// skipsReplies reports whether the peers of the plan are the receivers of anything but replies. A cap
// on strangers passes players, and a flood of forged queries whose challenges made peers of all their
// addresses would fill the set, so that players who join find no room. A challenge has to
// come from a host that was sent one, so that the lines about these have no use for this.
func (p *plan) skipsReplies() bool { return p.hasRule(lineStrangers) && !p.hasRule(lineUnissued) }

// needsSent reports whether the lines of a plan look at what the server sends.
func (p *plan) needsSent() bool { return p.needsPeers() || p.needsAnswered() }

// The least that a trial must show of lines that are printed without a warning.
const (
	// leastDropped is the least share of the flood that they drop. Chosen: what halves a
	// flood does not end it.
	leastDropped = 0.5
	// mostTouched is the largest share of the proven clients that lose a packet. Chosen:
	// one in a hundred.
	mostTouched = 0.01
	// leastTried is how many packets of a flood a trial needs to say anything, and
	// leastBursts the same in bursts of the limits that all sources share: a shorter trial
	// shows what passes at once, and not the limit. Chosen.
	leastTried  = 20
	leastBursts = 2
	// asGood is by how much two shares differ at most that count as the same.
	asGood = 0.02
)

// hitShare returns the share of the proven clients that lost a packet.
func (c *outcome) hitShare() float64 {
	if c.IsBlind {
		return 0
	}
	return share(uint64(c.ClientsHit), uint64(c.Clients))
}

// newHitShare is hitShare where those that had proved their address are let pass first.
func (c *outcome) newHitShare() float64 {
	if c.IsBlind {
		return 0
	}
	return share(uint64(c.NewHit), uint64(c.Clients))
}

// isTooShort reports whether too few packets were tried to say how much the lines drop.
func (c *outcome) isTooShort() bool { return c.Flood < max(leastTried, leastBursts*c.sharedBurst()) }

// sharedBurst returns how many packets pass at once by the limits that all sources share, or of a class by those of
// all sources together.
func (c *outcome) sharedBurst() (n uint64) {
	for _, r := range c.plan.rules[:c.plan.numRules] {
		switch {
		case r.kind == lineEach:
			n = max(n, uint64(r.limit.burst)*c.Sources)
		case !r.kind.isPerSource():
			n = max(n, uint64(r.limit.burst))
		}
	}
	return n
}

// dropsEnough reports whether the lines drop enough of the flood, or the trial cannot decide.
func (c *outcome) dropsEnough() bool {
	return c.isTooShort() || share(c.FloodDropped, c.Flood) >= leastDropped
}

// rank returns how good the outcome is: lines that drop enough and touch few clients, lines
// that do so where proven clients are let pass first, lines that only drop enough, and others.
func (c *outcome) rank() int {
	switch {
	case !c.dropsEnough():
		return 0
	case c.hitShare() <= mostTouched:
		return 3
	case c.newHitShare() <= mostTouched:
		return rankProvenFirst
	}
	return 1
}

// rankProvenFirst is the rank of lines that are good where proven clients pass first.
const rankProvenFirst = 2

func share(n, of uint64) float64 {
	if of == 0 {
		return 0
	}
	return float64(n) / float64(of)
}

// idleTime returns after how long without packets the kernel drops a source of such a line.
func (l lineKind) idleTime() time.Duration {
	if l == lineLogins {
		return loginIdle
	}
	return sourceIdle
}

const (
	// limit: trialClients is how many proven clients a trial counts one by one: four times what a server's
	// browser traffic shows in a minute (2 visits a second and some monitors), 480 KiB with what they
	// sent. Of further ones only the packets are counted.
	trialClients = 1 << 12
	// limit: trialPlans is how many plans for an incident a trial tries side by side: those that package
	// advice has for the kind with most of them.
	trialPlans = 4
	// limit: peerIdle is after how long the set drops such a source: a client brings a challenge back
	// within seconds, and a player is sent the game all the time.
	peerIdle = time.Minute
	// lately is how long ago the last request of a client is that is still one. Chosen: monitors ask each minute.
	lately = time.Minute
	// limit: replyPlaces is for how many sources a trial keeps whether their last packet was dropped: until
	// the reply comes, which has no effect on its lines then, and until a new client proves its address.
	// 32 KiB. At 20,000 packets a second seven of ten clients of 60 ms are known; the others count as these do.
	replyPlaces = 1 << 12
)
