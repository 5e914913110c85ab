package measure

import (
	"qsniff/dissect"
	"qsniff/internal/flood/sketch"
	"qsniff/internal/track"
)

// Server is a server that is watched closely: what it was asked and answered in the last
// seconds. Times are seconds of the detector; 0 is never.
type Server struct {
	serverState
	key     Key
	seconds [BinSeconds]Second
	shapes  [ShapeSeconds]secondShape
	panes   [2]pane // the current one is panes[turn&1]
}

// serverState is what of a Server is small.
type serverState struct {
	End   track.End
	Hash  uint64
	Proto *dissect.Proto // of most packets that have one
	// weight is how many packets the last one stood for. Seconds count what packets stand for, panes
	// the samples themselves: shares of these are right, and a source that came once is no busy one.
	weight uint32
	votes  uint8 // by how many these lead
	Born   int32 // when it became watched, or was counted first

	LastAsked      int32 // second of the last request or junk
	LastSent       int32 // any packet
	LastChallenge  int32 // the server gave one
	FirstChallenge int32 // the first that it gave
	LastCut        int32 // a source brought back a challenge that the capture cut

	Base    float64 // the baseline: queries/s when nothing is wrong
	learned float64 // the share of Base that is what was learned; the rest is the 0 that it began from
	habit   habit
	turn    int32
}

// habit is what the server's sources do in a second when nothing is wrong, as slow means
// of Second's counts.
type habit struct{ challenged, echoed, orphans float64 }

// Init allocates the sketches of a server. It is called once.
func (t *Server) Init(k Key) {
	t.key = k
	for i := range t.panes {
		t.panes[i].init()
	}
}

// Reset makes t another server. It reuses the memory, of which it copies none: who sprays
// random addresses makes servers follow each other.
func (t *Server) Reset(e track.End, hash uint64, now int32) {
	t.serverState = serverState{End: e, Hash: hash, Born: now, LastAsked: now, turn: now / PaneSeconds}
	clear(t.seconds[:])
	clear(t.shapes[:])
	for i := range t.panes {
		t.panes[i].reset(0)
	}
	t.currentPane().start = now
}

// Forget empties the window and the counts of seconds, as if nothing had come in them. The
// baseline stays.
func (t *Server) Forget(now int32) {
	clear(t.seconds[:])
	t.previousPane().reset(0)
	t.currentPane().reset(now)
}

func (t *Server) currentPane() *pane  { return &t.panes[t.turn&1] }
func (t *Server) previousPane() *pane { return &t.panes[(t.turn+1)&1] }

// PaneStart returns the second in which the current pane began.
func (t *Server) PaneStart() int32 { return t.currentPane().start }

// OpenSecond returns the counts of a second, which are zero if nothing came in it yet.
func (t *Server) OpenSecond(sec int32, nanos int64) *Second {
	b := &t.seconds[sec%BinSeconds]
	if b.Sec != sec {
		*b = Second{Sec: sec, Nanos: nanos}
	}
	return b
}

// At returns the counts of a second in the last BinSeconds, or nil if nothing happened in
// it.
func (t *Server) At(sec int32) *Second {
	if t == nil || sec < 0 {
		return nil
	}
	if b := &t.seconds[sec%BinSeconds]; b.Sec == sec {
		return b
	}
	return nil
}

// Sum adds up the n seconds that end with sec.
func (t *Server) Sum(sec, n int32) Second {
	var s Second
	for i := sec - n + 1; i <= sec; i++ {
		if b := t.At(i); b != nil {
			s.add(b)
		}
	}
	return s
}

// CountAsked returns how many requests and how much junk came in the n seconds that end with
// sec.
func (t *Server) CountAsked(sec, n int32) (sum uint32) {
	for i := sec - n + 1; i <= sec; i++ {
		if b := t.At(i); b != nil {
			sum += b.Packets + b.Junk
		}
	}
	return sum
}

// TurnPane begins a new pane if the current one has ended.
func (t *Server) TurnPane(now int32) {
	turn := now / PaneSeconds
	if turn == t.turn {
		return
	}
	if turn > t.turn+1 { // nothing happened in between
		t.panes[(turn+1)&1].reset(now - PaneSeconds)
	}
	t.turn = turn
	t.currentPane().reset(now)
}

// minSamples is how many samples of the last ten to twenty seconds a rate takes: with fewer it is off by
// a third and more, and one sample of a thousand looks like a flood of a thousand.
const minSamples = 10

// IsSampled reports whether what the server gets are samples.
func (t *Server) IsSampled() bool { return t.weight > 1 }

// IsTooFew reports whether n packets, counted by their weight, are too few samples for a rate.
func (t *Server) IsTooFew(n uint32) bool { return t.IsSampled() && n < minSamples*t.weight }

// IsOneWay reports whether the capture seems to have only what goes to the server.
func (t *Server) IsOneWay(now int32) bool {
	return t.LastSent == 0 || now-t.LastSent > BinSeconds && t.LastSent < t.Born
}

// BusiestCount returns how many queries of the window the busiest source sent, and how
// many there are.
func (t *Server) BusiestCount() (one, all uint32) {
	return t.panes[0].busiest + t.panes[1].busiest, t.panes[0].queries + t.panes[1].queries
}

// MergeSources adds the sources of a sort in the current pane to all.
func (t *Server) MergeSources(all *sketch.Distinct, sort Sort) {
	all.Merge(&t.currentPane().sources[sort])
}

// MergeSites adds the larger networks of the queries in the current pane to all.
func (t *Server) MergeSites(all *sketch.Distinct) { all.Merge(&t.currentPane().sites) }

// MergePreviousSources adds the sources of a sort in the previous pane to all.
func (t *Server) MergePreviousSources(all *sketch.Distinct, sort Sort) {
	all.Merge(&t.previousPane().sources[sort])
}

// Busiest lists the sources of a sort in the window, busiest first. It overwrites list and
// returns it.
func (t *Server) Busiest(list []BusyHost, sort Sort) []BusyHost {
	return mergeBusiest(list, t.currentPane().top[sort], t.previousPane().top[sort])
}

// EachPrefix calls f for each of the busiest networks of the current pane, in no order, with
// bounds of the number of their queries and a lower bound of the number of their hosts.
func (t *Server) EachPrefix(f func(prefix track.Host, low, high uint32, hosts int)) {
	t.currentPane().prefixes.Each(func(it *sketch.Item[track.Host, Neighbours], low, high uint32) {
		f(it.Key, low, high, it.Value.hosts.Count())
	})
}
