package diff

import "time"

const (
	// DefaultWait is how long a datagram may take from one point to the other. Chosen: query
	// clients have given up by then.
	DefaultWait = 2 * time.Second

	// DefaultLate is how much longer than usual a late datagram takes. Chosen: twice what
	// queues of home routers add, and a tenth of what clients wait.
	DefaultLate = 100 * time.Millisecond

	// maxSamples is how many contents of a capture the survey keeps. Chosen: the error of
	// the drift falls with the root of it, and is far below 1 ppm for an hour.
	maxSamples = 1 << 15

	// maxEarly is how many of its first datagrams it keeps of each capture, for captures without
	// contents that are there once. Chosen: who has none has few datagrams.
	maxEarly = 1 << 11

	// maxVotes bounds the pairs of equal contents among these that are compared. Chosen: 4 MiB.
	maxVotes = 1 << 15

	// maxEqual is how many of these with one content, and the same ends at EDGE, are compared. Chosen: the
	// pattern of as many times is not there by chance.
	maxEqual = 96

	// maxServers is how many ends that serve are remembered for each capture; the one that served
	// longest ago is evicted. Chosen: more than a provider's network has inside of one edge.
	maxServers = 1 << 12

	// maxEnds is how many translated ends are remembered; further ones are not. Chosen: a
	// server full of clients, a hundred times.
	maxEnds = 1 << 15

	// windowDatagrams is how many datagrams of each capture are in memory at a time, with the usual
	// --memory: 6 MiB each, with what sorts them. Where a capture has more in twice the wait, datagrams are judged
	// before it is over, which is counted.
	windowDatagrams = 3 << 14

	// leastWindow is the least such number.
	leastWindow = 1 << 12

	// runLength is how many datagrams with one content and the same ends are aligned at once.
	// Chosen: the time for each grows with it, and half a window of equal requests, one a
	// millisecond, is aligned as well by runs of this length.
	runLength = 128

	// copyWithin is within what time an equal datagram without an IP ID is a copy. Chosen: no client
	// asks again so soon. With an IP ID, which copies share, it is the wait.
	copyWithin = 100 * time.Millisecond

	// tolerance is how much before it was sent a datagram may arrive, by the clocks as
	// corrected. Chosen: what capturing programs deliver in one go.
	tolerance = 2 * time.Millisecond

	// maxListed is how many differences are listed; the others are counted. Chosen: 11 MiB,
	// and more than anybody reads.
	maxListed = 1 << 16

	// maxRows is how many kinds of all servers are counted apart; the others are one row.
	maxRows = 1 << 11

	// maxKinds is how many types of messages are distinguished: all that there are, and room.
	maxKinds = 1 << 12

	// maxChanged is how many bytes of changed datagrams are kept to name the fields that differ.
	// Chosen: thousands of replies.
	maxChanged = 4 << 20

	// maxPieces is how many fragments are remembered by their frames, to be written. Chosen: as
	// many as the largest window could wait for.
	maxPieces = 1 << 16

	// maxSets is how many messages in parts are remembered until their parts are judged, to recognise them
	// in other datagrams. Chosen: a thousand replies a second.
	maxSets = 1 << 11

	// maxConns is how many connections over TCP are remembered, and the directions of these for each capture; the one that was
	// silent longest is evicted. Chosen: consoles have few, and all of it takes 3 MiB.
	maxConns = 1 << 13

	// maxOneSided is how many connections that one capture alone has are listed; the others are counted.
	// Chosen: as rows of kinds, more than anybody reads.
	maxOneSided = 1 << 11

	// maxJoined is how many segments at one point can be the bytes of one at the other, or of several. Chosen: 64 KiB in
	// segments of an Ethernet are 45.
	maxJoined = 64

	// maxReplies is how many contents of replies are remembered, for the age of the bytes that an answer from
	// in between repeats.
	maxReplies = 1 << 12

	// fragmentBytes is the memory in which fragments of each capture are joined.
	fragmentBytes = 2 << 20
)
