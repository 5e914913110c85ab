package track

import "qsniff/finding"

// budget is the recent requests of one client to a master server.
type budget struct {
	ages        [pageBudget]int64 // of its last requests, a ring
	frames      [pageBudget]uint64
	next        uint8  // place of the oldest request, or of the next if the ring is not full
	isFull      bool   // ages and frames are
	wasAnswered bool   // at least one request was
	isReported  bool   // the finding was raised since the last answer
	silent      uint8  // requests in a row without an answer
	overAge     int64  // of the last request over the budget; never if there was none since the last answer
	overSpan    int64  // nanoseconds from the first request of that minute to that one
	overFirst   uint64 // frame of the first request of that minute
}

// addPageRequest adds a request for a page of servers to the budget of its client.
func (h *Hosts) addPageRequest(f *Fact) {
	b, evicted := h.budgets.Put(pairOf(f))
	if evicted != nil {
		h.evicted++
	}
	if !b.isFull && b.next == 0 {
		b.overAge = never
	}
	if span := f.Age - b.ages[b.next]; b.isFull && span <= int64(pageMinute) {
		b.overAge, b.overSpan, b.overFirst = f.Age, span, b.frames[b.next]
	}
	b.ages[b.next], b.frames[b.next] = f.Age, f.Frame
	if b.next++; int(b.next) == len(b.ages) {
		b.next, b.isFull = 0, true
	}
}

// addUnansweredPage adds a request for a page that nobody answered, and raises that the master
// server stopped answering a client which exceeds its budget.
func (h *Hosts) addUnansweredPage(f *Fact) {
	b := h.budgets.Get(pairOf(f))
	if b == nil {
		return
	}
	b.silent = min(b.silent, 254) + 1
	if b.isReported || !b.wasAnswered || b.silent < minUnserved || b.overAge < f.Age-int64(pageMinute) {
		return
	}
	b.isReported = true
	h.raise(f, b.overFirst, finding.Expert{Code: pairCodes(f.Proto).Budget, A: pageBudget + 1, B: uint64(b.overSpan)}, h.isUnsure(f.Age-int64(pageMinute)))
}
