package recent

const (
	// slabBytes is half of what is kept of a server. Chosen: hundreds of messages of the usual
	// length, and for all servers that a list has by default 8 MiB.
	slabBytes = 16 << 10

	// openBytes is half of what is kept of a server that somebody looks at. Chosen: thousands of
	// messages, decoded in milliseconds.
	openBytes = 512 << 10

	// slabPackets is how many packets a slab has at most for each KiB. Chosen: queries are about
	// 70 bytes long, and a flood of shorter packets leaves none of the memory to their headers.
	slabPackets = 16

	// busyRate is how many packets a second are all looked at, and of more one batch in busyShare.
	// Measured: a packet takes 100 ns more, a third of what it takes without, so that a flood is to
	// take no more for it. Chosen: more than hosts get that no flood reaches.
	busyRate  = 50_000
	busyShare = 16
)
