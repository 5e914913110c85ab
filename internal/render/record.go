package render

import (
	"net/netip"

	"qsniff/dissect/finding"
)

// Record is a finding that belongs to no message: it is about the capture, or was decided
// long after the messages that it concerns were written. All of it is valid during the
// call only.
type Record struct {
	Nanos  int64 // Unix time
	Start  int64 // Unix nanoseconds of the first packet of the run
	Hole   Hole  // set by the renderer
	Expert *finding.Expert
	Frames []uint64
	// Server and Client are not valid where the finding is about neither.
	Server, Client netip.AddrPort
	// Detail is appended to the code's sentence: names and reasons, which an Expert
	// cannot carry. It may come from the network, so escape it.
	Detail []byte
}

// Way is one layer around the packet of a message: a VLAN tag, an MPLS label, a tunnel.
type Way struct {
	Kind     string // "VXLAN"; a constant
	ID       uint32 // of the tag or tunnel, 0 if there is none
	Src, Dst netip.AddrPort
}
