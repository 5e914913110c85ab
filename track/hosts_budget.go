package track

import "qsniff/finding"

// budget is what is kept of a client of a master server.
type budget struct {
	ages     [pageBudget]int64 // of its last requests, a ring
	frames   [pageBudget]uint64
	at       uint8 // the oldest, or the next to fill
	full     bool
	answered bool
	told     bool
	silent   uint8  // requests in a row without an answer
	over     int64  // age of the last request over the budget, never if there was none since the last answer
	took     int64  // nanoseconds that the requests took, up to that
	first    uint64 // frame of their first
}

// page takes a request for a page of servers.
func (h *Hosts) page(f *Fact) {
	b, evicted := h.budgets.Put(pairOf(f))
	if evicted != nil {
		h.evicted++
	}
	if !b.full && b.at == 0 {
		b.over = never
	}
	if took := f.Age - b.ages[b.at]; b.full && took <= int64(pageMinute) {
		b.over, b.took, b.first = f.Age, took, b.frames[b.at]
	}
	b.ages[b.at], b.frames[b.at] = f.Age, f.Frame
	if b.at++; int(b.at) == len(b.ages) {
		b.at, b.full = 0, true
	}
}

// unserved takes a request for a page that nobody answered.
func (h *Hosts) unserved(f *Fact) {
	b := h.budgets.Get(pairOf(f))
	if b == nil {
		return
	}
	b.silent = min(b.silent, 254) + 1
	if b.told || !b.answered || b.silent < unserved || b.over < f.Age-int64(pageMinute) {
		return
	}
	b.told = true
	h.raise(f, b.first, finding.Expert{Code: pairCodes(f.Proto).Budget, A: pageBudget + 1, B: uint64(b.took)}, h.unsure(f.Age-int64(pageMinute)))
}
