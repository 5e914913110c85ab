package pipeline

import (
	"bytes"

	"qsniff/track"
)

// alike is the last payload that was sure to be a message, and what it is: most
// packets of a flood are the same one.
type alike struct {
	n, wire int
	isIPv4  bool // IPv4, whose lists of servers are others
	b       [alikeBytes]byte
	sum     uint64
	known   track.Sighting
	first   look
}

// alikeBytes is as long as the payload of requests with a challenge, and some more.
const alikeBytes = 64

func (a *alike) is(b []byte, it *item) bool {
	return len(b) == a.n && it.Wire == a.wire && a.n > 0 && it.Src.Addr().Unmap().Is4() == a.isIPv4 && bytes.Equal(b, a.b[:a.n])
}

func (a *alike) keep(s *track.Sighting, first *look, it *item, sum uint64) {
	b := it.Payload
	if len(b) > len(a.b) {
		return
	}
	a.n, a.wire, a.isIPv4, a.sum = copy(a.b[:], b), it.Wire, it.Src.Addr().Unmap().Is4(), sum
	a.first = *first
	a.known = track.Sighting{What: s.What, Flags: s.Flags &^ track.Joined, Asks: s.Asks, Proto: s.Proto, Type: s.Type, Key: s.Key}
}

// tell fills in what is known.
func (a *alike) tell(s *track.Sighting) {
	k := &a.known
	s.What, s.Asks, s.Proto, s.Type, s.Key = k.What, k.Asks, k.Proto, k.Type, k.Key
	s.Flags |= k.Flags
}
