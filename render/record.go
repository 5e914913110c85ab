package render

import (
	"net/netip"

	"qsniff/finding"
)

// Record is a finding that belongs to no message: about the capture, or decided
// when the messages it concerns were long written. All of it is valid during the
// call only.
type Record struct {
	Nanos  int64
	Start  int64 // of the first packet
	Hole   Hole  // set by the renderer
	Expert *finding.Expert
	Frames []uint64
	// Server and Client are not valid where the finding is about neither.
	Server, Client netip.AddrPort
	// Detail goes on where the code's sentence ends: names and reasons that are
	// no numbers. It may come from the network.
	Detail []byte
}

// Way is one way into a message: a tag, a label, a tunnel.
type Way struct {
	Kind     string // "VXLAN"; a constant
	ID       uint32 // of the tag or tunnel, 0 if there is none
	Src, Dst netip.AddrPort
}
