package measure

import (
	"qsniff/dissect"
	"qsniff/flood/sketch"
	"qsniff/track"
)

// Server is one that is watched closely: what it was asked and answered in the last
// seconds. Times are seconds of the detector; 0 is never.
type Server struct {
	End   track.End
	Hash  uint64
	Proto *dissect.Proto // of most packets that have one
	votes uint8          // by how many these lead
	Born  int32          // when it came to be watched, or was counted first

	LastAsked      int32
	LastSent       int32 // anything
	LastChallenge  int32 // that it gave
	FirstChallenge int32
	LastCut        int32 // a challenge was brought back that the capture cut

	Base  float64 // queries/s when nothing is wrong
	habit habit

	key     Key
	seconds [BinSeconds]Second
	panes   [2]pane // the one at hand is panes[turn&1]
	turn    int32
}

// habit is what a server's sources do when nothing is wrong, counts in a second.
type habit struct{ challenged, echoed, orphans float64 }

// Init makes the sketches of a server. It is done once.
func (t *Server) Init(k Key) {
	t.key = k
	for i := range t.panes {
		t.panes[i].init()
	}
}

// Reset makes another server of t, keeping its memory.
func (t *Server) Reset(e track.End, hash uint64, now int32) {
	panes := t.panes
	for i := range panes {
		panes[i].reset(0)
	}
	*t = Server{key: t.key, End: e, Hash: hash, Born: now, LastAsked: now, panes: panes}
	t.turn = now / PaneSeconds
	t.pane().start = now
}

func (t *Server) pane() *pane   { return &t.panes[t.turn&1] }
func (t *Server) before() *pane { return &t.panes[(t.turn+1)&1] }

// PaneStart returns the second in which the pane at hand began.
func (t *Server) PaneStart() int32 { return t.pane().start }

// Second returns the counts of a second, empty if it is new.
func (t *Server) Second(sec int32, nanos int64) *Second {
	b := &t.seconds[sec%BinSeconds]
	if b.Sec != sec {
		*b = Second{Sec: sec, Nanos: nanos}
	}
	return b
}

// At returns the counts of a second that is over, or nil if nothing happened in it.
func (t *Server) At(sec int32) *Second {
	if t == nil || sec < 0 {
		return nil
	}
	if b := &t.seconds[sec%BinSeconds]; b.Sec == sec {
		return b
	}
	return nil
}

// Sum adds up the n seconds to sec.
func (t *Server) Sum(sec, n int32) Second {
	var s Second
	for i := sec - n + 1; i <= sec; i++ {
		if b := t.At(i); b != nil {
			s.add(b)
		}
	}
	return s
}

// Roll begins a new pane where it is time.
func (t *Server) Roll(now int32) {
	turn := now / PaneSeconds
	if turn == t.turn {
		return
	}
	if turn > t.turn+1 { // nothing happened in between
		t.panes[(turn+1)&1].reset(now - PaneSeconds)
	}
	t.turn = turn
	t.pane().reset(now)
}

// IsOneWay reports whether the capture seems to have what goes to the server only.
func (t *Server) IsOneWay(now int32) bool {
	return t.LastSent == 0 || now-t.LastSent > BinSeconds && t.LastSent < t.Born
}

// Most returns how many queries of the window one source sent, and all.
func (t *Server) Most() (one, all uint32) {
	return t.panes[0].most + t.panes[1].most, t.panes[0].queries + t.panes[1].queries
}

// MergeSources adds the sources of a sort in the pane at hand to all.
func (t *Server) MergeSources(all *sketch.Distinct, sort Sort) { all.Merge(&t.pane().sources[sort]) }

// MergeSourcesBefore adds those of the pane before.
func (t *Server) MergeSourcesBefore(all *sketch.Distinct, sort Sort) {
	all.Merge(&t.before().sources[sort])
}

// Busiest lists the sources of a sort in the window, busiest first. It returns list, with
// other elements.
func (t *Server) Busiest(list []Busy, sort Sort) []Busy {
	return Merge(list, t.pane().top[sort], t.before().top[sort])
}

// EachPrefix calls f with the busiest networks of the pane at hand, in no order: the
// bounds of their queries, and how many hosts were seen at least.
func (t *Server) EachPrefix(f func(prefix track.Host, low, high uint32, hosts int)) {
	t.pane().prefixes.Each(func(it *sketch.Item[track.Host, Neighbours], low, high uint32) {
		f(it.Key, low, high, it.Value.hosts.Count())
	})
}
