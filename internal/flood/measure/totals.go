package measure

// Totals adds up the seconds of an incident.
type Totals struct {
	Queries, Packets, WithChallenge uint64
	BytesIn, BytesOut, Replies      uint64
	Junk, Strange                   uint64
	Unreachable                     uint64
	// Challenged counts the sources that were challenged in each of these seconds, Echoed those
	// of them that brought the challenge back, then or later: a source that asks for longer
	// counts more than once.
	Challenged, Echoed uint64
}

// Add adds the counts of a second, without those of AddProofs; nil is a second without
// packets.
func (x *Totals) Add(s *Second) {
	if s == nil {
		return
	}
	x.Queries += uint64(s.Queries)
	x.Packets += uint64(s.Packets)
	x.WithChallenge += uint64(s.WithChallenge)
	x.BytesIn += s.BytesIn + s.JunkBytes
	x.BytesOut += s.BytesOut
	x.Replies += uint64(s.Replies)
	x.Junk += uint64(s.Junk)
	x.Strange += uint64(s.Strange)
	x.Unreachable += uint64(s.Unreachable)
}

// AddProofs adds the challenged sources of a second. It is called when their echoes have had
// EchoDelay seconds to arrive.
func (x *Totals) AddProofs(s *Second) {
	if s != nil {
		x.Challenged += uint64(s.Challenged)
		x.Echoed += uint64(s.Echoed)
	}
}

// EchoDelay is how many seconds after a challenge its echo is counted at the latest in
// totals. Chosen: a round trip across the world and a retry.
const EchoDelay = 3
