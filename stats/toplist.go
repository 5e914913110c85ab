package stats

import (
	"net/netip"

	"qsniff/internal/lru"
)

// topList counts who comes most often with a fixed number of counters, by the
// Space-Saving algorithm of Metwally, Agrawal and El Abbadi (2005): an address
// without a counter takes over the smallest one, with its count, which is then
// the most that it can be too high. While no counter was taken over all counts
// are exact.
//
//	order    entries by count, largest first; those of one count are a run
//	runs     the position of the first entry of each run
//
// Counts rise by one, so an entry only ever swaps with the first of its run and
// joins the run before it.
type topList struct {
	index   *lru.Table[hostKey, uint32] // of entries
	entries []counter
	order   []uint32
	runs    []uint32
	free    []uint32 // runs that are nobody's
	// lost tells that an address came for which there was no counter.
	lost bool
}

type counter struct {
	key   hostKey
	count uint64
	over  uint64 // at most so much of count is somebody else's
	pos   uint32 // in order
	run   uint32
}

// hostKey is an address.
type hostKey [16]byte

// Hash mixes the key.
func (k hostKey) Hash(seed uint64) uint64 { return lru.MixBytes(seed, k[:]) }

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

// add counts k once.
func (t *topList) add(k hostKey) {
	i, ok := t.entry(k)
	if !ok {
		t.lost = true
		i = t.takeOver(k)
	}
	t.raise(i)
}

// see makes room for k without counting it, if there is any.
func (t *topList) see(k hostKey) {
	if _, ok := t.entry(k); !ok {
		t.lost = true
	}
}

// entry returns the counter of k, a new one if there is room.
func (t *topList) entry(k hostKey) (i uint32, ok bool) {
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
	e.key, e.over = k, e.count
	return i
}

// raise adds one to entry i.
func (t *topList) raise(i uint32) {
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
