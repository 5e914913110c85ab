package monitor

import (
	"qsniff/dissect"
	"qsniff/internal/base/mem"
)

// pairs is the table of requests that wait for their answers, and of those that had one a
// moment ago. A pair of ends has its entries, one for each kind of request, in one row, which is a
// line of the processor's cache: a flood of forged addresses touches another one with each
// packet. The oldest of a full row is evicted.
type pairs struct {
	rows [][pairWays]request
	mask uint64
	used int // entries, as of the last sweep
}

// request is what one end asks another: 16 bytes.
type request struct {
	flow  uint32 // hash of both ends, besides what chooses the row; 0: the entry is empty
	since micros // of the first one that waits, or of the last one that did
	open  uint16 // how many wait
	slot  uint16 // of the server
	kind  uint8
	flags requestFlags
}

// micros is a time in microseconds that begins anew after 71 minutes: entries are removed before.
type micros uint32

// microsOf returns the micros of an age.
func microsOf(age int64) micros { return micros(uint64(age) / 1000) }

// until returns the nanoseconds to a later time.
func (t micros) until(now micros) int64 { return int64(now-t) * 1000 }

type requestFlags uint8

const (
	// several waited at once: which one a reply answers cannot be determined, nor how long that
	// took.
	several requestFlags = 1 << iota
	// isProven: the request brought back a token, so its answer goes to who asked.
	isProven
)

func newPairs(size int) pairs {
	rows := 1
	for rows*pairWays < size {
		rows *= 2
	}
	return pairs{rows: make([][pairWays]request, rows), mask: uint64(rows - 1)}
}

// find returns the row of two ends, by their hash, and what their entries in it have as flow.
func (p *pairs) find(hash uint64) (row *[pairWays]request, flow uint32) {
	return &p.rows[hash&p.mask], uint32(hash>>32) | 1
}

// foresee asks the processor for the row of two ends.
func (p *pairs) foresee(hash uint64) {
	row := &p.rows[hash&p.mask]
	mem.Prefetch(row, row)
}

// put returns the entry of a kind of request between two ends. If there is none, it is a new one,
// and what had its place before is in evicted.
func (p *pairs) put(hash uint64, kind uint8, now micros) (r *request, evicted request) {
	row, flow := p.find(hash)
	worst := &row[0]
	for i := range row {
		x := &row[i]
		if x.flow == flow && x.kind == kind {
			return x, request{}
		}
		if x.isWorseThan(worst, now) {
			worst = x
		}
	}
	evicted = *worst
	*worst = request{flow: flow, kind: kind}
	return worst, evicted
}

// isWorseThan reports whether x is to be evicted before y: empty entries, then those that wait
// for nothing, then the oldest.
func (x *request) isWorseThan(y *request, now micros) bool {
	switch {
	case y.flow == 0:
		return false
	case x.flow == 0:
		return true
	case (x.open == 0) != (y.open == 0):
		return x.open == 0
	}
	return now-x.since > now-y.since
}

// waiting returns the oldest entry between two ends of a request that waits for any of what asks
// names, nil if there is none.
func (p *pairs) waiting(hash uint64, asks dissect.Asked, k *kinds, now micros) (oldest *request) {
	row, flow := p.find(hash)
	for i := range row {
		x := &row[i]
		if x.flow == flow && x.open > 0 && k.list[x.kind].asks.Has(asks) && (oldest == nil || now-x.since > now-oldest.since) {
			oldest = x
		}
	}
	return oldest
}

// last returns the entry of what was asked last between two ends, nil if there is none.
func (p *pairs) last(hash uint64, now micros) (last *request) {
	row, flow := p.find(hash)
	for i := range row {
		if x := &row[i]; x.flow == flow && (last == nil || now-x.since < now-last.since) {
			last = x
		}
	}
	return last
}

// sweep removes what is older than lateWait, or all if everything is, and calls expire for each
// entry that waited in vain.
func (p *pairs) sweep(now micros, all bool, expire func(*request)) {
	p.used = 0
	for i := range p.rows {
		row := &p.rows[i]
		for j := range row {
			x := &row[j]
			switch {
			case x.flow == 0:
			case !all && x.since.until(now) <= lateWait:
				p.used++
			default:
				if x.open > 0 {
					expire(x)
				}
				*x = request{}
			}
		}
	}
}
