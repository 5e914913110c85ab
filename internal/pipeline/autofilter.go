package pipeline

import (
	"slices"
	"time"

	"qsniff/capture/live"
	"qsniff/capture/packet"
	"qsniff/dissect"
	"qsniff/internal/track"
)

// AutoFilter returns the filter for a capture that keeps what may belong to a message of
// the protocols: by the patterns that they declare, and at their ports where a pattern is
// not enough. Packets at the ports of as pass, too.
func AutoFilter(reg *dissect.Registry, as []DecodeAs) *live.AutoFilter {
	f := &live.AutoFilter{}
	var patterns []dissect.Pattern
	for _, m := range reg.Marks() {
		patterns = append(patterns, dissect.Begins(string(m)))
	}
	for i := range packet.ProxyForms {
		x := &packet.ProxyForms[i]
		patterns = append(patterns, dissect.Pattern{Value: []byte(x.Value), Mask: []byte(x.Mask), MinLen: x.MinLen})
	}
	for _, p := range reg.Protos() {
		missed := live.Missed{Protocol: p.Name}
		for _, t := range p.Types {
			for _, w := range t.Wire {
				switch {
				case w.AtPort == "":
					patterns = append(patterns, w)
				case !slices.Contains(missed.Forms, w.AtPort):
					missed.Forms = append(missed.Forms, w.AtPort)
				}
			}
		}
		if len(missed.Forms) > 0 {
			f.UDP, f.Missed = append(f.UDP, p.Ports...), append(f.Missed, missed)
		}
		if reg.StreamOf(p) != nil {
			f.TCP, f.Missed = append(f.TCP, p.Ports...), append(f.Missed, live.Missed{Protocol: p.Name, TCP: true})
		}
	}
	for _, w := range dissect.Needed(patterns) {
		f.Payloads = append(f.Payloads, live.PayloadPattern{Offset: w.Offset, Value: w.Value, Mask: w.Mask, MinLen: w.MinLen, MaxLen: w.MaxLen})
	}
	for _, rule := range as {
		if rule.TCP {
			f.TCP = append(f.TCP, rule.Port)
		} else {
			f.UDP = append(f.UDP, rule.Port)
		}
	}
	return f
}

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

const (
	// limit: profileEvery is how often a reply of a server is read for what it reports of itself. Chosen:
	// people who look at a list of servers see no difference, and a server that is flooded costs as much
	// as any other.
	profileEvery = int64(time.Second)
	// limit: profiled is how many servers of a partition are known to have been read in that time. Chosen:
	// those of a large host. Others of the same place in the table are read too often.
	profiled = 256
)
