package flood

import (
	"qsniff/flood/measure"
	"qsniff/flood/sketch"
	"qsniff/track"
)

// amplifier is what a server answers to sources that proved nothing.
type amplifier struct {
	answers     uint32 // replies with data to a request without a challenge
	bytesIn     uint64
	bytesOut    uint64
	clients     sketch.Linear256
	hasIncident bool
}

// A server is an amplifier where openClients got what openGain times their
// requests.
const (
	openClients = 20
	openGain    = 2
)

// countAnswer counts a reply to a request of so many bytes that brought no challenge: the
// server would answer anybody in anybody's name.
func (p *amplifier) countAnswer(b *book, t *measure.Server, s *track.Sighting, requested uint16) {
	if p.hasIncident {
		return
	}
	p.answers++
	p.bytesIn += uint64(requested)
	p.bytesOut += uint64(s.Bytes)
	p.clients.Add(s.ClientHash)
	if p.answers < uint32(b.lim.AmplifierAnswers) || p.clients.Count() < openClients || p.bytesOut < openGain*p.bytesIn {
		return
	}
	in := b.openIncident(Target{End: t.End.AddrPort()}, OpenAmplifier, ofAmplifier, b.Nanos)
	if in == nil {
		p.answers = 0 // another time
		return
	}
	p.hasIncident = true
	in.Proto, in.Detected, in.End = t.Proto, b.Nanos, b.Nanos
	in.Requests, in.Replies, in.BytesIn, in.BytesOut = uint64(p.answers), uint64(p.answers), p.bytesIn, p.bytesOut
	in.setSources(float64(p.clients.Count()))
	in.Answered = 1
	in.Confidence = confidenceMost
	var e sentences
	e.add("open amplifier: %s measured on %d answers to sources that proved nothing", times(in.Amplification()), in.Replies)
	in.Evidence = e
	b.advisor.Advise(in)
	b.announce(in, Begins)
	b.closeIncident(in, ofAmplifier)
}
