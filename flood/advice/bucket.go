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

// charge charges a packet at now to a bucket and reports whether it is over the limit. *full
// is the time when the bucket will be full: all of its state, equivalent to a count of tokens
// with the time of the last packet.
func (l *rateLimit) charge(full *int64, now int64) bool {
	cost := int64(l.per) / l.packets
	from := max(*full, now)
	if from-now+cost > cost*l.burst {
		return true
	}
	*full = from + cost
	return false
}
