package track

import (
	"time"

	"qsniff/dissect/finding"
	"qsniff/internal/base/lru"
)

// budgets finds master servers that stopped answering a client, and clients that ask more than these allow.
type budgets struct {
	*Hosts
	budgets *lru.Table[pairKey, budget]
}

func newBudgets(h *Hosts) check {
	c := &budgets{Hosts: h, budgets: newTable[pairKey, budget](h, maxBudgets)}
	return check{wants: []want{{pageRequest, c.addPageRequest}, {page, c.addAnsweredPage}, {noPage, c.addUnansweredPage}}}
}

// budget is the recent requests of one client to a master server.
type budget struct {
	ages        [pageBudget]int64 // of its last requests, a ring
	frames      [pageBudget]uint64
	next        uint8  // place of the oldest request, or of the next if the ring is not full
	isFull      bool   // ages and frames are
	isReported  bool   // a finding was raised since the last answer
	silent      uint8  // exchanges in a row without an answer
	silentFirst uint64 // frame of the first of them
	silentAge   int64  // its age
	answerAge   int64  // of the last answer; never if there was none
	overAge     int64  // of the last request over the budget; never if there was none since the last answer
	overSpan    int64  // nanoseconds from the first request of that minute to that one
	overFirst   uint64 // frame of the first request of that minute
}

// addPageRequest adds a request for a page of servers to the budget of its client.
func (c *budgets) addPageRequest(f *view) {
	b := enter(c.Hosts, c.budgets, pairOf(f.Fact))
	if !b.isFull && b.next == 0 {
		b.overAge, b.answerAge = never, never
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
// server stopped answering a client which exceeds its budget, or answers a client nothing.
func (c *budgets) addUnansweredPage(f *view) {
	b := c.budgets.Get(pairOf(f.Fact))
	if b == nil {
		return
	}
	if b.silent == 0 {
		b.silentFirst, b.silentAge = f.ID, f.Age
	}
	b.silent = min(b.silent, 254) + 1
	isOver := b.overAge >= f.Age-int64(pageMinute)
	switch {
	case b.isReported || b.silent < minUnserved:
	case isOver && b.answerAge != never:
		b.isReported = true
		c.Report(f.Fact, b.overFirst, finding.Expert{Code: pairCodes(f.Proto).Budget, A: pageBudget + 1, B: uint64(b.overSpan)}, c.isUnsure(f.Age-int64(pageMinute)))
	case b.answerAge == never || f.Age-b.answerAge > int64(silencePause):
		b.isReported = true
		c.Report(f.Fact, b.silentFirst, finding.Expert{Code: pairCodes(f.Proto).Silent, A: uint64(b.silent), B: uint64(f.Nanos / 1e9)}, c.replyAge == never || c.isUnsure(b.silentAge))
	}
}

// addAnsweredPage adds a page.
func (c *budgets) addAnsweredPage(f *view) {
	if b := c.budgets.Get(pairOf(f.Fact)); b != nil {
		b.answerAge, b.isReported, b.silent, b.overAge = f.Age, false, 0, never
	}
}

const (
	// limit: maxBudgets is how many clients of master servers are kept: few ask them.
	maxBudgets = 512
	// limit: pageBudget is how many requests in a pageMinute the public master servers are said to answer
	// one address; minUnserved is how many in a row one must leave unanswered after more than those.
	pageBudget  = 30
	pageMinute  = time.Minute
	minUnserved = 2
	// limit: silencePause is after how long since its last answer to a client a master server that does
	// not answer counts as silent. Chosen: it is far more than the minute of silence that a client over
	// its budget gets.
	silencePause = 5 * time.Minute
)
