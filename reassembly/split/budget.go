package split

import "qsniff/internal/lru"

// budget limits the work of decompression per second of packet time, for each
// source and for all. Whoever sends junk from forged addresses meets the limit
// for all, and costs no more than that.
type budget struct {
	total, each int
	all         work
	sources     *lru.Table[sourceKey, work]
}

// work is what was spent in one second.
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

// hasLeft reports whether anything is left at a time. The try that uses up the
// rest may exceed it: what it costs is known afterwards, and bounded.
func (b *budget) hasLeft(src sourceKey, nanos int64) bool {
	second := nanos / nanosPerSecond
	w, _ := b.sources.Put(src)
	w.startSecond(second)
	b.all.startSecond(second)
	return b.all.units < b.total && w.units < b.each
}

// spend books work at the time of the last allows.
func (b *budget) spend(src sourceKey, units int) {
	b.all.units += units
	b.sources.Peek(src).units += units
}

func (w *work) startSecond(second int64) {
	if w.second != second {
		*w = work{second: second}
	}
}
