package pipeline

import (
	"time"

	"qsniff/internal/track"
)

// Limits of tables in bytes, as parts of DefaultMemory; they grow and shrink with the
// budget. The flows of track take 4.4 MiB and the sets of split 4; batches, output
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
	// partitions, of 1.5 KiB each, or 5 KiB if all of their lists are full.
	maxSessions = 64
	// sessionsAtFirst is how many are made for the first connection, 8 KiB. A server has a
	// handful of consoles.
	sessionsAtFirst = 4

	// minUnansweredSYNs is how many SYNs without an answer show that nobody takes the connection: Linux and
	// Windows repeat the first one after 1 and after 3 s.
	minUnansweredSYNs = 3

	// maxSought is how many bytes of one direction are searched for the start of a
	// message where the start of the connection was not captured. Chosen as one long
	// message: a file that is being downloaded is not searched to its end.
	maxSought = 64 << 10
)

// maxRefusal is how much of a text in place of an answer stands in the finding about it: a line's worth.
const maxRefusal = 80

// maxUnsplit is the payload length above which Source and GoldSource split a
// reply. IP fragments a longer datagram, and many filters drop the fragments.
const maxUnsplit = 1400

// Limits of what a Filter keeps of exchanges.
const (
	// outcomePageFrames and maxOutcomePages bound what a first run over a capture keeps: a
	// byte for each frame, in pages of 4 KiB where exchanges were answered, 64 MiB in all.
	// That is enough for 67 million packets.
	outcomePageFrames = 1 << 12
	maxOutcomePages   = 1 << 14

	// maxFollowed is how many exchanges of a stream are followed until they are over, and
	// remembered for replies that come after that: as many as the partitions follow
	// (track.DefaultExchanges), and as many ended ones. They take 2 MiB.
	maxFollowed = 2 * Partitions * track.DefaultExchanges

	// challengeWait is how long after a challenge the request with it is waited for, and
	// outcomeWait how long after a request its answer, if track reports no silence: for 3 s it
	// takes either, but fragments of an answer wait for the others for 30 s. The rest is for
	// the ticks between.
	challengeWait = 4 * time.Second
	outcomeWait   = 35 * time.Second

	// holdTime is how long a message of a stream is held: its client repeats a request for
	// up to 10 s (track), and outcomeWait follows. Most exchanges are decided within 3 s.
	holdTime = 50 * time.Second

	// holdBytes bounds what is held: the text of 10 s of 5,000 queries a second in JSON.
	holdBytes = 32 << 20
)

// What is read of servers for watchers.
const (
	// profileEvery is how often a reply of a server is read for what it reports of itself.
	// Chosen: people who look at a list of servers see no difference, and a server that is
	// flooded costs as much as any other.
	profileEvery = int64(time.Second)
	// profiled is how many servers of a partition are known to have been read in that time.
	// Chosen: those of a large host. Others of the same place in the table are read too often.
	profiled = 256
)
