package ase

import (
	"qsniff/dissect"
	"qsniff/reassembly"
	"qsniff/reassembly/eye"
	"qsniff/reassembly/wire"
)

// lost is why a reply is incomplete, by how its joining ended.
var lost = [...]string{
	eye.Complete: "",
	eye.Alone:    "",
	eye.Expired:  "EYE fragments did not come in time",
	eye.Evicted:  "EYE fragments evicted to stay within memory",
	eye.Ended:    "the capture ended before all EYE fragments came",
	eye.Replaced: "the id of the EYE fragments came again before all were there",
}

// joiner joins the fragments of replies and passes each reply on as a dissect.Joined.
type joiner struct {
	*eye.Assembler
	fragment eye.Datagram
	joined   dissect.Joined
}

// NewAssembler returns what joins the fragments of long replies.
func (*Dissector) NewAssembler(deliver func(*dissect.Joined)) dissect.Assembler {
	j := &joiner{Assembler: eye.New()}
	j.Deliver = func(set *eye.Set) {
		j.joined = dissect.Joined{Src: set.Src, Dst: set.Dst, Cut: "EYE fragments", Lost: lost[set.Outcome], Data: set.Data, Run: set.Run,
			Parts: set.Parts, Frames: set.Frames, First: set.First, Last: set.Last}
		deliver(&j.joined)
	}
	return j
}

// MayTake reports whether b begins like a reply.
func (*joiner) MayTake(b []byte) bool { return wire.EyeNumber(b) != 0 }

// Take takes a datagram that may be a fragment. The short replies that look like
// fragments are told by what the client asked.
func (j *joiner) Take(c *dissect.Context, d *dissect.Datagram) bool {
	const short = dissect.AskBrowse | dissect.AskPresence
	asked := c.FromServer.Asked | c.Waiting
	j.fragment = eye.Datagram{Src: c.Src, Dst: c.Dst, Data: d.Data, Wire: c.Wire, Frame: d.Frame, Pieces: d.Pieces,
		Nanos: d.Nanos, WantsShort: asked.Has(short) && !asked.Has(dissect.AskStatus)}
	return j.Add(&j.fragment)
}

// Counters are what was joined so far.
func (j *joiner) Counters() reassembly.JoinCounters { return j.Assembler.Counters }
