package pipeline

import (
	"time"

	"qsniff/internal/base/lru"
	"qsniff/internal/flood/sketch"
	"qsniff/internal/track"
)

// doubt turns packets that are only weakly ours into those of nobody before a watcher
// gets them: one byte in forty of a game's packets looks like a query of one byte. They
// count where the server has shown that it speaks their protocol, by a reply that is
// more than weak, and where neither it nor their sender gets anything else: a game server, whose
// packets go to thousands of players, asks none of them.
type doubt struct {
	speakers *sketch.Recent // servers, each with a protocol that it spoke
	busy     *sketch.Recent // ends that got what is not weak: a game's packets, queries of another protocol
	turned   int64          // age at the last turn
}

const (
	// doubtBytes is the size of each of the four filters: 2,000 servers set one bit in
	// 64.
	doubtBytes = 32 << 10
	// doubtTurn is how long they remember at least, twice that at most.
	doubtTurn = 10 * time.Minute
)

func newDoubt() doubt {
	return doubt{speakers: sketch.NewRecent(doubtBytes), busy: sketch.NewRecent(doubtBytes)}
}

// resolve makes a packet of nobody of a weak request that does not count, and learns from
// the others who speaks and gets what. A weak reply stays: it has the form of a version,
// which a game's packets hardly take by chance.
func (d *doubt) resolve(s *track.Sighting) {
	if s.Age-d.turned >= int64(doubtTurn) {
		d.speakers.Rotate()
		d.busy.Rotate()
		d.turned = s.Age
	}
	isWeak := s.Flags&track.Weak != 0
	switch s.What {
	case track.IsReply:
		if !isWeak && s.Proto != nil {
			d.speakers.Add(speakerOf(s))
		}
	case track.IsOther, track.IsJunk:
		d.busy.Add(s.ServerHash)
	case track.IsRequest:
		switch {
		case !isWeak:
			d.busy.Add(s.ServerHash)
		case (d.busy.Has(s.ServerHash) || d.busy.Has(s.FromHash())) && !d.speakers.Has(speakerOf(s)): // IsOther has the same ends as IsRequest, and the same hashes
			s.What, s.Proto, s.Type, s.Asks, s.Key = track.IsOther, nil, nil, 0, 0
			s.Flags &^= track.Weak | track.HasKey
		}
	}
}

// speakerOf returns a hash of the server of s with its protocol.
func speakerOf(s *track.Sighting) uint64 {
	return lru.MixBytes(s.ServerHash, []byte(s.Proto.Name))
}
