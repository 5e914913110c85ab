package advice

import "time"

// rateLimit is the limit of a token bucket, as of nftables' "limit rate over" (nft_limit.c of
// Linux) and iptables' hashlimit. A packet costs the time in which one more is allowed; the
// time that passes fills the bucket, up to burst packets. A bucket begins full. A packet over
// the limit is dropped and costs nothing.
type rateLimit struct {
	packets int64 // 0: none is let through
	per     time.Duration
	burst   int64
}

// charge charges a packet at now to a bucket and reports whether it is over the limit, as
// bucketCost.charge does.
func (l *rateLimit) charge(full *int64, now int64) bool { return l.costs().charge(full, now) }

// bucketCost is a limit in nanoseconds: what a packet costs, and what burst packets do.
type bucketCost struct{ each, most int64 }

// costs returns the limit in nanoseconds: who charges many packets divides once. The costs of
// the zero limit are 0.
func (l *rateLimit) costs() bucketCost {
	if l.packets == 0 {
		return bucketCost{}
	}
	each := int64(l.per) / l.packets
	return bucketCost{each, each * l.burst}
}

// charge charges a packet at now to a bucket and reports whether it is over the limit. *full
// is the time when the bucket will be full: all of its state, equivalent to a count of tokens
// with the time of the last packet.
func (c bucketCost) charge(full *int64, now int64) bool {
	from := max(*full, now)
	if from-now+c.each > c.most {
		return true
	}
	*full = from + c.each
	return false
}
