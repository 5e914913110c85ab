package pipeline

import (
	"bytes"

	"qsniff/track"
)

// lastPayload is the last payload that was sure to be a message, and what it is: most
// packets of a flood are the same one.
type lastPayload struct {
	n, wire int
	isIPv4  bool // IPv4, whose lists of servers are others
	b       [lastPayloadBytes]byte
	sum     uint64
	known   track.Sighting
	first   look
}

// lastPayloadBytes is as long as the payload of requests with a challenge, and some more.
const lastPayloadBytes = 64

func (a *lastPayload) matches(b []byte, it *item) bool {
	return len(b) == a.n && it.Wire == a.wire && a.n > 0 && it.Src.Addr().Unmap().Is4() == a.isIPv4 && bytes.Equal(b, a.b[:a.n])
}

func (a *lastPayload) store(s *track.Sighting, first *look, it *item, sum uint64) {
	b := it.Payload
	if len(b) > len(a.b) {
		return
	}
	a.n, a.wire, a.isIPv4, a.sum = copy(a.b[:], b), it.Wire, it.Src.Addr().Unmap().Is4(), sum
	a.first = *first
	a.known = track.Sighting{What: s.What, Flags: s.Flags, Asks: s.Asks, Proto: s.Proto, Type: s.Type, Key: s.Key}
}

// fillIn fills in what is known.
func (a *lastPayload) fillIn(s *track.Sighting) {
	k := &a.known
	s.What, s.Flags, s.Asks, s.Proto, s.Type, s.Key = k.What, k.Flags, k.Asks, k.Proto, k.Type, k.Key
}
