package track

import "qsniff/dissect/finding"

// poller is a client that a server leaves without answers: its last requests of one kind.
type poller struct {
	kind     uint8
	begun    [silentPolls]int64 // ages at which they began, the latest first
	first    [silentPolls]uint64
	n        uint8
	reported bool // since the last answer
}

// addSilentPoll adds a request that nobody answered, of a client that did not get an answer of any
// kind since the earlier ones, and raises that the server goes on answering others. The repeats of
// a request are one poll with it.
func (h *Hosts) addSilentPoll(f *Fact, s *hostState, kind int, isProven bool) {
	if f.Age-s.silentSince > int64(silentFor) {
		s.silentSince, s.silences = f.Age, 0
	}
	if s.silences++; !isProven && s.silences > maxSilences {
		return
	}
	if f.Age-f.Began > int64(longestRetry) {
		return // it asks all the time: its exchanges end by the clock of Exchanges
	}
	q, evicted := h.pollers.Put(pairOf(f))
	if evicted != nil {
		h.evicted++
	}
	// Others are answered if one was since the poll before.
	since := f.Began - int64(aliveFor)
	if q.n > 0 {
		since = q.begun[0]
	}
	if q.n > 0 && int(q.kind) != kind {
		return
	}
	if s.served[kind] <= since {
		q.n = 0
		return
	}
	copy(q.begun[1:], q.begun[:])
	copy(q.first[1:], q.first[:])
	q.kind, q.begun[0], q.first[0] = uint8(kind), f.Began, f.ID
	q.n = min(q.n+1, silentPolls)
	if period := q.period(); period > 0 && !q.reported {
		q.reported = true
		h.raise(f, q.first[silentPolls-1], finding.Expert{Code: &MonitorUnanswered, A: silentPolls, B: uint64(period)}, h.isUnsure(q.begun[silentPolls-1]))
	}
}

// period returns the time from one poll to the next, 0 if that is not always the same.
func (q *poller) period() int64 {
	if q.n < silentPolls {
		return 0
	}
	least, most := q.begun[0]-q.begun[1], q.begun[0]-q.begun[1]
	for i := 2; i < silentPolls; i++ {
		d := q.begun[i-1] - q.begun[i]
		least, most = min(least, d), max(most, d)
	}
	mean := (q.begun[0] - q.begun[silentPolls-1]) / (silentPolls - 1)
	if least < int64(leastPoll) || 100*(most-least) >= pollSpread*mean {
		return 0
	}
	return mean
}

// addPollAnswer ends the silence of the server towards the client of f.
func (h *Hosts) addPollAnswer(k pairKey) {
	if h.pollers.Len() > 0 {
		h.pollers.Delete(k)
	}
}
