package stats

import (
	"encoding/binary"
	"net/netip"

	"qsniff/internal/base/lru"
	"qsniff/internal/track"
	"qsniff/internal/track/fingerprint"
)

// topList counts the most frequent addresses with a fixed number of counters, by the
// Space-Saving algorithm of Metwally, Agrawal and El Abbadi (2005): an address
// without a counter takes over the smallest one with its count, which is then
// at most that much too high. As long as no counter was taken over all counts
// are exact. From then on a doorkeeper turns away who comes for the first time, so
// that counts are too low by its rounds at most.
//
//	order    entries by count, largest first; entries of one count are a run
//	runs     the position of the first entry of each run
//
// Counts rise by one, so an entry only ever swaps with the first of its run and
// joins the run before it.
type topList struct {
	index   *lru.Table[hostKey, uint32] // of entries
	entries []counter
	order   []uint32
	runs    []uint32
	free    []uint32 // unused elements of runs
	// hasOverflowed is set once an address came for which there was no counter.
	hasOverflowed bool
	door          doorkeeper
}

// counter is the count of one address.
type counter struct {
	key      hostKey
	count    uint64
	maxError uint64 // how much of count may be of other addresses
	pos      uint32 // in order
	run      uint32
	signs    fingerprint.Signs // of its fullest visit
}

// hostKey is an address.
type hostKey [16]byte

// Hash mixes the key.
func (k hostKey) Hash(seed uint64) uint64 { return k.hash(seed) }

func (k *hostKey) hash(seed uint64) uint64 {
	return lru.Mix(lru.Mix(seed, binary.LittleEndian.Uint64(k[:8])), binary.LittleEndian.Uint64(k[8:]))
}

// set makes k the address of an end.
func (k *hostKey) set(a netip.AddrPort) { (*track.Host)(k).Set(a) }

func (k hostKey) addr() netip.Addr { return netip.AddrFrom16(k).Unmap() }

func newTopList(size int) *topList {
	size = max(size, 1)
	return &topList{
		index:   lru.New[hostKey, uint32](size),
		entries: make([]counter, 0, size),
		order:   make([]uint32, 0, size),
		runs:    make([]uint32, 0, size+1),
		free:    make([]uint32, 0, size+1),
	}
}

// add counts k once; hash is a hash of it that no sender can foresee.
func (t *topList) add(k *hostKey, hash uint64) {
	if t.hasOverflowed && !t.door.admits(hash) {
		return
	}
	i, ok := t.findOrAdd(*k)
	if !ok {
		t.hasOverflowed = true
		i = t.takeOver(*k)
	}
	t.increment(i)
}

// reserve gives k a counter without counting it, if one is free.
func (t *topList) reserve(k hostKey) {
	if t.hasOverflowed {
		return
	}
	if _, ok := t.findOrAdd(k); !ok {
		t.hasOverflowed = true
	}
}

// addSigns keeps what a visit of k showed, if k has a counter.
func (t *topList) addSigns(k hostKey, s fingerprint.Signs) {
	if p := t.index.Peek(k); p != nil && s.IsFuller(t.entries[*p].signs) {
		t.entries[*p].signs = s
	}
}

// findOrAdd returns the counter of k, a new one if there is room; ok is false if there is none.
func (t *topList) findOrAdd(k hostKey) (i uint32, ok bool) {
	if p := t.index.Get(k); p != nil {
		return *p, true
	}
	if len(t.entries) == cap(t.entries) {
		return 0, false
	}
	i = uint32(len(t.entries))
	t.entries = append(t.entries, counter{key: k, pos: i})
	t.order = append(t.order, i)
	e := &t.entries[i]
	if i > 0 && t.entries[t.order[i-1]].count == 0 {
		e.run = t.entries[t.order[i-1]].run
	} else {
		e.run = t.newRun(i)
	}
	p, _ := t.index.Put(k)
	*p = i
	return i, true
}

// takeOver gives the smallest counter to k.
func (t *topList) takeOver(k hostKey) uint32 {
	i := t.order[len(t.order)-1]
	e := &t.entries[i]
	t.index.Delete(e.key)
	p, _ := t.index.Put(k)
	*p = i
	e.key, e.maxError, e.signs = k, e.count, 0
	return i
}

// increment adds one to the count of entry i.
func (t *topList) increment(i uint32) {
	e := &t.entries[i]
	old := e.run
	first := t.runs[old]
	if other := t.order[first]; other != i {
		t.order[first], t.order[e.pos] = i, other
		t.entries[other].pos, e.pos = e.pos, first
	}
	t.runs[old]++
	if next := int(first) + 1; next == len(t.order) || t.entries[t.order[next]].run != old {
		t.free = append(t.free, old)
	}
	e.count++
	if first > 0 && t.entries[t.order[first-1]].count == e.count {
		e.run = t.entries[t.order[first-1]].run
	} else {
		e.run = t.newRun(first)
	}
}

// newRun returns a run that begins at a position.
func (t *topList) newRun(first uint32) uint32 {
	if n := len(t.free); n > 0 {
		i := t.free[n-1]
		t.free = t.free[:n-1]
		t.runs[i] = first
		return i
	}
	t.runs = append(t.runs, first)
	return uint32(len(t.runs) - 1)
}

// doorkeeper lets a key in from its second time on, so that addresses that come once, which
// is what a flood from invented ones has, cost two bits and take nobody's counter. The two bits
// of a hash lie in one word. Two keys may have the same ones, or others may have set both: when
// doorFill keys were turned away, one in sixteen would be let in the first time, and it begins
// afresh. In each of these rounds a key is turned away once at most.
type doorkeeper struct {
	bits   [doorBits / 64]uint64
	turned int    // keys that were turned away in the round
	rounds uint64 // that began
}

// doorFill is how many keys are turned away in a round: they set a quarter of the bits.
const doorFill = doorBits / 8

// admits reports whether a key with this hash came before in the round, or others with the same
// bits.
func (d *doorkeeper) admits(hash uint64) bool {
	w, both := &d.bits[hash>>12%(doorBits/64)], uint64(1)<<(hash%64)|1<<(hash>>6%64)
	if *w&both == both {
		return true
	}
	*w |= both
	switch d.turned++; {
	case d.rounds == 0:
		d.rounds = 1
	case d.turned > doorFill:
		d.bits, d.turned, d.rounds = [len(d.bits)]uint64{}, 1, d.rounds+1
		d.bits[hash>>12%(doorBits/64)] = both
	}
	return false
}

const (
	// limit: doorBits is how many bits the doorkeeper of a full top list has, 16 KiB, which stay in the
	// fastest cache. It turns away a client's first request of each round, and a round ends when a quarter
	// of the bits are set. In a flood from a million invented addresses, counts are 59 too low at most,
	// and the stated error, which has that in it, is 67 in place of the 244 without a doorkeeper.
	doorBits = 1 << 17
)
