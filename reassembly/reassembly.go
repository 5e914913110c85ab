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

// JoinCounters count since the start what joins replies that a protocol cuts in a way
// of its own, or would cut if they were longer.
type JoinCounters struct {
	Fragments  uint64 // datagrams taken
	Sets       uint64 // replies delivered
	Complete   uint64 // of them: whole
	Incomplete uint64 // of them: given up
	Evicted    uint64 // of those: to make room
	Duplicates uint64 // fragments that a set had already
	Repeats    uint64 // sets dropped because they only repeat a delivered one
}

// Add adds what another assembler counted.
func (c *JoinCounters) Add(n *JoinCounters) {
	c.Fragments += n.Fragments
	c.Sets += n.Sets
	c.Complete += n.Complete
	c.Incomplete += n.Incomplete
	c.Evicted += n.Evicted
	c.Duplicates += n.Duplicates
	c.Repeats += n.Repeats
}
