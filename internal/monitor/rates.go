package monitor

import "time"

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
