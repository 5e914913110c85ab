package monitor

import "qsniff/dissect"

// pairs is the table of requests that wait for their answers, and of those that had one a
// moment ago. A pair of ends has its entries, one for each kind of request, in one row of
// pairWays; the oldest of a full row is evicted.
type pairs struct {
	rows [][pairWays]request
	mask uint64
	used int // entries, as of the last sweep
}

// request is what one end asks another: 32 bytes.
type request struct {
	flow  uint64 // hash of both ends; 0: the entry is empty
	age   int64  // of the first one that waits, or of the last one that did
	open  uint16 // how many wait
	slot  uint16 // of the server
	kind  uint8
	flags requestFlags
}

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

func (p *pairs) row(flow uint64) *[pairWays]request { return &p.rows[flow&p.mask] }

// put returns the entry of a kind of request between two ends, whose flow is not 0. If there is
// none, it is a new one, and what had its place before is in evicted.
func (p *pairs) put(flow uint64, kind uint8) (r *request, evicted request) {
	row := p.row(flow)
	worst := &row[0]
	for i := range row {
		x := &row[i]
		if x.flow == flow && x.kind == kind {
			return x, request{}
		}
		if x.isWorseThan(worst) {
			worst = x
		}
	}
	evicted = *worst
	*worst = request{flow: flow, kind: kind}
	return worst, evicted
}

// isWorseThan reports whether x is to be evicted before y: empty entries, then those that wait
// for nothing, then the oldest.
func (x *request) isWorseThan(y *request) bool {
	switch {
	case y.flow == 0:
		return false
	case x.flow == 0:
		return true
	case (x.open == 0) != (y.open == 0):
		return x.open == 0
	}
	return x.age < y.age
}

// waiting returns the oldest entry between two ends of a request that waits for any of what asks
// names, nil if there is none.
func (p *pairs) waiting(flow uint64, asks dissect.Asked, k *kinds) (oldest *request) {
	row := p.row(flow)
	for i := range row {
		x := &row[i]
		if x.flow == flow && x.open > 0 && k.list[x.kind].asks.Has(asks) && (oldest == nil || x.age < oldest.age) {
			oldest = x
		}
	}
	return oldest
}

// isUnproven reports whether what was asked last between two ends brought no token.
func (p *pairs) isUnproven(flow uint64) bool {
	var last *request
	row := p.row(flow)
	for i := range row {
		if x := &row[i]; x.flow == flow && (last == nil || x.age > last.age) {
			last = x
		}
	}
	return last != nil && last.flags&isProven == 0
}

// sweep removes what is older than lateWait, and calls expire for each entry that waited in
// vain.
func (p *pairs) sweep(age int64, expire func(*request)) {
	p.used = 0
	for i := range p.rows {
		row := &p.rows[i]
		for j := range row {
			x := &row[j]
			switch {
			case x.flow == 0:
			case age-x.age <= lateWait:
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
