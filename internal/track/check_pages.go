package track

import (
	"slices"

	"qsniff/dissect/finding"
	"qsniff/internal/base/lru"
)

// pages finds requests for a list of servers that go on where no page ended.
type pages struct {
	*Hosts
	lists *lru.Table[listKey, serverList]
}

func newPages(h *Hosts) check {
	c := &pages{Hosts: h, lists: newTable[listKey, serverList](h, maxLists)}
	return check{wants: []want{{pageRequest, c.addPageQuestion}, {page, c.addPage}}}
}

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
func (c *pages) addPageQuestion(f *view) {
	code := pairCodes(f.Proto).Chain
	if code == nil {
		return
	}
	l := enter(c.Hosts, c.lists, listKey{EndOf(f.Server), EndOf(f.Client)})
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
		c.Report(f.Fact, l.frame, finding.Expert{Code: code, A: at, Addr: last.AddrPort()}, c.isUnsure(l.age))
	}
	l.addSeed(at)
}

// addPage adds a page that a client asked for.
func (c *pages) addPage(f *view) {
	l := c.lists.Get(listKey{EndOf(f.Server), EndOf(f.Client)})
	if l == nil {
		return
	}
	l.last, l.frame, l.age = f.Page.At, f.Frame, f.Age
	if f.Page.At != 0 {
		l.addSeed(f.Page.At)
	}
}

const (
	// limit: maxLists is how many lists of master servers are kept, each of one socket of a client, and
	// maxSeeds how many of the addresses from which each can go on. Chosen: a client asks for one page
	// after the other, and the same again until it comes.
	maxLists = 512
	maxSeeds = 4
)
