package split

import "qsniff/internal/base/lru"

// budget limits the work of decompression per second of packet time, for each source
// address and for all. An attacker who sends junk from many forged addresses exhausts
// the limit for all: other messages of that second stay compressed, and the attack costs
// no more work than that.
type budget struct {
	total, each int
	all         work
	sources     *lru.Table[sourceKey, work]
}

// work is the cost units spent in one second of packet time.
type work struct {
	second int64
	units  int
}

// sourceKey is a source address without its port.
type sourceKey [16]byte

// Hash implements lru.Key.
func (k sourceKey) Hash(seed uint64) uint64 { return lru.MixBytes(seed, k[:]) }

func newBudget(lim Limits) budget {
	return budget{
		total:   lim.Work,
		each:    lim.SourceWork,
		sources: lru.New[sourceKey, work](lim.Sources),
	}
}

// hasLeft reports whether src, and all together, have work left at packet time nanos. The
// cost of a try is known only afterwards, so the last one may exceed the limit; it is
// bounded by Limits.Inflated and Limits.SetBytes.
func (b *budget) hasLeft(src sourceKey, nanos int64) bool {
	second := nanos / nanosPerSecond
	w, _ := b.sources.Put(src)
	w.startSecond(second)
	b.all.startSecond(second)
	return b.all.units < b.total && w.units < b.each
}

// spend adds the cost of a try. It follows a call of hasLeft for the same source.
func (b *budget) spend(src sourceKey, units int) {
	b.all.units += units
	b.sources.Peek(src).units += units
}

// startSecond empties w if what it counts was spent in another second.
func (w *work) startSecond(second int64) {
	if w.second != second {
		*w = work{second: second}
	}
}
