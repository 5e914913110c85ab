// Package report holds the results of a run as plain structs. It computes
// nothing and prints nothing.
package report

// Run is what one run over packets came to.
type Run struct {
	Packets uint64
	Bytes   uint64 // captured
	First   int64  // Unix nanoseconds of the first and the last packet, 0 if none
	Last    int64
	// Interrupted reports that somebody ended the run. Of Size bytes of input (0: unknown)
	// Read were read, as they are in the files: compressed ones before expansion.
	Interrupted bool
	Read, Size  int64
	Messages    uint64
	Types       []TypeCount // by count, largest first
	Skipped     []Reason    // packets that held no message, by reason, largest first
	Joining     Joining
	// Dropped is how many packets the capturing program says it lost.
	Dropped uint64
	// Doubled is how many packets detection left out because the capture has nearly all
	// of them twice.
	Doubled uint64
	// Backwards counts packets whose time lies before an earlier packet's; they
	// were treated as if no time had passed.
	Backwards uint64
	// FlowsForgotten counts flows whose memory made room for newer ones.
	FlowsForgotten uint64
	// ExchangesForgotten counts exchanges that made room for newer ones before they
	// were answered or their wait was over.
	ExchangesForgotten uint64
	// HostsForgotten counts servers and clients that made room for others, and with
	// them what many messages would have shown.
	HostsForgotten uint64
}

// TypeCount counts the messages of one type.
type TypeCount struct {
	Protocol, Message string
	Count             uint64
}

// Reason counts what was left out, and says why.
type Reason struct {
	Why   string
	Count uint64
}

// Joining counts what reassembly and the bounded tables did.
type Joining struct {
	IPFragments        uint64
	IPJoined           uint64
	IPAbandoned        uint64 // sets given up
	IPRefused          uint64 // fragments refused: overlaps, impossible lengths
	SplitSets          uint64
	SplitComplete      uint64
	SplitMissing       uint64 // sets that stayed incomplete
	FragmentedComplete uint64 // replies in fragments of their protocol's own, or of the length of one, that came whole
	FragmentedMissing  uint64 // of which fragments did not come
	Compressed         uint64
	BadBzip2           uint64 // streams that did not give what their header promised
	Bombs              uint64 // refused: too large, or over the budget
	TCPConnections     uint64
	TCPGaps            uint64 // stretches of connections that are not in the capture
	TCPGivenUp         uint64 // connections of which no more was read, to stay within memory
	TCPEvicted         uint64 // connections that made room for others, among them those of which one end only spoke
	TCPExpired         uint64 // connections that were silent too long
	TCPDropped         uint64 // bytes of connections that were given up for memory
	Evicted            uint64 // sets given up to stay within memory
}
