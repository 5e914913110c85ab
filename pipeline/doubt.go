package pipeline

import (
	"time"

	"qsniff/flood/sketch"
	"qsniff/internal/lru"
	"qsniff/track"
)

// doubt turns packets that are only weakly ours into those of nobody before a watcher
// gets them: one byte in forty of a game's packets looks like a query of one byte. They
// count where the server has shown that it speaks their protocol, by a reply that is
// more than weak.
type doubt struct {
	speakers *sketch.Recent // servers, each with a protocol that it spoke
	turned   int64          // age at the last turn
}

const (
	// speakersBytes is the size of each of two filters: 2,000 servers fill one bit in
	// 128.
	speakersBytes = 32 << 10
	// speakersTurn is how long a server's word holds at least, twice that at most.
	speakersTurn = 10 * time.Minute
)

func newDoubt() doubt { return doubt{speakers: sketch.NewRecent(speakersBytes)} }

// resolve makes a packet of nobody of a weak request to a server that is not known to
// speak its protocol, and learns from replies who speaks what. A weak reply stays: it
// has the form of a version, which a game's packets hardly take by chance.
func (d *doubt) resolve(s *track.Sighting) {
	isWeak := s.Flags&track.Weak != 0
	isLesson := s.What == track.IsReply && !isWeak
	if s.Proto == nil || !isLesson && (!isWeak || s.What != track.IsRequest) {
		return
	}
	if s.Age-d.turned >= int64(speakersTurn) {
		d.speakers.Rotate()
		d.turned = s.Age
	}
	speaker := lru.MixBytes(s.ServerHash, []byte(s.Proto.Name))
	switch {
	case isLesson:
		d.speakers.Add(speaker)
	case !d.speakers.Has(speaker): // IsOther has the same ends as IsRequest, and the same hashes
		s.What, s.Proto, s.Type, s.Asks, s.Key = track.IsOther, nil, nil, 0, 0
		s.Flags &^= track.Weak | track.HasKey
	}
}
