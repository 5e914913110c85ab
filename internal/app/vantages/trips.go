package vantages

import (
	"qsniff/internal/base/lru"
	"qsniff/internal/track"
)

// Types of ICMP and of ICMPv6 messages (RFC 792, RFC 4443).
const (
	echo, echoReply   = 8, 0
	echo6, echo6Reply = 128, 129
)

// tripKey is a handshake or an echo that waits for its second packet: who sent the first one to whom,
// and of an echo its identifier and sequence number; its ports are 0.
type tripKey struct {
	from, to track.End
	number   uint32
}

// Hash mixes the key with the seed.
func (k tripKey) Hash(seed uint64) uint64 {
	return lru.Mix(k.to.Hash(k.from.Hash(seed)), uint64(k.number))
}

// trip is its first packet.
type trip struct {
	nanos      int64
	number     uint32 // of a SYN: its first sequence number
	isSent     bool   // false: the entry is new
	isRepeated bool   // nobody knows which copy was answered
	isAnswered bool
}

// Sight times handshakes and echoes; other packets show nothing of the path.
func (c *Collector) Sight(s *track.Sighting) {
	switch s.What {
	case track.IsOpened:
		c.beginTrip(tripKey{from: s.From(), to: s.To()}, s)
	case track.IsAgreed:
		c.endTrip(tripKey{from: s.To(), to: s.From()}, Handshakes, s)
	case track.IsControl:
		request, reply := uint8(echo), uint8(echoReply)
		if !s.Src.Is4() {
			request, reply = echo6, echo6Reply
		}
		switch s.Detail {
		case request:
			c.beginTrip(tripKey{s.From(), s.To(), s.Key}, s)
		case reply:
			c.endTrip(tripKey{s.To(), s.From(), s.Key}, Echoes, s)
		}
	}
}

func (c *Collector) beginTrip(k tripKey, s *track.Sighting) {
	t, evicted := c.trips.Put(k)
	if evicted != nil && !evicted.Val.isAnswered {
		c.evicted.Trips++
	}
	*t = trip{nanos: s.Nanos, number: s.Key, isSent: true, isRepeated: t.isSent && !t.isAnswered && t.number == s.Key}
}

func (c *Collector) endTrip(k tripKey, o Origin, s *track.Sighting) {
	t := c.trips.Peek(k)
	if t == nil || t.isAnswered {
		return
	}
	t.isAnswered = true
	if took := s.Nanos - t.nanos; !t.isRepeated && took > 0 && took <= int64(longestTrip) {
		c.paths.find(seriesKey{k.to, uint32(o)}).add(took, s.Frame, s.TTL)
	}
}

// Tick, Lost and End are of no use here: a trip without a second packet has no time.
func (c *Collector) Tick(_, _ int64) {}

// Lost does nothing.
func (c *Collector) Lost(uint64) {}

// End does nothing.
func (c *Collector) End(_, _ int64) {}
