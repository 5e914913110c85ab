package stats

import "time"

// What a collector may hold. Options.Scale multiplies the sizes of the tables.
const (
	// maxAnswering is how many servers that answer are kept, 2.5 MiB: the largest hosts
	// have hundreds on one address, a server browser asks thousands. The
	// server whose last message is longest ago is evicted.
	maxAnswering = 4096

	// maxSilent is how many servers are kept of which only requests or only replies were
	// captured, 2.5 MiB. They have a table of their own, so that requests to a million
	// forged destinations, or replies from a million forged sources, cannot evict
	// servers that answer.
	maxSilent = 4096

	// maxChallenged is how many pairs of server and client are kept in which a challenge was
	// given, 1 MiB. A pair that was evicted and returns with its old
	// challenge counts as one that was not challenged.
	maxChallenged = 16384

	// maxRepeats is how many findings of each severity are kept with the two hosts that they are
	// about, 1.2 MiB each and up to 0.5 MiB with frames and details. The ones longest without a
	// repeat are evicted, and then counted by code only. Chosen: more than anybody reads.
	maxRepeats = 4096

	// maxFrames is how many frames are listed of a finding with repeats. Chosen: enough to look
	// one up and compare it with others.
	maxFrames = 8
	// framesAtOnce is for how many findings with one frame memory is allocated at a time, 2 KiB.
	framesAtOnce = 256

	// maxPollers is how many clients at a server are kept that asked more than once, and as many that
	// asked once, 1.3 MiB each. Chosen: a host has hundreds of clients that come again.
	maxPollers = 4096
	// openPolls is how many polls of a client can wait for its challenge at a time: one of each kind.
	openPolls = 3

	// minPolls is how many polls make a client a row: what asks less often does not poll.
	minPolls = 3
	// filteredPolls is how many polls in a row must go without an answer to be no loss: as many as
	// the finding about them takes (track).
	filteredPolls = 3
	// unusedAfter is how long after a challenge it counts as not brought back: track waits as long.
	unusedAfter = 3 * time.Second
	// aliveFor is how long before a client's first poll an answer to others shows that the server is
	// up, and how long an ICMP error is about a request before it.
	aliveFor = 10 * time.Second

	// topClients is how many clients the top list counts, 0.5 MiB. A client that sent more than
	// one in topClients of all requests, and one more for each round of the doorkeeper, is
	// certainly in it.
	topClients = 4096

	// doorBits is how many bits the doorkeeper of a full top list has, 16 KiB, which stay in the
	// fastest cache. It turns away a client's first request of each round, and a round ends when
	// a quarter of the bits are set. In a flood from a million invented addresses, counts are 59
	// too low at most, and the stated error, which has that in it, is 67 in place of the 244
	// without a doorkeeper.
	doorBits = 1 << 17

	// distinctBits gives the sketch of distinct clients 2^16 registers of a byte:
	// a standard error of 0.41 %.
	distinctBits = 16

	// distinctSigmas is how many standard errors the reported error is: the
	// estimate is within it in 997 of 1,000 captures.
	distinctSigmas = 3

	// maxPoints is how many intervals the time series holds, 2 MiB: 18
	// hours of seconds. A longer capture makes the intervals longer.
	maxPoints = 1 << 16

	// autoPoints is how many points the series has at most if no interval was
	// given: as many columns as fit beside a label.
	autoPoints = 60

	// maxTime is the longest time that the distributions of all servers distinguish, in
	// microseconds: ten minutes. Nobody waits as long.
	maxTime = 600_000_000

	// timeDigits is how many significant digits of a time they keep.
	timeDigits = 3

	// TimelinePoints is how many intervals a timeline has at most, in lengths of one, two or
	// five times a power of ten. Chosen: a chart has two to five pixels for each.
	TimelinePoints = 240

	// timelineCells is how many are kept while the length of the capture is unknown: enough
	// to choose from the three lengths in the end, with a hundred points or more.
	timelineCells = 500

	// timelineKinds, timelineServers and timelineClients are how many rows a timeline has of
	// each; what has no row is in one together. A kind or a server takes 16 KiB, and 10 to 60 KiB
	// more if it answers; a client takes 2 KiB. Chosen: more than a chart can show, and half a
	// megabyte of a report.
	timelineKinds   = 24
	timelineServers = 64
	timelineClients = 128

	// serverKinds and serverClients are how many kinds of request and how many clients are
	// counted of each server with a row, 1.4 KiB together. Chosen: protocols have fewer
	// requests, and a table that is read shows ten.
	serverKinds   = 8
	serverClients = 16

	// timelineWaiting is how many servers, clients and kinds without a row are counted, 64 KiB
	// each. One that is evicted begins anew: only what comes often gets a row.
	timelineWaiting = 1024

	// TimelineBuckets is how many response times are distinguished, two for each doubling from
	// firstBucket, in nanoseconds, on: the last one begins at 4 s, after the wait for an answer.
	TimelineBuckets = 30
	firstBucket     = 250_000
)
