package track

import (
	"math/bits"
	"slices"

	"qsniff/dissect"
	"qsniff/dissect/finding"
)

// answerTimes counts the answers of a server by the time that they took: bucket 0 those below
// eagerFloor, and of the others four for each doubling.
type answerTimes struct {
	buckets [timeBuckets]uint8
	all     uint8
}

const (
	stepsPerDoubling = 4
	timeBuckets      = 1 + 6*stepsPerDoubling // up to 64 times eagerFloor, which is more than answerWait
)

// bucketStart returns the shortest time in a bucket.
func bucketStart(i int) int64 {
	if i == 0 {
		return 0
	}
	doublings, step := (i-1)/stepsPerDoubling, (i-1)%stepsPerDoubling
	return int64(eagerFloor) << doublings * int64(stepsPerDoubling+step) / stepsPerDoubling
}

// add adds an answer that took nanos. When a count is full all are halved: what was long ago
// counts less.
func (t *answerTimes) add(nanos int64) {
	i := 0
	if n := uint64(nanos) * stepsPerDoubling / uint64(eagerFloor); n >= stepsPerDoubling {
		doublings := bits.Len64(n) - bits.Len64(stepsPerDoubling)
		i = min(1+stepsPerDoubling*doublings+int(n>>doublings)-stepsPerDoubling, timeBuckets-1)
	}
	t.buckets[i]++
	if t.all++; t.all < maxTimes {
		return
	}
	t.all = 0
	for i := range t.buckets {
		t.buckets[i] /= 2
		t.all += t.buckets[i]
	}
}

// slow returns a time that slowShare percent of the answers exceed or more, 0 if that is below
// eagerFloor or there are less than slowOf answers.
func (t *answerTimes) slow() int64 {
	if t.all < slowOf {
		return 0
	}
	above := uint32(0)
	for i := len(t.buckets) - 1; i > 0; i-- {
		if above += uint32(t.buckets[i]); 100*above >= slowShare*uint32(t.all) {
			return bucketStart(i)
		}
	}
	return 0
}

// eagerClients are the clients of a server that were reported for repeating too soon.
type eagerClients struct {
	hosts [eagerPerServer]Host
	n     uint8
}

// checkPace raises that a client repeats a request too soon. That no reply came in between is
// unsure where the server was not seen to answer anybody: its replies may go another way.
func (h *Hosts) checkPace(f *Fact) {
	s := h.servers.Peek(EndOf(f.Server))
	slow := int64(0)
	if s != nil && f.Gap >= int64(eagerFloor) && f.Gap < int64(answerWait) {
		slow = s.times.slow()
	}
	x := finding.Expert{Code: pairCodes(f.Proto).Eager, A: uint64(f.Gap), B: uint64(slow)}
	switch {
	case f.IsThird:
		x.B = dissect.ThirdRequest
	case f.Gap >= max(int64(eagerFloor), slow):
		return
	}
	if x.Code == nil {
		return
	}
	c, evicted := h.eager.Put(EndOf(f.Server))
	if evicted != nil {
		h.evicted++
	}
	client := Host(f.Client.Addr().As16())
	if int(c.n) == len(c.hosts) || slices.Contains(c.hosts[:c.n], client) {
		return
	}
	c.hosts[c.n] = client
	c.n++
	h.raise(f, f.ID, x, s == nil || h.isUnsure(f.Age-int64(copiesFor)))
}
