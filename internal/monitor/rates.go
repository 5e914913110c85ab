package monitor

import (
	"time"

	"qsniff/dissect"
	"qsniff/internal/track/stats"
)

// Rates are per second, over the last ten whole seconds.
type Rates struct {
	Requests, Answers, BytesIn, BytesOut float64
}

// totals are the counters that rates are made of.
type totals struct{ requests, answers, bytesIn, bytesOut uint64 }

// rates are the totals at the begins of the last seconds.
type rates struct {
	at [rateSeconds + 1]totals
}

// close ends a second, the nth since the start.
func (r *rates) close(n int64, now totals) { r.at[n%int64(len(r.at))] = now }

// since returns the rates over the seconds before n, the last one that ended.
func (r *rates) since(n int64) Rates {
	span := min(n, rateSeconds)
	if span == 0 {
		return Rates{}
	}
	now, then := &r.at[n%int64(len(r.at))], &r.at[(n-span)%int64(len(r.at))]
	per := func(now, then uint64) float64 { return float64(now-then) / float64(span) }
	return Rates{per(now.requests, then.requests), per(now.answers, then.answers), per(now.bytesIn, then.bytesIn), per(now.bytesOut, then.bytesOut)}
}

// clock counts the seconds that have passed since the first packet.
type clock struct {
	first, next int64 // ages: of the first packet, of the end of the second at hand
	seconds     int64 // that ended
	nanos       int64 // Unix time of the last packet or tick
}

// advance returns how many seconds ended until age: rateSeconds+1 at most, as no more show in
// any rate.
func (c *clock) advance(age int64) (ended int64) {
	if c.next == 0 {
		c.first, c.next = age, age+int64(time.Second)
		return 0
	}
	if age < c.next {
		return 0
	}
	passed := (age-c.next)/int64(time.Second) + 1
	c.next += passed * int64(time.Second)
	return min(passed, rateSeconds+1)
}

// Lately is what was counted of a server in the last minute, or since the begin, if that is less.
// Outcomes and response times count at the time of the request.
type Lately struct {
	stats.Cell               // bytes are of payloads
	WireIn, WireOut   uint64 // bytes with headers
	Late, Unreachable uint32 // of Answered, and of Unanswered
	Response          stats.Times
	// Points are the requests in each point of the last hour, of Snapshot.Point each. If there are
	// fewer than Snapshot.Points, the missing ones are zero, and come last.
	Points []uint32
}

// lately returns what a row has from a point on.
func (r *row) lately(from int) Lately {
	var all cell
	points := make([]uint32, len(r.cells))
	for i := range r.cells {
		points[i] = r.cells[i].Requests
		if i >= from {
			all.add(&r.cells[i])
		}
	}
	return Lately{Cell: all.Cell, WireIn: all.wireIn, WireOut: all.wireOut, Late: all.late, Unreachable: all.unreachable,
		Response: timesOf(&r.times, from, all.slowest), Points: points}
}

// latelyFrom returns the point with which the last minute begins.
func (w *window) latelyFrom() int { return max(0, w.at+1-int(latelySpan/pointLengths[w.step])) }

// latelySpan returns how long the last minute is as yet.
func (w *window) latelySpan() time.Duration {
	return min(latelySpan, time.Duration(w.last-w.start))
}

// kinds numbers the kinds of messages: protocol, name and direction. Several types of one name
// are one kind.
type kinds struct {
	list   []kind // 0: parts of replies, whose kind no packet shows, and what has no place
	byType map[*dissect.Type]uint8
	last   *dissect.Type // of the packet before, and its kind
	lastOf uint8
}

// kind is a kind of messages.
type kind struct {
	protocol, message string
	reply             bool
	asks              dissect.Asked // of all types of the kind
}

// newKinds numbers what protocols declare.
func newKinds(protos []*dissect.Proto) kinds {
	k := kinds{list: []kind{{protocol: otherName, message: otherName, reply: true}}, byType: map[*dissect.Type]uint8{}}
	for _, p := range protos {
		for _, t := range p.Types {
			k.byType[t] = k.add(kind{p.Name, t.Name, t.FromServer(), t.Asks})
		}
	}
	return k
}

// add returns the number of a kind, a new one if it has none.
func (k *kinds) add(x kind) uint8 {
	for i := range k.list {
		y := &k.list[i]
		if y.protocol == x.protocol && y.message == x.message && y.reply == x.reply {
			y.asks |= x.asks
			return uint8(i)
		}
	}
	if len(k.list) == maxKinds {
		return 0
	}
	k.list = append(k.list, x)
	return uint8(len(k.list) - 1)
}

// of returns the kind of a message, 0 if the type is nil or has no place.
func (k *kinds) of(t *dissect.Type) uint8 {
	if t != k.last {
		k.last, k.lastOf = t, k.byType[t]
	}
	return k.lastOf
}
