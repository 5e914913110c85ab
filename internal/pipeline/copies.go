package pipeline

import (
	"cmp"
	"encoding/binary"
	"math"
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
	if c.translations.n > 0 {
		c.translations.apply(&it.Packet)
	}
	sum := sumOf(seed, &it.Packet)
	if c.originals == nil {
		c.originals = make([][2]original, pairsRemembered)
	}
	place := &c.places.all[at]
	repeats := place.repeats
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
