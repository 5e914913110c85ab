package flood

import (
	"encoding/binary"
	"net/netip"
	"slices"

	"qsniff/internal/base/lru"
	m "qsniff/internal/flood/measure"
	"qsniff/internal/track"
)

// servers holds the servers that get requests. All are counted coarsely first; one with many
// requests is watched closely.
type servers struct {
	*book
	fullSince int32 // the last second in which there was no room for one more
	// noneIdleSince is the same for servers that isOwn names and that are not busy.
	noneIdleSince int32
	heavy         []*watched
	marks         [heavyTargets]uint64 // of heavy
	index         [markPlaces]uint8    // hash table with open addressing: 1 + the number in heavy; 0: free
	maxHeavy      int                  // how many of heavy there may be
	hasTrial      bool                 // one of heavy has
	light         *lru.Table[track.End, lightServer]
	// isOwn reports whether a server is watched closely from its first request on; nil: none is.
	isOwn func(netip.AddrPort) bool
}

// lightServer counts the requests to a server that is not watched closely. Times are in
// seconds of the clock.
type lightServer struct {
	sec           int32
	count         uint32 // in that second
	firstAsked    int32  // second in which it was asked first
	inPane        uint32 // in these ten seconds
	echoes        uint32 // those of them that bring a challenge to a server that gives some: no queries
	paneStart     int32
	rateBefore    float64 // rate of the ten seconds before
	lastSent      int32   // when it answered; 0: never
	lastChallenge int32   // when it gave a challenge; 0: never
	strangeSec    int32
	strange       uint32 // datagrams of no session in that second
}

// A server, or a host that gets replies, is watched closely from these rates on. No monitor
// reaches them; 30 in ten seconds is the most that engines answer to one source by default
// (sv_max_queries_sec 3).
const (
	promoteSecond = 10 // packets in a second
	promoteTen    = 30 // in ten
)

// find returns the server at an end if it is watched closely, else nil. Who chooses addresses
// that collide makes it compare all of them.
func (x *servers) find(h *track.Host, port uint16) *watched {
	mark := markOf(h, port)
	for at := placeOf(mark); x.index[at] != 0; at = (at + 1) % markPlaces {
		i := x.index[at] - 1
		if x.marks[i] != mark {
			continue
		}
		if w := x.heavy[i]; w.End.Port == port && w.End.Host == *h {
			return w
		}
	}
	return nil
}

// setMark records where number i of heavy is now.
func (x *servers) setMark(i int) {
	e := &x.heavy[i].End
	x.marks[i] = markOf(&e.Host, e.Port)
	clear(x.index[:])
	for i := range x.heavy {
		at := placeOf(x.marks[i])
		for x.index[at] != 0 {
			at = (at + 1) % markPlaces
		}
		x.index[at] = uint8(i) + 1
	}
}

// markPlaces is four places for each server, so that one that is not among them is known after
// one or two.
const markPlaces = 4 * heavyTargets

func placeOf(mark uint64) int { return int(mark * 0x9e3779b97f4a7c15 >> 32 % markPlaces) }

// receiver returns the server to which a packet went, as find does.
func (x *servers) receiver(s *track.Sighting) *watched { return x.find(&s.Dst, s.DstPort) }

// sender returns the server that sent a packet, as find does.
func (x *servers) sender(s *track.Sighting) *watched { return x.find(&s.Src, s.SrcPort) }

// markOf returns what distinguishes an end from most others: in IPv4 from all, in IPv6 from
// those with another interface identifier.
func markOf(h *track.Host, port uint16) uint64 {
	return binary.BigEndian.Uint64(h[8:]) ^ uint64(port)<<48
}

// countPacket counts a packet to a server that is not watched closely, and returns how many
// came in these ten seconds. If that makes it worth watching closely and there is room, it
// returns the server, else nil. hasKey reports whether the packet brings a challenge.
func (x *servers) countPacket(e track.End, hash uint64, n uint32, hasKey bool) (w *watched, inPane uint32) {
	l := x.light.Get(e)
	if l == nil {
		l, _ = x.light.Put(e)
		*l = lightServer{sec: x.Now, paneStart: x.Now, firstAsked: x.Now}
	}
	isBusy := l.countPackets(n, x.Now)
	if hasKey && l.lastChallenge != 0 {
		l.echoes += n
	}
	inPane = l.inPane
	if isBusy || l.count == n && x.isOwn != nil && x.isOwn(e.AddrPort()) {
		w = x.promote(e, hash, l, isBusy)
	}
	return w, inPane
}

// countPackets counts n packets in the second at hand, and reports whether there are enough
// to watch closely.
func (l *lightServer) countPackets(n uint32, now int32) (isBusy bool) {
	if l.sec != now {
		l.sec, l.count = now, 0
	}
	if now-l.paneStart >= m.PaneSeconds {
		l.rateBefore = 0
		if now-l.paneStart < 2*m.PaneSeconds {
			l.rateBefore = float64(l.inPane-l.echoes) / m.PaneSeconds
		}
		l.inPane, l.echoes, l.paneStart = 0, 0, now
	}
	l.count += n
	l.inPane += n
	return l.count >= promoteSecond || l.inPane >= promoteTen
}

// countStrange counts a datagram of no session to a server that is not watched closely and has answered
// queries. If that makes it worth watching closely and there is room, it returns the server, else nil.
func (x *servers) countStrange(s *track.Sighting) *watched {
	l := x.light.Peek(s.To())
	if l == nil || l.lastSent == 0 {
		return nil
	}
	if l.strangeSec != x.Now {
		l.strangeSec, l.strange = x.Now, 0
	}
	if l.strange += s.Count(); l.strange < promoteSecond {
		return nil
	}
	return x.promote(s.To(), s.ToHash(), l, true)
}

// recordReply notes when a server that is not watched closely sent a reply or a challenge.
func (x *servers) recordReply(e track.End, isChallenge bool) {
	l := x.light.Peek(e)
	if l == nil {
		return
	}
	l.lastSent = x.Now
	if isChallenge {
		l.lastChallenge = x.Now
	}
}

// promote begins to watch a server closely, with the baseline and the times that were counted
// coarsely. It returns nil if there is no room; that is tried once a second.
func (x *servers) promote(e track.End, hash uint64, l *lightServer, isBusy bool) *watched {
	full := &x.fullSince
	if !isBusy {
		full = &x.noneIdleSince
	}
	i := len(x.heavy)
	switch {
	case i < x.maxHeavy:
		x.heavy = append(x.heavy, newWatched(x.key))
	case *full == x.Now: // there was no room in this second
		return nil
	case isBusy:
		i = x.findLeastBusy(l.inPane)
	default:
		i = x.findIdle()
	}
	if i < 0 {
		*full = x.Now
		return nil
	}
	w := x.heavy[i]
	w.evict(x.book)
	w.reset(e, hash, x.Now)
	x.setMark(i)
	w.StartFrom(l.rateBefore)
	w.Born, w.LastSent, w.LastChallenge = l.firstAsked, l.lastSent, l.lastChallenge
	x.light.Delete(e)
	return w
}

// findLeastBusy returns the index of the server to evict for one with count packets in ten
// seconds: the least busy one without an open incident, if it has less than half of count;
// else -1.
func (x *servers) findLeastBusy(count uint32) int {
	least, number := count/2, -1
	for i, w := range x.heavy {
		if w.isBusy(x.book) {
			continue
		}
		if n := w.CountAsked(x.Now, m.PaneSeconds); n < least {
			least, number = n, i
		}
	}
	return number
}

// findIdle returns the index of a server of which no second is kept, without an open incident;
// else -1.
func (x *servers) findIdle() int {
	return slices.IndexFunc(x.heavy, func(w *watched) bool {
		return x.Now-w.LastAsked > m.BinSeconds && !w.isBusy(x.book)
	})
}

// judgeSecond judges the second that ends at each server that is watched closely.
func (x *servers) judgeSecond(rules *rulebook) {
	x.hasTrial = false
	for _, w := range x.heavy {
		if x.Now-w.LastAsked <= m.BinSeconds || w.hasIncident() { // otherwise nothing changes
			w.judgeSecond(x.book, rules)
		}
		x.hasTrial = x.hasTrial || w.hasTrial()
	}
}

// rollPanes begins new panes in the second that begins.
func (x *servers) rollPanes() {
	for _, w := range x.heavy {
		w.TurnPane(x.Now)
	}
}

// finish announces the incidents that are open when the capture ends.
func (x *servers) finish() {
	for _, w := range x.heavy {
		w.finish(x.book)
	}
}
