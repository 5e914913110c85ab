package contradict

import (
	"qsniff/dissect/finding"
	"qsniff/internal/base/lru"
	"qsniff/internal/track"
)

// sameKey is what several servers say: an id, or the hash of a list.
type sameKey uint64

// Hash mixes the key.
func (k sameKey) Hash(seed uint64) uint64 { return lru.Mix(seed, uint64(k)) }

// places are the addresses whose servers said the same.
type places struct {
	at         [samePlaces]place // the latest first
	n          uint8
	isReported bool
}

// place is where it was said last.
type place struct {
	end   track.End
	age   int64
	frame uint64
}

// add adds the server of f and reports whether as many addresses as places has room for said the
// same within the time span, which was not reported yet. Several ports of one address count once.
func (p *places) add(f *track.Fact, span int64) bool {
	now := place{track.EndOf(f.Server), f.Age, f.Frame}
	i := 0
	for i < int(p.n) && p.at[i].end.Host != now.end.Host {
		i++
	}
	p.n = max(p.n, uint8(min(i+1, samePlaces)))
	copy(p.at[1:min(i+1, samePlaces)], p.at[:])
	p.at[0] = now
	if p.isReported || p.n < samePlaces || f.Age-p.at[samePlaces-1].age > span {
		return false
	}
	p.isReported = true
	return true
}

// report raises that the servers at p say the same as that of f.
func (x *Finder) report(f *track.Fact, p *places, code *finding.Code, a uint64) {
	x.Report(f, p.at[samePlaces-1].frame, finding.Expert{Code: code, A: a, B: samePlaces, Addr: p.at[1].end.AddrPort()}, false)
}

// checkID raises that servers at several addresses have one id.
func (x *Finder) checkID(f *track.Fact) {
	if f.Said.ID == 0 {
		return
	}
	p, evicted := x.ids.Put(sameKey(f.Said.ID))
	if evicted != nil {
		x.evicted++
	}
	if p.add(f, int64(idFor)) {
		x.report(f, p, &OneID, 0)
	}
}

// checkList raises that servers at several addresses list the same players at the same time, who
// are no bots as far as these say.
func (x *Finder) checkList(f *track.Fact, s *server) {
	l := &f.Said.List
	if humans, ok := s.humans(f.Age); !ok || humans < listedPlayers || l.Named < listedPlayers {
		return
	}
	p, evicted := x.lists.Put(sameKey(l.Names))
	if evicted != nil {
		x.evicted++
	}
	if p.add(f, int64(listFor)) {
		x.report(f, p, &OneList, uint64(l.Named))
	}
}
