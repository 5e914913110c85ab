package advice

import "time"

// rateLimit is a token bucket, as nftables' "limit rate over" (nft_limit.c of Linux)
// and iptables' hashlimit have it: a packet costs the time in which one more is
// allowed, time that passes pays, and no more than the burst can be saved. A bucket
// begins full. A packet over the limit is dropped and costs nothing.
type rateLimit struct {
	packets int64 // 0: none is let through
	per     time.Duration
	burst   int64
}

// charge charges a packet at now to the bucket that will be full at the time *full,
// which says the same as the count of tokens and needs no time of last use.
func (l *rateLimit) charge(full *int64, now int64) bool {
	cost := int64(l.per) / l.packets
	from := max(*full, now)
	if from-now+cost > cost*l.burst {
		return true
	}
	*full = from + cost
	return false
}
