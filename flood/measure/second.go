package measure

// Second is what happened at a server in one second. Counts of sources are estimates
// from the sample that Claims follows.
type Second struct {
	Sec   int32
	Nanos int64  // Unix time of its begin
	Frame uint64 // of its first packet

	Queries    uint32 // requests that are no echo of a challenge, no junk and no guess
	Packets    uint32 // requests of all kinds
	BytesIn    uint64
	Replies    uint32
	BytesOut   uint64
	Junk       uint32 // nothing known
	JunkBytes  uint64
	Strange    uint32 // no query, and not of a session
	Bad        uint32 // with a challenge that was never issued
	Keyed      uint32 // with any challenge
	Unreach    uint32 // ICMP errors about replies
	Proven     uint32 // queries of sources that proved their address
	Unproven   uint32 // in the sample, scaled: queries of those that did not
	Credited   uint32 // those of them whose sources did within seconds
	Challenged uint32 // sources that were challenged
	Echoed     uint32 // those of them that brought it back
	Orphans    uint32 // that came first with a challenge that nobody gave them
	fine       [100]uint8
}

// add adds the counts of another second.
func (s *Second) add(b *Second) {
	s.Queries += b.Queries
	s.Packets += b.Packets
	s.BytesIn += b.BytesIn
	s.Replies += b.Replies
	s.BytesOut += b.BytesOut
	s.Junk += b.Junk
	s.JunkBytes += b.JunkBytes
	s.Strange += b.Strange
	s.Bad += b.Bad
	s.Keyed += b.Keyed
	s.Unreach += b.Unreach
	s.Proven += b.Proven
	s.Unproven += b.Unproven
	s.Credited += b.Credited
	s.Challenged += b.Challenged
	s.Echoed += b.Echoed
	s.Orphans += b.Orphans
}

// pacing returns the variance for the mean of the packets in 10 ms: about 1 where senders
// do not know of each other; false where nothing came or a count ran over.
func (s *Second) pacing() (float64, bool) {
	sum, squares := 0.0, 0.0
	for _, n := range s.fine {
		if n == 255 { // it counts no further
			return 0, false
		}
		sum += float64(n)
		squares += float64(n) * float64(n)
	}
	mean := sum / 100
	if mean == 0 {
		return 0, false
	}
	return (squares/100 - mean*mean) / mean, true
}
