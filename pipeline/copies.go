package pipeline

import (
	"math/bits"
	"time"

	"qsniff/internal/lru"
	"qsniff/track"
)

const (
	// copyPlaces is room for what a partition's share of a million packets a second
	// brings in copyWindow; a newer packet takes the place of an older one.
	copyPlaces = 1 << 9
	// copyWindow is how long a mirror port delays a copy at most, as in dedup.
	copyWindow = 5 * time.Millisecond
)

// copyTable holds hashes of the packets of the last milliseconds, by which it recognises
// copies.
type copyTable [copyPlaces]seenPacket

// markCopy sets the Copy flag of s if a packet with the same ends and content came within
// copyWindow. h is a hash of its content. Of three such packets the third is no copy:
// mirror ports double packets, senders repeat them more often.
func (c *copyTable) markCopy(s *track.Sighting, it *item, h uint64) {
	h = lru.Mix(h, uint64(s.SrcPort)<<48|uint64(s.DstPort)<<32|uint64(it.IPID)<<16|uint64(s.What))
	h = lru.Mix(h^uint64(s.Key)<<32, s.ClientHash^bits.RotateLeft64(s.ServerHash, 32))
	x := &c[h%copyPlaces]
	micros := uint32(s.Age / int64(time.Microsecond))
	if sum := uint32(h>>32) | 1; x.sum != sum || micros-x.age > uint32(copyWindow/time.Microsecond) {
		*x = seenPacket{micros, sum}
		return
	}
	s.Flags |= track.Copy
	*x = seenPacket{}
}

// seenPacket is a packet that may come again. It has eight bytes, because each packet looks at
// another one.
type seenPacket struct {
	age uint32 // microseconds, modulo 71 minutes
	sum uint32 // 0: none
}
