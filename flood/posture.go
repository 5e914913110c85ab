package flood

import (
	"qsniff/flood/sketch"
	"qsniff/track"
)

// posture is what a server tells to sources that proved nothing.
type posture struct {
	answers  uint32 // replies with data to a request without a challenge
	bytesIn  uint64
	bytesOut uint64
	clients  sketch.Linear
	told     bool
}

// A server is an amplifier where openClients got what openGain times their
// requests.
const (
	openClients = 20
	openGain    = 2
)

// posture takes a reply that was asked for: where the request had no challenge, the
// server would answer anybody in anybody's name.
func (d *Detector) posture(t *target, s *track.Sighting, client uint64) {
	if !d.claims.follows(client) {
		return
	}
	x := d.claims.find(claimKey(t.hash, client))
	if x == nil || !x.open || x.pending == 0 || d.now-x.last > pendingFor {
		return
	}
	x.pending--
	x.open = false
	p := &t.posture
	if p.told {
		return
	}
	p.answers++
	p.bytesIn += uint64(x.plain)
	p.bytesOut += uint64(s.Bytes)
	p.clients.Add(client)
	if p.answers < uint32(d.lim.AmplifierProof) || p.clients.Count() < openClients || p.bytesOut < openGain*p.bytesIn {
		return
	}
	in := d.book.register(Target{End: t.end.AddrPort()}, OpenAmplifier, ofPosture, d.nanos)
	if in == nil {
		p.answers = 0 // another time
		return
	}
	p.told = true
	in.Protocol, in.Detected, in.End, in.Pulses = t.proto, d.nanos, d.nanos, 1
	in.Requests, in.Replies, in.BytesIn, in.BytesOut = uint64(p.answers), uint64(p.answers), p.bytesIn, p.bytesOut
	in.Sources, in.Answered = float64(p.clients.Count()), 1
	in.Confidence = sureMost
	d.postureEvidence(in)
	d.advisor.Advise(in)
	d.Found(in, Begins)
	d.book.finish(in, ofPosture)
}
