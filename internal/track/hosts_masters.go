package track

import (
	"slices"

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
