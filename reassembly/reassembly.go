// Package reassembly holds what the four packages below it share: the record of which
// frame brought which bytes, and counters. They join what networks and game servers cut
// up: ipfrag the fragments of IP, split the parts of Source and GoldSource replies, eye
// the fragments of All-Seeing Eye replies, tcpstream the segments of TCP.
package reassembly

// Piece records that one frame brought the bytes [Off, Off+Len) of a joined whole.
type Piece struct {
	Frame    uint64
	Off, Len uint32
	// At is where they begin in what the frame carries: the payload of its datagram, or,
	// of each fragment of IP, the first one too, what follows its IP header. It is unset for TCP.
	At uint32
}

// JoinCounters are the running totals of an assembler for one protocol that cuts long
// replies in a way of its own, such as All-Seeing Eye.
type JoinCounters struct {
	Fragments  uint64 // datagrams taken as fragments
	Sets       uint64 // sets delivered
	Complete   uint64 // sets delivered whole
	Incomplete uint64 // sets delivered with fragments missing
	Evicted    uint64 // waiting sets that had to make room; delivered unless they repeat
	Duplicates uint64 // fragments that a set had already
	Repeats    uint64 // incomplete sets dropped because they only repeat a delivered one
}

// Add adds the counters of another assembler.
func (c *JoinCounters) Add(n *JoinCounters) {
	c.Fragments += n.Fragments
	c.Sets += n.Sets
	c.Complete += n.Complete
	c.Incomplete += n.Incomplete
	c.Evicted += n.Evicted
	c.Duplicates += n.Duplicates
	c.Repeats += n.Repeats
}
