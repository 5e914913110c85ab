package notify

import "time"

const (
	// queued is how many notes wait for one sink at most. Chosen: a receiver that is away for an
	// hour misses none in a bad hour, in which an incident a minute begins, changes and ends; with
	// the rules in a line a note has about 10 KiB, so that a full queue has 2.5 MiB.
	queued = 256

	// maxThreads is how many findings that repeat are followed at the same time. Chosen: there are
	// about a hundred kinds of findings, of which few are errors, and few servers on a host. Those of
	// further servers are counted.
	maxThreads = 256

	// maxOver is how many findings that are over are remembered for those who ask what there was.
	// Chosen: as many as may go on; the oldest are evicted.
	maxOver = maxThreads

	// quiet is for how long a finding must not repeat until it is over. Chosen: monitors ask once
	// a minute, list sites every few minutes.
	quiet = 10 * time.Minute

	// growth is how many times as many repeats a finding has that changes: the 10th, the 100th.
	growth = 10

	// namedServers is how many servers' names are remembered, 0.5 MiB: as many as answer in
	// stats.
	namedServers = 4096

	// shortAdvice is how many bytes of advice a note has at most; the line has all of it. Chosen:
	// a paragraph on the screen of a telephone.
	shortAdvice = 600

	// closing is how long an ended run waits until its notes were delivered. Chosen: less than
	// an interrupted run may take to end. The other process goes on.
	closing = 500 * time.Millisecond

	// reloading is how long a reload waits for the other process. Chosen: it reads a file, and orders
	// before this one are in its queues at once.
	reloading = 2 * time.Second
)

const (
	// maxHooks is how many services may get notes. Chosen: each has a queue and a worker.
	maxHooks = 16

	// longestHooks is the greatest size of their file, in bytes. Chosen: that of 16 services, and
	// comments.
	longestHooks = 64 << 10

	// maxAsked is how many orders wait for the other process. Chosen: more incidents than may be
	// open end at once hardly ever, and one report is made at a time.
	maxAsked = 64

	// maxFleet is how many messages to the hub of a fleet wait for the other process. Chosen: three
	// windows of a sensor with all its servers, 1.5 MiB; what the broker has not taken waits there.
	maxFleet = 256
)
