package pipeline

// Limits of tables in bytes, as parts of DefaultMemory; they grow and shrink with the
// budget. The flows of track take about 7 MiB and the sets of split 4; batches, output
// and the runtime need the rest.
const (
	fragMemory = 2 << 20 // fragments of IP datagrams: one table, in the reader
)

// Limits of the connections of one partition.
const (
	// sessionMemory is the bytes for replies that come in several messages, which
	// protocols keep besides the fixed size of a session. 4 MiB in all partitions
	// hold twenty of the longest lists that consoles print.
	sessionMemory = 256 << 10

	// maxSessions is how many connections have a session at a time: 1,024 in all
	// partitions, of 1.5 KiB each, or 5 KiB if all of their lists are full. A server
	// has a handful of consoles.
	maxSessions = 64

	// maxSought is how many bytes of one direction are searched for the start of a
	// message where the start of the connection was not captured. Chosen as one long
	// message: a file that is being downloaded is not searched to its end.
	maxSought = 64 << 10
)

// maxUnsplit is the payload length above which Source and GoldSource split a
// reply. IP fragments a longer datagram, and many filters drop the fragments.
const maxUnsplit = 1400
