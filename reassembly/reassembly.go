// Package reassembly holds what the three joiners below it share: how they say
// which frame brought which bytes. They join what networks and engines cut up:
// ipfrag the fragments of IP, split the parts of Source and GoldSource replies,
// tcpstream the segments of TCP.
package reassembly

// Piece says that one frame brought the bytes [Off, Off+Len) of a joined whole.
type Piece struct {
	Frame    uint64
	Off, Len uint32
}
