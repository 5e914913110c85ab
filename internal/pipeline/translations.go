package pipeline

import (
	"cmp"
	"math/bits"
	"net/netip"
	"slices"

	"qsniff/capture/packet"
	"qsniff/internal/base/lru"
	"qsniff/internal/render/tally"
)

// translations finds addresses that the capturing host translates, as a host does that forwards a port
// to a container (DNAT), and gives packets the address that clients know. A client's packet arrives
// at the network card, and a moment later leaves on the bridge of the containers, with the same
// content and identification, another destination, and a time to live that is one less. The reply
// comes the other way: its source is the container's address first, then the one that clients know.
// Both ways must be seen, of several packets with different content, and of nearly all replies of the
// inner address.
//
// A sender that sends the same bytes to two servers does not make one of them: packets arrive with
// the time to live that is left, and two servers would have to give the same replies, and the
// second one with one hop less.
//
// It looks at packets while the census does, and changes all that follow.
type translations struct {
	n          int // of known
	version    int // changes with known
	known      [2 * maxTranslations]knownTranslation
	nTwins     int
	twins      [4 * groupsOfCensus]twin
	candidates [maxCandidates]candidate
}

const (
	// maxTranslations is how many addresses are remembered as translated. Chosen: more than the
	// containers of a host; further ones count as servers of their own.
	maxTranslations = 256
	// maxCandidates is how many pairs of addresses a census looks at (chosen).
	maxCandidates = 128
	// minTranslated is how many different packets each way must show a translation, of 64 classes
	// by their content (chosen: several).
	minTranslated = 4
	// translatedPercent of the replies of the inner address must be seen with the outer one (chosen).
	translatedPercent = 80
)

// translation is one address that the host translates.
type translation struct{ inner, outer netip.AddrPort }

// knownTranslation is one, and how many times each packet from and to the inner address is captured at one place, at
// least 1: the old Linux cooked header does not distinguish the container's interface and the bridge.
type knownTranslation struct {
	translation
	from, to uint8
}

// twin is a packet that may come again with another address of one end.
type twin struct {
	key       uint64 // of all but that end; 0: none
	nanos     int64
	end       netip.AddrPort
	place     uint8
	ttl       uint8
	isReply   bool // the source is what may change
	isMatched bool
	times     uint8 // how many times it was captured at the place
	// other is the address that it came again with, at the place otherPlace so many times.
	other      netip.AddrPort
	otherPlace uint8
	otherTimes uint8
}

// candidate is a pair of addresses that may be one.
type candidate struct {
	translation
	to, from uint64 // classes of packets that showed it
}

// reset prepares for a census.
func (t *translations) reset() {
	t.nTwins = 0
	clear(t.twins[:])
	clear(t.candidates[:])
}

// add looks at a packet at a place.
func (t *translations) add(it *item, place uint8) {
	if it.Frag.Set || it.Stop != packet.OK && it.Stop != packet.TCP {
		return
	}
	h := lru.Mix2(uint64(it.Proto), uint64(it.IPID)<<32|uint64(it.Wire), uint64(it.TCP.Seq)<<32|uint64(it.TCP.Ack))
	h = lru.MixBytes(lru.Mix(h, uint64(it.TCP.Flags)), it.Payload)
	t.match(lru.Mix(endHash(it.Src.Addr().As16())+uint64(it.Src.Port()), h)|1, it, it.Dst, place, false)
	t.match(lru.Mix(endHash(it.Dst.Addr().As16())+uint64(it.Dst.Port()), ^h)|1, it, it.Src, place, true)
}

// match looks for a packet of the same key with another end, and remembers this one if there is none.
func (t *translations) match(key uint64, it *item, end netip.AddrPort, place uint8, isReply bool) {
	for i := key; ; i++ {
		x := &t.twins[i%uint64(len(t.twins))]
		if x.key == 0 {
			if t.nTwins < len(t.twins)/2 {
				t.nTwins++
				*x = twin{key: key, nanos: it.nanos, end: end, place: place, ttl: it.TTL, isReply: isReply, times: 1}
			}
			return
		}
		if x.key != key {
			continue
		}
		isSoon := it.nanos >= x.nanos && it.nanos-x.nanos <= int64(copyWindow)
		switch {
		case !isSoon:
		case x.end != end && x.place != place && x.ttl == it.TTL+1:
			if !x.isMatched {
				x.isMatched, x.other, x.otherPlace = true, end, place
			}
			if x.other == end && x.otherPlace == place {
				x.otherTimes = min(x.otherTimes+1, maxRepeats)
			}
			t.note(x, end)
		case x.end == end && x.place == place && x.ttl == it.TTL:
			x.times = min(x.times+1, maxRepeats)
		}
		return
	}
}

// note notes that a packet came again, with another end.
func (t *translations) note(x *twin, end netip.AddrPort) {
	pair := translation{inner: end, outer: x.end}
	if x.isReply {
		pair = translation{inner: x.end, outer: end}
	}
	for i := range t.candidates {
		c := &t.candidates[i]
		if !c.inner.IsValid() {
			c.translation = pair
		} else if c.translation != pair {
			continue
		}
		if x.isReply {
			c.from |= 1 << (x.key >> 58)
		} else {
			c.to |= 1 << (x.key >> 58)
		}
		return
	}
}

// judge adds what the census shows. Packets later than until may not have come again yet.
func (t *translations) judge(until int64) {
	for i := range t.candidates {
		if c := &t.candidates[i]; c.isSeen() && t.isOfAllReplies(c.inner, until) {
			t.learn(knownTranslation{c.translation, t.timesOf(c.inner, true, until), t.timesOf(c.inner, false, until)})
		}
	}
}

// isSeen reports whether a candidate is one by its packets.
func (c *candidate) isSeen() bool {
	return bits.OnesCount64(c.to) >= minTranslated && bits.OnesCount64(c.from) >= minTranslated
}

// isOfAllReplies reports whether nearly all packets from an address were seen with another one.
func (t *translations) isOfAllReplies(inner netip.AddrPort, until int64) bool {
	all, matched := 0, 0
	for i := range t.twins {
		if x := &t.twins[i]; x.isReply && x.end == inner && x.nanos <= until {
			all++
			if x.isMatched {
				matched++
			}
		}
	}
	return matched*100 >= all*translatedPercent
}

// timesOf returns how many times nearly all packets from an inner address, or to it, were captured at one place, 1 if
// they differ. Where a sender repeats packets itself, how many copies there are of one cannot be seen.
func (t *translations) timesOf(inner netip.AddrPort, isReply bool, until int64) uint8 {
	all, of := 0, [maxRepeats + 1]int{}
	for i := range t.twins {
		x := &t.twins[i]
		switch {
		case x.isReply != isReply || x.nanos > until:
		case isReply && x.end == inner:
			all++
			of[x.times]++
		case !isReply && x.other == inner && x.times == 1:
			all++
			of[x.otherTimes]++
		}
	}
	for n := uint8(2); n <= maxRepeats; n++ {
		if of[n]*100 >= all*translatedPercent && of[n] > 0 {
			return n
		}
	}
	return 1
}

// learn adds a translation. A server that has several outer addresses is known by the first one. A
// container that was started anew may have the address of another one: then the older translation is
// seen no more, and the newer one takes its place.
func (t *translations) learn(x knownTranslation) {
	y := t.slot(x.inner)
	switch old := *y; {
	case old.translation == x.translation, t.find(x.outer) != nil:
		return
	case old.inner == x.inner && t.isSeenNow(old.translation):
		x = knownTranslation{translation{x.outer, old.outer}, 1, 1}
		y = t.slot(x.inner)
	case old.inner == x.inner:
		*y = x
		t.version++
		return
	}
	if t.n < maxTranslations {
		t.n++
		t.version++
		*y = x
	}
}

// isSeenNow reports whether the census shows a translation that is known.
func (t *translations) isSeenNow(x translation) bool {
	return slices.ContainsFunc(t.candidates[:], func(c candidate) bool { return c.translation == x && c.isSeen() })
}

// slot returns the entry of an address, or the free one for it.
func (t *translations) slot(inner netip.AddrPort) *knownTranslation {
	for i := endHash(inner.Addr().As16()) + uint64(inner.Port()); ; i++ {
		if x := &t.known[i%uint64(len(t.known))]; x.inner == inner || !x.inner.IsValid() {
			return x
		}
	}
}

// find returns the translation of an address, nil if there is none.
func (t *translations) find(inner netip.AddrPort) *knownTranslation {
	if x := t.slot(inner); x.inner.IsValid() {
		return x
	}
	return nil
}

// apply gives a packet the addresses that clients know. It returns how many times the packet is captured at its place as
// far as that follows from its addresses, at least 1.
func (t *translations) apply(p *packet.Packet) (times uint8) {
	times = 1
	if x := t.find(p.Src); x != nil {
		p.Src, times = x.outer, x.from
	}
	if x := t.find(p.Dst); x != nil {
		p.Dst, times = x.outer, max(times, x.to)
	}
	return times
}

// list returns the translations, in the order of the outer addresses.
func (t *translations) list() (all []tally.Translation) {
	for i := range t.known {
		if x := &t.known[i]; x.inner.IsValid() {
			all = append(all, tally.Translation{Inner: x.inner, Outer: x.outer})
		}
	}
	slices.SortFunc(all, func(a, b tally.Translation) int { return cmp.Or(a.Outer.Compare(b.Outer), a.Inner.Compare(b.Inner)) })
	return all
}
