package measure

import "time"

// Second counts what happened at a server in one second. Counts of sources are estimates
// from the sample that Claims follows.
type Second struct {
	Sec   int32
	Nanos int64  // Unix time of its begin
	Frame uint64 // of its first packet

	Queries       uint32 // requests that are no echo of a challenge, no junk and no guess
	Packets       uint32 // requests of all kinds
	BytesIn       uint64
	Replies       uint32
	BytesOut      uint64
	Junk          uint32 // datagrams that no protocol recognizes
	JunkBytes     uint64
	Strange       uint32     // datagrams that are no query and belong to no session
	WithChallenge uint32     // requests with any challenge
	Checked       uint32     // those of them whose source is in the sample
	Guesses       uint32     // of Checked: the challenge was never issued to its source
	Orphans       uint32     // of Checked: the first challenge of its source, which the capture did not show, nor its refusal
	Unreachable   uint32     // ICMP errors about replies
	Proven        uint32     // queries of sources that had proved their address
	Unproven      uint32     // queries of those that had not, estimated from the sample
	ProvenLater   uint32     // those of them whose source proved its address within PendingFor seconds
	Challenged    uint32     // sources that were challenged
	Echoed        uint32     // those of them that brought the challenge back
	bins          [100]uint8 // queries in each 10 ms, up to 255
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
	s.WithChallenge += b.WithChallenge
	s.Checked += b.Checked
	s.Guesses += b.extrapolate(b.Guesses)
	s.Orphans += b.extrapolate(b.Orphans)
	s.Unreachable += b.Unreachable
	s.Proven += b.Proven
	s.Unproven += b.Unproven
	s.ProvenLater += b.ProvenLater
	s.Challenged += b.Challenged
	s.Echoed += b.Echoed
}

// extrapolate returns for how many requests with a challenge n of Checked stand. A share is
// right even where one source of few sends most; all of them are never more than there were.
func (s *Second) extrapolate(n uint32) uint32 {
	if s.Checked == 0 || s.Checked >= s.WithChallenge {
		return n
	}
	return uint32(uint64(n) * uint64(s.WithChallenge) / uint64(s.Checked))
}

// isMostlyGuesses reports whether the requests of the second that brought a challenge are
// guesses mostly, or orphans, and not few.
func (s *Second) isMostlyGuesses() bool {
	n := s.Guesses + s.Orphans
	return n >= minOrphans && 2*n > s.Checked
}

// LastQuery returns the time, to 10 ms, by which all but the last usual queries had come of the
// second that ends at end; end, if no more than usual came.
func (s *Second) LastQuery(end int64, usual int) int64 {
	const bin = int64(10 * time.Millisecond)
	for t := end; t > end-int64(time.Second); t -= bin {
		if usual -= int(s.bins[uint64(t-1)/uint64(bin)%100]); usual < 0 {
			return t
		}
	}
	return end
}

// dispersion returns the variance of the queries in 10 ms divided by their mean: about 1
// where senders are independent of each other. ok is false where no query came or a bin
// is full.
func (s *Second) dispersion() (d float64, ok bool) {
	sum, squares := 0.0, 0.0
	for _, n := range s.bins {
		if n == 255 { // full
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
