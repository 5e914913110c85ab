package subset

import "time"

const (
	// pageBits and maxPages bound the marks of packets: a page of 8 KiB for 65,536 packets,
	// and 64 MiB in all, which mark 537 million packets. Packets of messages of one packet
	// are marked only while their batch is written.
	pageBits = 1 << 16
	maxPages = 1 << 13

	// planBytes bounds what is kept of comments and edits until their packets are written: what
	// messages that take long mean for packets that have left the line, of the whole file, and
	// what is known of the packets in the line, each. Chosen: beside the tables of a run, a
	// quarter of its budget is left. memoCost is what one of them takes besides its text, and
	// chunkBytes the memory for texts that is taken at a time.
	planBytes  = 16 << 20
	memoCost   = 56
	chunkBytes = 64 << 10

	// minRing is how many entries a list begins with. Chosen: few captures need more of a list.
	minRing = 1 << 10

	// planStretches is how many messages over TCP in several segments are kept, in a plan and
	// of those in the line, to find these segments by number: 120 bytes each, and their edits.
	// Chosen: hardly any capture of a console has more.
	planStretches = 1 << 16

	// maxWholes is how many messages a packet names that it is a part of. One of TCP can
	// hold the ends of two and some whole ones; the rest is chosen.
	maxWholes = 4

	// lineTime is how long packets of a stream are held back, in packet time: twice as long
	// as the joiners wait for the missing parts of a message (split.DefaultWait).
	lineTime = 10 * time.Second

	// lineBytes is how many bytes of packets of a stream are held back: the 10 s of 1,000 queries
	// a second with their replies. The parts of a reply come within milliseconds; messages of
	// which parts are missing take the 10 s. packetCost is what a packet takes besides its bytes.
	lineBytes  = 4 << 20
	packetCost = 64

	// nearBytes is how many bytes of packets of a file are held back in the second run, so that
	// the plan of the first one is needed for few messages. The parts of a reply come within
	// milliseconds: 1 MiB is 60 ms of a host that sends 15 MB a second. With 4 MiB nothing was in
	// the plan either of a million mixed packets, and what is known of them took as much more.
	nearBytes = 1 << 20

	// blockBytes is the memory that packets are held in: they leave a block at a time. The
	// longest packet fits.
	blockBytes = 256 << 10
)
