package pipeline

import (
	"bytes"

	"qsniff/track"
)

// lastPayload is the last payload that was sure to be a message, and what was found out
// about it. Most packets of a flood are the same, so the next one need not be identified
// again.
type lastPayload struct {
	n, wire int
	isIPv4  bool // it came over IPv4: lists of servers have another form over IPv6
	b       [lastPayloadBytes]byte
	sum     uint64 // its printOf
	known   track.Sighting
	first   look
}

// lastPayloadBytes is the longest payload that is kept. Chosen: requests with a challenge
// are shorter.
const lastPayloadBytes = 64

// matches reports whether b, the payload of it, is the one that is kept.
func (a *lastPayload) matches(b []byte, it *item) bool {
	return len(b) == a.n && it.Wire == a.wire && a.n > 0 && it.Src.Addr().Unmap().Is4() == a.isIPv4 && bytes.Equal(b, a.b[:a.n])
}

// store keeps the payload of it, of which s and first were found out, if it is short
// enough.
func (a *lastPayload) store(s *track.Sighting, first *look, it *item, sum uint64) {
	b := it.Payload
	if len(b) > len(a.b) {
		return
	}
	a.n, a.wire, a.isIPv4, a.sum = copy(a.b[:], b), it.Wire, it.Src.Addr().Unmap().Is4(), sum
	a.first = *first
	a.known = track.Sighting{What: s.What, Flags: s.Flags &^ track.Joined, Asks: s.Asks, Proto: s.Proto, Type: s.Type, Key: s.Key}
}

// fillIn fills in what is known of the payload that is kept.
func (a *lastPayload) fillIn(s *track.Sighting) {
	k := &a.known
	s.What, s.Asks, s.Proto, s.Type, s.Key = k.What, k.Asks, k.Proto, k.Type, k.Key
	s.Flags |= k.Flags
}
