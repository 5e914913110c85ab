package track

import (
	"slices"
	"time"

	"qsniff/dissect/finding"
)

// listKey is a master server and the socket of a client: masters begin a list anew for another
// socket.
type listKey struct{ server, client End }

// Hash mixes the key.
func (k listKey) Hash(seed uint64) uint64 { return k.client.Hash(k.server.Hash(seed)) }

// serverList is a list of servers that a client gets page by page.
type serverList struct {
	asked uint32 // what is asked for, as dissect.Page has it
	// seeds are the addresses from which the list can go on, a ring: those that ended pages, and
	// those that were asked for. A page that does not come is asked for again.
	seeds      [maxSeeds]uint64
	next       uint8
	isReported bool
	last       uint64 // that ended the last page; 0 if the list ended with it, or that is unknown
	frame      uint64 // of the last page
	age        int64  // its age
}

// addSeed adds an address from which the list can go on.
func (l *serverList) addSeed(at uint64) {
	if !slices.Contains(l.seeds[:], at) {
		l.seeds[l.next] = at
		l.next = (l.next + 1) % maxSeeds
	}
}

// addPageQuestion adds a question for a page, and raises that it goes on from an address with which
// no page ended. Another question at the same socket ends the list.
func (h *Hosts) addPageQuestion(f *Fact) {
	code := pairCodes(f.Proto).Chain
	if code == nil {
		return
	}
	l, evicted := h.lists.Put(listKey{EndOf(f.Server), EndOf(f.Client)})
	if evicted != nil {
		h.evicted++
	}
	at := f.Page.At
	if at == 0 || l.asked != f.Page.List {
		*l = serverList{asked: f.Page.List}
	}
	if at == 0 {
		return
	}
	if l.last != 0 && !l.isReported && f.Age-l.age <= int64(pageMinute) && !slices.Contains(l.seeds[:], at) {
		l.isReported = true
		last := f.Page
		last.At = l.last
		h.raise(f, l.frame, finding.Expert{Code: code, A: at, Addr: last.AddrPort()}, h.isUnsure(l.age))
	}
	l.addSeed(at)
}

// addPage adds a page that a client asked for.
func (h *Hosts) addPage(f *Fact) {
	l := h.lists.Get(listKey{EndOf(f.Server), EndOf(f.Client)})
	if l == nil {
		return
	}
	l.last, l.frame, l.age = f.Page.At, f.Frame, f.Age
	if f.Page.At != 0 {
		l.addSeed(f.Page.At)
	}
}

// joining is a server that asks a master server for a challenge in vain.
type joining struct {
	first    uint64 // frame of the first request
	age      int64  // and its age
	n        uint8
	isJoined bool // it was given one, or the finding was raised
}

// addUnansweredJoin adds a request for a challenge of which nobody answered any repetition, and raises that a master server
// gave none to this server.
func (h *Hosts) addUnansweredJoin(f *Fact) {
	code := pairCodes(f.Proto).Unjoined
	if code == nil {
		return
	}
	k := pairOf(f)
	j := h.joins.Get(k)
	if j == nil {
		j, _ = h.joins.Put(k)
		j.first, j.age = f.ID, f.Began
	}
	if j.isJoined {
		return
	}
	if j.n = min(j.n, 254) + 1; j.n < minUnjoined {
		return
	}
	j.isJoined = true
	h.raise(f, j.first, finding.Expert{Code: code, A: uint64(j.n), B: uint64(max(f.Age-j.age, 0))}, h.replyAge == never || h.isUnsure(j.age))
}

// addJoin records that a master server gave a server a challenge.
func (h *Hosts) addJoin(f *Fact) {
	if pairCodes(f.Proto).Unjoined == nil {
		return
	}
	j, _ := h.joins.Put(pairOf(f))
	j.isJoined = true
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
func (h *Hosts) addPageRequest(f *Fact) {
	b, evicted := h.budgets.Put(pairOf(f))
	if evicted != nil {
		h.evicted++
	}
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
func (h *Hosts) addUnansweredPage(f *Fact) {
	b := h.budgets.Get(pairOf(f))
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
		h.raise(f, b.overFirst, finding.Expert{Code: pairCodes(f.Proto).Budget, A: pageBudget + 1, B: uint64(b.overSpan)}, h.isUnsure(f.Age-int64(pageMinute)))
	case b.answerAge == never || f.Age-b.answerAge > int64(silencePause):
		b.isReported = true
		h.raise(f, b.silentFirst, finding.Expert{Code: pairCodes(f.Proto).Silent, A: uint64(b.silent), B: uint64(f.Nanos / 1e9)}, h.replyAge == never || h.isUnsure(b.silentAge))
	}
}

const (
	// limit: maxLists is how many lists of master servers are kept, each of one socket of a client, and
	// maxSeeds how many of the addresses from which each can go on. Chosen: a client asks for one page
	// after the other, and the same again until it comes.
	maxLists = 512
	maxSeeds = 4
	// limit: pageBudget is how many requests in a pageMinute the public master servers are said to answer
	// one address; minUnserved is how many in a row one must leave unanswered after more than those.
	pageBudget  = 30
	pageMinute  = time.Minute
	minUnserved = 2
	// limit: minUnjoined is how many attempts to join in a row a master must leave unanswered, each with
	// its repetitions.
	minUnjoined = 2
	// limit: silencePause is after how long since its last answer to a client a master server that does
	// not answer counts as silent. Chosen: it is far more than the minute of silence that a client over
	// its budget gets.
	silencePause = 5 * time.Minute
)
