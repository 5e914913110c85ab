package flood

import (
	"qsniff/flood/measure"
	"qsniff/flood/sketch"
	"qsniff/track"
)

// amplifier counts what a server answers to sources that proved nothing, and reports once
// that the server can be used against others.
type amplifier struct {
	answers     uint32 // replies with data to a request without a challenge
	bytesIn     uint64
	bytesOut    uint64
	clients     sketch.Linear256
	firstNanos  int64 // time of the first of these
	hasIncident bool
}

// A server is an open amplifier where openClients sources got openGain times the bytes of
// their requests. Chosen: more clients than one network's tests, and a gain at which an
// attack is worth its cost.
const (
	openClients = 20
	openGain    = 2
)

// countAnswer counts a reply to a request of requested bytes that brought no challenge: the
// server would have sent it to a forged address as well. It opens and closes the incident
// when there is enough of that.
func (p *amplifier) countAnswer(b *book, t *measure.Server, s *track.Sighting, requested uint16) {
	if p.hasIncident {
		return
	}
	if p.answers == 0 {
		p.firstNanos = b.Nanos
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
		p.answers = 0 // try again after as many answers
		return
	}
	p.hasIncident = true
	in.Proto, in.Detected, in.End = t.Proto, b.Nanos, b.Nanos
	in.Requests, in.Replies, in.BytesIn, in.BytesOut = uint64(p.answers), uint64(p.answers), p.bytesIn, p.bytesOut
	in.setSources(float64(p.clients.Count()))
	in.Answered = 1
	in.Confidence = confidenceMost
	var e sentences
	e.within(span{p.firstNanos, b.Nanos}).add("open amplifier: it sent %s the bytes that it got, in %d answers to sources that proved nothing", times(in.Amplification()), in.Replies)
	in.Evidence = e
	b.advisor.Advise(in)
	b.announce(in, Begins)
	b.closeIncident(in, ofAmplifier)
}
