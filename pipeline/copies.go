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

// copyTable holds the packets of the last milliseconds, to recognise one that comes twice.
type copyTable [copyPlaces]seenPacket

// markCopy notes whether a packet with the same content went the same way just now. Of
// three in a row the third is none: mirrors double, senders repeat.
func (c *copyTable) markCopy(s *track.Sighting, it *item, h uint64) {
	h = lru.Mix(h, uint64(s.SrcPort)<<48|uint64(s.DstPort)<<32|uint64(it.IPID)<<16|uint64(s.What))
	h = lru.Mix(h^uint64(s.Key)<<32, s.ClientHash^bits.RotateLeft64(s.ServerHash, 32))
	x := &c[h%copyPlaces]
	if x.sum == uint32(h>>32) && s.Age-x.age <= int64(copyWindow) {
		s.Flags |= track.Copy
		*x = seenPacket{}
		return
	}
	*x = seenPacket{sum: uint32(h >> 32), age: s.Age}
}

// seenPacket is a packet that may come again.
type seenPacket struct {
	age int64
	sum uint32
}
