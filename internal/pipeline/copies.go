package pipeline

import (
	"cmp"
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"time"

	"qsniff/capture"
	"qsniff/capture/packet"
	"qsniff/internal/base/display"
	"qsniff/internal/base/lru"
)

// Dedup is whether a packet that was captured more than once counts once.
type Dedup uint8

// The choices.
const (
	DedupAuto Dedup = iota // where packets of several places come together, and where one place has each packet as often
	DedupOn                // also a second packet of one place with the same IP identification
	DedupOff
)

// copyWindow is how much later than its original a copy is captured, at most: a mirror port or a
// bridge delays it by microseconds, a loaded host by milliseconds; clients repeat a question after
// 100 ms at the earliest.
const copyWindow = 5 * time.Millisecond

// pairsRemembered is half the room for what a full gigabit of small packets (1.5 million a second)
// brings in copyWindow. Of the two entries of a pair, in one line of the cache, a newer packet takes
// the place of the older one. A power of two.
const pairsRemembered = 1 << 12

// copies finds packets that were captured before. A packet arrives at a place: an interface, a
// direction, or a file. If the same packet was captured at another place within copyWindow, it is a
// copy, and nothing counts it. Equal packets are counted at each place, because packet generators
// send thousands of them: of the place that has most all are originals, and of the others none. So
// one original has at most one copy at each other place, and packets that come again at their own
// place are originals, whatever is in them.
//
// Some programs capture each packet several times at one place, such as pktmon on Windows, or a
// mirror port that copies what enters and what leaves a switch. A census of the capture finds that
// out: then so many equal packets of the place count as one.
type copies struct {
	mode         Dedup
	looksAhead   bool // lookAt gets packets before isCopy does
	isNeeded     bool // several places are known, or one has packets more than once
	isActive     bool // isCopy is to be called for the packets of the batch
	places       places
	originals    [][2]original // nil until the first packet that is looked up
	census       census
	translations translations
	stamp        int64 // of the packet at hand, as captured
}

// original is what is remembered of equal packets: how many of them there were at each place. It has
// 32 bytes, because each packet looks at another one.
type original struct {
	sum    uint32 // of ends, numbers and content
	last   uint32 // when the last original came, in microseconds, modulo 71 minutes
	since  uint32 // when early was counted
	all    uint16 // originals so far, modulo 65,536
	early  uint16 // those before since
	old    uint16 // those whose copies can come no more
	more   uint16 // how many of the next packets of each place are the same packet, 4 bits a place
	places [placesOfOriginal]uint8
	counts [placesOfOriginal]uint16 // packets of each place, by which it follows all
}

// placesOfOriginal is at how many places a packet is captured, with room for a host of containers:
// its interface, the bridge, and that of the container. At further places all are copies.
const placesOfOriginal = 4

// reset begins an entry with a packet that is an original.
func (o *original) reset(sum uint32, place uint8, now uint32, repeats uint8) {
	*o = original{sum: sum, last: now, since: now, all: 1, more: uint16(repeats - 1)}
	o.places[0], o.counts[0] = place, 1
}

// countPacket counts a packet at a place where each is captured so many times, and reports whether
// it is a copy. A copy does not renew the time of its original.
func (o *original) countPacket(sum uint32, place uint8, now uint32, repeats uint8) bool {
	const window = uint32(copyWindow / time.Microsecond)
	if o.sum != sum || now-o.last+window > 2*window { // earlier or later by more than the window
		o.reset(sum, place, now, repeats)
		return false
	}
	if int32(now-o.since) > int32(window) {
		o.old, o.early, o.since = o.early, o.all, now
	}
	i := 0
	for ; o.places[i] != place; i++ {
		if o.places[i] == 0 {
			o.places[i], o.counts[i] = place, o.old
			break
		}
		if i == placesOfOriginal-1 {
			return true
		}
	}
	if shift := 4 * i; o.more>>shift&0xf > 0 {
		o.more -= 1 << shift
		return true
	} else {
		o.more |= uint16(repeats-1) << shift
	}
	missing := min(o.all-o.counts[i], o.all-o.old) // originals that have had no copy here
	if missing > 0 {
		o.counts[i] = o.all - missing + 1
		return true
	}
	o.all++
	o.counts[i], o.last = o.all, now
	return false
}

// begin prepares for the packets of a batch. severalPlaces is set if an input describes more than one
// interface.
func (c *copies) begin(raw *capture.Batch, severalPlaces bool) {
	if c.mode == DedupOff || len(raw.Packets) == 0 {
		return
	}
	defer c.activate()
	if c.census.rest -= len(raw.Packets); c.census.rest <= 0 && !c.census.isOpen && !c.looksAhead {
		c.census.open()
		c.translations.reset()
	}
	if c.isNeeded {
		return
	}
	var several uint16
	for i := range raw.Packets {
		several |= raw.Packets[i].Lane | raw.Packets[i].Iface
	}
	link := raw.Packets[0].Link
	c.isNeeded = c.mode == DedupOn || severalPlaces || several != 0 || link == packet.LinkLinuxSLL || link == packet.LinkLinuxSLL2
}

func (c *copies) activate() { c.isActive = c.isNeeded || c.census.isOpen }

// lookAt counts a packet that isCopy will be called with later.
func (c *copies) lookAt(it *item, p *capture.Packet, seed uint64) {
	at := c.places.find(p)
	c.census.add(sumOf(seed, &it.Packet), at, it)
	c.translations.add(it, at)
}

// endLook sets what lookAt has found so far. isAll is set if no packets follow.
func (c *copies) endLook(isAll bool) {
	n := &c.census
	until := n.last
	if isAll {
		until = math.MaxInt64
	}
	n.judgeAll(until)
	c.translations.judge(until)
	c.isNeeded = c.places.setRepeats(n) || c.isNeeded
	c.activate()
	c.looksAhead = n.seen < packetsAhead && !isAll
	n.rest = n.seen * censusRest
}

// isCopy reports whether a packet is a copy of one before, and counts it. It is to be called while
// isActive is set.
func (c *copies) isCopy(it *item, p *capture.Packet, seed uint64) bool {
	if !it.Src.IsValid() {
		return false
	}
	at := c.places.find(p)
	c.stamp = p.Nanos
	if c.census.isOpen {
		c.translations.add(it, at)
		if c.census.add(sumOf(seed, &it.Packet), at, it) {
			c.translations.judge(it.nanos - int64(copyWindow))
			c.isNeeded = c.places.setRepeats(&c.census) || c.isNeeded
			c.activate()
		}
	}
	return c.isNeeded && c.isCopyAt(at, it, seed)
}

// isCopyAt reports whether a packet, or what was joined from fragments, is a copy that was captured at
// a place. It gets the addresses that clients know.
func (c *copies) isCopyAt(at uint8, it *item, seed uint64) bool {
	times := uint8(1)
	if c.translations.n > 0 {
		times = c.translations.apply(&it.Packet)
	}
	sum := sumOf(seed, &it.Packet)
	if c.originals == nil {
		c.originals = make([][2]original, pairsRemembered)
	}
	place := &c.places.all[at]
	repeats := max(place.repeats, times)
	if c.mode == DedupOn && it.IPID != 0 {
		repeats = max(repeats, 2)
	}
	now := uint32(c.stamp / 1000)
	pair := &c.originals[sum%pairsRemembered]
	o := &pair[0]
	if o.sum != uint32(sum>>32) && (pair[1].sum == uint32(sum>>32) || now-pair[1].last > now-o.last) {
		o = &pair[1]
	}
	if !o.countPacket(uint32(sum>>32), at, now, repeats) {
		return false
	}
	place.copies++
	return true
}

// sumOf returns a hash of what copies of a packet have in common; the time to live is
// not part of it, because routers count it down.
func sumOf(seed uint64, p *packet.Packet) uint64 {
	src, dst := p.Src.Addr().As16(), p.Dst.Addr().As16()
	h := lru.Mix16(lru.Mix16(seed, &src), &dst)
	h = lru.Mix2(h, uint64(p.Src.Port())<<48|uint64(p.Dst.Port())<<32|uint64(p.IPID)<<16|uint64(p.Proto)<<8|1, uint64(p.Wire))
	if p.Stop == packet.TCP || p.Frag.Set {
		h = lru.Mix2(h, uint64(p.TCP.Seq)<<32|uint64(p.TCP.Ack), uint64(p.TCP.Flags)<<32|uint64(p.Frag.Off))
		h = lru.Mix(h, uint64(p.Frag.ID))
	}
	return lru.MixBytes(h, p.Payload)
}

// copiesAt lists the places with most copies, most first.
type copiesAt [shownPlaces]struct {
	at     capturedAt
	name   string // of the interface, if the input has one
	copies uint64
	times  uint8 // how many times each packet is captured there
}

// shownPlaces is how many places are named to people (chosen).
const shownPlaces = 4

// capturedAt is a place in words that the input has for it.
type capturedAt struct {
	file, iface uint16
	device      uint32 // index of the interface in a Linux cooked header, 0: none
	kind        uint8  // 1 + the packet type in it, 0: none
}

// words names a place; name is that of the interface, if the input has one.
func (at capturedAt) words(name string, times uint8) string {
	switch {
	case at.device > 0:
		name = "interface " + strconv.Itoa(int(at.device))
	case name != "":
		name = string(display.AppendVisible(nil, []byte(name)))
	case at.file > 0:
		name = "file " + strconv.Itoa(int(at.file)+1)
	case at.kind > 0:
		name = "the host"
	default:
		name = "interface " + strconv.Itoa(int(at.iface))
	}
	if at.kind > 0 {
		name += [...]string{" (received)", " (broadcast)", " (multicast)", " (for another host)", " (sent)", ""}[min(at.kind-1, sentByHost+1)]
	}
	if times > 1 {
		name += ", which has each packet " + strconv.Itoa(int(times)) + " times"
	}
	return name
}

// listPlaces fills in the places with most copies.
func (c *copies) listPlaces(in *inputs, to *copiesAt) {
	if c.originals == nil {
		return
	}
	var found [maxPlaces]uint8
	n := 0
	for i := 1; i <= c.places.n; i++ {
		if c.places.all[i].copies > 0 {
			found[n] = uint8(i)
			n++
		}
	}
	slices.SortFunc(found[:n], func(a, b uint8) int { return cmp.Compare(c.places.all[b].copies, c.places.all[a].copies) })
	for i, at := range found[:min(n, shownPlaces)] {
		x := &c.places.all[at]
		to[i].at, to[i].name, to[i].copies, to[i].times = x.where, "", x.copies, x.repeats
		if k := in.index(x.where.file, x.where.iface); k >= 0 {
			to[i].name = in.all[k].Name
		}
	}
}

// maxPlaces is how many places are told apart. Chosen: a host with a hundred containers has two for
// each; further ones share the last number, so that what two of these have counts twice.
const maxPlaces = 256

// places numbers the places where packets were captured.
type places struct {
	key    uint64 // of the packet before
	at     uint8  // its place
	n      int
	all    [maxPlaces]capturePlace // 0 is none
	byHash [2 * maxPlaces]uint8
}

// capturePlace is where packets are captured.
type capturePlace struct {
	key     uint64
	copies  uint64
	repeats uint8 // how many times each packet is captured here, at least 1
	where   capturedAt
}

// find returns the number of the place of a packet, from 1 on.
func (s *places) find(p *capture.Packet) uint8 {
	key := placeKey(p)
	if key == s.key && s.n > 0 {
		return s.at
	}
	s.key = key
	for i := lru.Mix(key, 1); ; i++ {
		at := &s.byHash[i%(2*maxPlaces)]
		if *at != 0 && s.all[*at].key != key {
			continue
		}
		if *at == 0 && s.n == maxPlaces-1 {
			s.at = maxPlaces - 1
			return s.at
		}
		if *at == 0 {
			s.n++
			*at = uint8(s.n)
			s.all[s.n] = capturePlace{key: key, repeats: 1, where: whereOf(p)}
		}
		s.at = *at
		return s.at
	}
}

// placeKey returns what a place is known by: the lane and the interface of the input, and for the
// "any" device of Linux the index of the interface, and the packet's type, which says whether the
// host sent it. The old header has no index: in its place stands a hash of the sender's address,
// but only of packets that the host sent, as others can choose it.
func placeKey(p *capture.Packet) uint64 {
	k := uint64(p.Lane)<<48 | uint64(p.Iface)<<32
	switch b := p.Data; {
	case p.Link == packet.LinkLinuxSLL2 && len(b) >= 20:
		k |= uint64(b[5])<<24 | uint64(b[6])<<16 | uint64(b[7])<<8 | uint64(b[10]) + 1
	case p.Link == packet.LinkLinuxSLL && len(b) >= 16:
		k |= uint64(b[1]) + 1
		if b[1] == sentByHost {
			k |= lru.MixBytes(0, b[6:14]) & 0xffffff00
		}
	}
	return k
}

// whereOf returns the place of a packet for people.
func whereOf(p *capture.Packet) capturedAt {
	at := capturedAt{file: p.File, iface: p.Iface}
	switch b := p.Data; {
	case p.Link == packet.LinkLinuxSLL2 && len(b) >= 20:
		at.device, at.kind = binary.BigEndian.Uint32(b[4:]), b[10]+1
	case p.Link == packet.LinkLinuxSLL && len(b) >= 16:
		at.kind = b[1] + 1
	}
	return at
}

// sentByHost is the packet type of Linux cooked headers for what the host sent itself.
const sentByHost = 4

// census finds out whether a place has every packet as often, twice or more, as some capturing
// programs and mirror ports write it. A packet arrives while the census is open: equal packets of a
// place within copyWindow make a group. When it closes, a place has repeats if nearly all groups have
// the same size, in nearly all flows, and in both directions of flows that have both. Senders that
// repeat themselves do not make such a place, however many there are: the replies to them, and all
// other flows, come once; a packet generator sends groups with one IP identification.
//
// It counts the first batch of a file before anything is made of that, and then a small part of all
// packets, since it costs a hash of each.
type census struct {
	isOpen bool  // isCopy adds packets
	rest   int   // packets until it opens
	seen   int   // packets of this census
	last   int64 // time stamp of its last packet
	n      int   // groups
	full   int64 // time stamp of the packet with which there was no more room
	groups [2 * groupsOfCensus]group
	flows  [2 * groupsOfCensus]flowGroups
	number [maxPlaces]uint8 // what it found: repeats of each place; 0: too little to judge by
}

const (
	// groupsOfCensus is how many groups are counted, and the most places in the table of flows.
	// Chosen: hundreds of flows are enough, and judging them takes microseconds.
	groupsOfCensus = 512
	// packetsAhead is how many packets of a file are counted before anything is made of them: a
	// batch, or several small ones.
	packetsAhead = capture.MaxPackets
	// packetsOfCensus is after how many packets it closes, if it is not full before (chosen).
	packetsOfCensus = 4096
	// censusRest is how many packets pass between two, as a multiple of those in it. Chosen: half
	// a percent of the time of a flood in qsniff stats.
	censusRest = 63
	// maxRepeats is the most times that a place has each packet: what 4 bits hold.
	maxRepeats = 15
	// minGroups and minFlows are what it takes to believe that a place has repeats: so many groups,
	// with as many IP identifications, of so many flows (each direction is one) or of both directions
	// of one (chosen).
	minGroups, minFlows = 8, 6
	// regularPercent of the groups, of flows, and of flows that have both directions must have the
	// same size (chosen).
	regularPercent = 90
)

// group is equal packets of a place.
type group struct {
	sum   uint64 // 0: none
	nanos int64  // of the first
	flow  uint32 // hash of the ends, the same for both directions
	place uint8
	n     uint8 // saturates
	id    uint8 // 1 + a hash of its IP identification in 6 bits; 0: it is zero
	way   uint8 // direction, 0 or 1
}

// flowGroups counts the groups of a flow at a place, by direction: all, and those of the usual size.
type flowGroups struct {
	flow       uint32
	all, usual [2]uint16
}

// open begins a census.
func (c *census) open() {
	c.isOpen, c.seen, c.n = true, 0, 0
	clear(c.groups[:])
}

// add counts a packet of an open census. It reports whether the census is over.
func (c *census) add(sum uint64, place uint8, it *item) (over bool) {
	c.seen++
	c.last = it.nanos
	h := lru.Mix(sum, uint64(place)) | 1
	for i := h; ; i++ {
		g := &c.groups[i%uint64(len(c.groups))]
		if g.sum == 0 {
			if c.n < groupsOfCensus {
				c.n++
				*g = newGroup(h, place, it)
				c.full = it.nanos
			}
			break
		}
		if g.sum == h {
			if spanOf(min(g.nanos, it.nanos), max(g.nanos, it.nanos)) <= int64(copyWindow) && g.n < 0xff {
				g.n++
			}
			break
		}
	}
	isFull := c.n == groupsOfCensus && c.last-c.full > int64(copyWindow)
	if c.seen < packetsOfCensus && !isFull {
		return false
	}
	c.judgeAll(c.last)
	c.isOpen, c.rest = false, c.seen*censusRest
	return true
}

// newGroup returns the group that a packet begins.
func newGroup(sum uint64, place uint8, it *item) group {
	a := lru.Mix(endHash(it.Src.Addr().As16()), uint64(it.Src.Port()))
	b := lru.Mix(endHash(it.Dst.Addr().As16()), uint64(it.Dst.Port()))
	g := group{sum: sum, nanos: it.nanos, flow: uint32((a + b) >> 32), place: place, n: 1}
	if a > b {
		g.way = 1
	}
	switch {
	case it.IPID != 0:
		g.id = uint8(lru.Mix(1, uint64(it.IPID))>>58) + 1
	case !it.Src.Addr().Is4(): // it has none: the content decides
		g.id = uint8(sum>>58) + 1
	}
	return g
}

func endHash(a [16]byte) uint64 { return lru.Mix16(0, &a) }

// judgeAll judges the places by the groups, but for those whose packets may not all have come: now is
// the time stamp of the last packet, or so late that all have.
func (c *census) judgeAll(now int64) {
	clear(c.number[:])
	var done [maxPlaces]bool
	for i := range c.groups {
		g := &c.groups[i]
		if g.sum != 0 && !done[g.place] {
			done[g.place] = true
			c.number[g.place] = c.judge(g.place, now-int64(copyWindow))
		}
	}
}

// judge returns how many times a place has each packet, 0 if there is too little to judge by. Groups
// that began after until are left out.
func (c *census) judge(place uint8, until int64) uint8 {
	var sizes [maxRepeats + 2]int // the last is of all that are larger
	all := 0
	for i := range c.groups {
		if g := &c.groups[i]; g.sum != 0 && g.place == place && g.nanos <= until {
			all++
			sizes[min(int(g.n), len(sizes)-1)]++
		}
	}
	if all < minGroups {
		return 0
	}
	for size := 2; size <= maxRepeats; size++ {
		if isRegular(sizes[size], all) && c.isOfAllFlows(place, uint8(size), until) {
			return uint8(size)
		}
	}
	return 1
}

func isRegular(usual, all int) bool { return usual*100 >= all*regularPercent }

// isOfAllFlows reports whether nearly all flows of a place have groups of the same size, in both
// directions where they have both, with different IP identifications.
func (c *census) isOfAllFlows(place, size uint8, until int64) bool {
	clear(c.flows[:])
	var ids uint64
	for i := range c.groups {
		g := &c.groups[i]
		if g.sum == 0 || g.place != place || g.nanos > until {
			continue
		}
		f := c.flowOf(g.flow)
		f.all[g.way]++
		if g.n == size {
			f.usual[g.way]++
			if g.id != 0 {
				ids |= 1 << (g.id - 1)
			}
		}
	}
	var flows, usual, pairs, usualPairs int
	for i := range c.flows {
		f := &c.flows[i]
		both := 0
		for way := range f.all {
			if f.all[way] == 0 {
				continue
			}
			flows++
			if f.usual[way]*2 > f.all[way] {
				usual++
				both++
			}
		}
		if f.all[0] > 0 && f.all[1] > 0 {
			pairs++
			usualPairs += both / 2
		}
	}
	return bits.OnesCount64(ids) >= minGroups-2 && (flows >= minFlows || pairs > 0) &&
		isRegular(usual, flows) && isRegular(usualPairs, pairs)
}

// flowOf returns the counts of a flow. There is room for as many as there are groups.
func (c *census) flowOf(flow uint32) *flowGroups {
	for i := flow; ; i++ {
		f := &c.flows[i%uint32(len(c.flows))]
		if f.all == [2]uint16{} {
			f.flow = flow
			return f
		}
		if f.flow == flow {
			return f
		}
	}
}

// setRepeats sets what a census found of places that it could judge. It reports whether any place has
// repeats.
func (s *places) setRepeats(c *census) (any bool) {
	for i := 1; i <= s.n; i++ {
		if c.number[i] > 0 {
			s.all[i].repeats = c.number[i]
		}
		any = any || s.all[i].repeats > 1
	}
	return any
}
