package subset

import "time"

const (
	// pageBits and maxPages bound the marks of packets: a page of 8 KiB for 65,536 packets,
	// and 64 MiB in all, which mark 537 million packets. Packets of messages of one packet
	// are marked only while their batch is written.
	pageBits = 1 << 16
	maxPages = 1 << 13

	// planEntries and planBytes bound what is kept to be written about packets: the parts
	// of split replies take an entry of 100 bytes each. A million of them are three hours
	// of a busy host. Packets beyond them are written without comment.
	planEntries = 1 << 20
	planBytes   = 64 << 20

	// planStretches is how many messages over TCP in several segments are kept, to find those
	// segments by number: 64 bytes each, and planBytes of their edits; hardly any capture of a
	// console has more.
	planStretches = 1 << 18

	// maxWholes is how many messages a packet names that it is a part of. One of TCP can
	// hold the ends of two and some whole ones; the rest is chosen.
	maxWholes = 4

	// lineTime is how long packets of a stream are held back, in packet time: twice as long
	// as the joiners wait for the missing parts of a message (split.DefaultWait).
	lineTime = 10 * time.Second

	// lineBytes is how many bytes of packets are held back: the 10 s of 40,000 queries a
	// second. packetCost is what a packet takes besides its bytes.
	lineBytes  = 64 << 20
	packetCost = 64

	// keptBatches is how many empty batches are kept for use again. Chosen: those that leave
	// the line at once when packets come after a pause are few.
	keptBatches = 16
)
