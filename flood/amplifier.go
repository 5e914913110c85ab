package flood

import (
	"qsniff/dissect"
	"qsniff/flood/measure"
	"qsniff/flood/sketch"
	"qsniff/track"
)

// amplifier counts what a server answers to requests without a challenge, by what they ask
// for, and reports once that the server can be used against others.
type amplifier struct {
	kinds       [measure.MaxKind + 1]plainAnswers
	hasIncident bool
}

// plainAnswers is what became of requests of one kind without a challenge.
type plainAnswers struct {
	firstNanos int64  // time of the first reply with data
	data       uint32 // replies with data: a forged address would have got them as well
	challenges uint32 // challenges in their place
	bytesIn    uint64 // of the requests that got data
	bytesOut   uint64 // of the data
	clients    sketch.Linear256
}

// A server is an open amplifier where openClients sources got openGain times the bytes of
// their requests, and openShare of such requests got data. Chosen: more clients than one
// network's tests, a gain at which an attack is worth its cost, and a share that a server
// which challenges does not reach by mistaken pairs of request and answer.
const (
	openClients = 20
	openGain    = 2
	openShare   = 0.5
)

// isOpen reports whether so many answers without a challenge make an open amplifier.
func (p *plainAnswers) isOpen(lim *Thresholds) bool {
	return p.data >= uint32(lim.AmplifierAnswers) && float64(p.data) >= openShare*float64(p.data+p.challenges) &&
		p.bytesOut >= openGain*p.bytesIn && p.clients.Count() >= openClients
}

// A kind is gated where the server gave at least gatedLeast challenges in place of data, and
// data to at most gatedData of those that brought none. Chosen: enough to be no accident, and
// some mistaken pairs of request and answer.
const (
	gatedLeast = 8
	gatedData  = 0.05
)

// gated returns what the server gives only to those who bring a challenge back.
func (p *amplifier) gated() (asks dissect.Asked) {
	for k := 1; k < measure.MaxKind; k++ {
		if x := &p.kinds[k]; x.challenges >= gatedLeast && float64(x.data) <= gatedData*float64(x.data+x.challenges) {
			asks |= 1 << (k - 1)
		}
	}
	return asks
}

// countAnswer counts what the server sends, a challenge or data, to a request that brought no
// challenge. It opens and closes the incident when there is enough data.
func (p *amplifier) countAnswer(b *book, t *measure.Server, s *track.Sighting, a measure.Answer) {
	if p.hasIncident {
		return
	}
	x := &p.kinds[a.Kind]
	if s.What == track.IsChallenge {
		x.challenges++
		return
	}
	if x.data == 0 {
		x.firstNanos = b.Nanos
	}
	x.data++
	x.bytesIn += uint64(a.Bytes)
	x.bytesOut += uint64(s.Bytes)
	x.clients.Add(s.ClientHash)
	if !x.isOpen(&b.lim) {
		return
	}
	in := b.openIncident(Target{End: t.End.AddrPort()}, OpenAmplifier, ofAmplifier, b.Nanos)
	if in == nil {
		*x = plainAnswers{} // try again after as many answers
		return
	}
	p.hasIncident = true
	in.Proto, in.Detected, in.End = s.Proto, b.Nanos, b.Nanos // the protocol that answers, whatever most packets have
	if in.Proto == nil {
		in.Proto = t.Proto
	}
	in.Requests, in.Replies, in.BytesIn, in.BytesOut = uint64(x.data), uint64(x.data), x.bytesIn, x.bytesOut
	in.setSources(float64(x.clients.Count()))
	in.Answered = 1
	in.Confidence = confidenceMost
	var e sentences
	e.within(span{x.firstNanos, b.Nanos}).add("open amplifier: it sent %s the bytes that it got, in %d answers to sources that proved nothing", times(in.Amplification()), in.Replies)
	in.Evidence = e
	b.advisor.Advise(in)
	b.announce(in, Begins)
	b.closeIncident(in, ofAmplifier)
}
