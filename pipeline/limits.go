package pipeline

// What tables may use, in bytes, of DefaultMemory; other budgets scale it. The
// flows of track take about 7 MiB and the sets of split 4; batches, output and
// the runtime need the rest.
const (
	fragMemory = 2 << 20 // fragments of IP datagrams: one table, in the reader
)

// What the connections of one partition may take.
const (
	// sessionMemory is for what protocols keep of a connection beyond a fixed
	// size: replies that come in several messages. 4 MiB in all hold twenty of
	// the longest lists that consoles print.
	sessionMemory = 256 << 10

	// maxSessions is how many connections are ours at a time: 1,024 in all, of 1.5 KiB
	// each, or 5 where all lists are full. A server has a handful of consoles.
	maxSessions = 64

	// maxSought is how many bytes of one direction are searched for a message
	// where the begin of a connection was not captured: a file that is being
	// downloaded is not searched to its end.
	maxSought = 64 << 10
)

// maxUnsplit is the payload length above which Source and GoldSource split a
// reply. A longer datagram will be fragmented by IP and lost behind many filters.
const maxUnsplit = 1400
