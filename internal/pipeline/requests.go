package pipeline

import (
	"qsniff/internal/base/lru"
	"qsniff/internal/track"
)

// requests remembers the exchanges of which a request was chosen, so that silences are
// reported of these only. A nil one has all.
type requests struct {
	exchanges *lru.Table[exchangeID, struct{}]
}

func newRequests() *requests {
	return &requests{lru.New[exchangeID, struct{}](maxFollowed)}
}

// allows remembers the exchange of a request. Of a silence it reports whether a request of
// its exchange was chosen.
func (r *requests) allows(f *track.Fact) bool {
	if r == nil || f.ID == 0 {
		return true
	}
	switch f.Step {
	case track.Ask, track.Again, track.Echo:
		r.exchanges.Put(exchangeID(f.ID))
	case track.Silence:
		return r.exchanges.Peek(exchangeID(f.ID)) != nil
	}
	return true
}
