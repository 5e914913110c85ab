package pipeline

import (
	"qsniff/dissect"
	"qsniff/internal/track"
)

// profileMaker chooses the replies of a partition that are read for what servers report of
// themselves.
type profileMaker struct {
	last [profiled]struct {
		server uint64
		age    int64
	}
}

// isWanted reports whether a reply can say what its server is, and the last such one is long
// enough ago.
func (p *profileMaker) isWanted(s *track.Sighting) bool {
	if !s.Asks.Has(dissect.Describing) {
		return false
	}
	x := &p.last[s.ServerHash%profiled]
	if x.server == s.ServerHash && s.Age-x.age < profileEvery {
		return false
	}
	x.server, x.age = s.ServerHash, s.Age
	return true
}

// addProfile reads the reply in it, the last sighting, and adds what the server reports of itself.
func (w *sightMaker) addProfile(s *track.Sighting, it *item) {
	m, d := w.msg, w.first.verdict.Dissector
	w.setContext(it)
	m.Reset(d.Proto(), it.Payload)
	d.Dissect(&w.ctx, s.Type, it.Payload, m)
	p, ok := profileOf(m)
	if !ok {
		return
	}
	seg := w.now.seg
	seg.profiles = append(seg.profiles, p)
	seg.sights[len(seg.sights)-1].post = int32(len(seg.profiles))
}
