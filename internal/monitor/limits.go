package monitor

import "time"

const (
	// DefaultServers is how many servers have counters of their own besides those that
	// Options.Servers names, 9 KiB each and up to 15 KiB of their last hour. Chosen: more than a host runs; a network of servers
	// names them.
	DefaultServers = 256

	// MostServers is how many servers can be asked for. Chosen: with all kinds of messages they
	// are a hundred thousand time series, which is as much as one target may have.
	MostServers = 4096

	// quietServer is how long a server that was not named must be silent before another one that
	// answers takes its counters, where all are taken. Chosen: longer than a server is down for
	// the night; a series that ends and begins anew costs a day's graph, not more.
	quietServer = int64(24 * time.Hour)

	// maxKinds is how many kinds of messages are counted apart. Protocols declare about
	// seventy; those beyond count as the first kind, which has no name.
	maxKinds = 127

	// openRequests is how many pairs of client and server, by what was asked, can wait for
	// their answers: 16 bytes each. A request evicted from the table counts as undecided. Chosen:
	// they fit into the processor's second cache, and a server that is up answers within 100 ms,
	// so that is enough for 300,000 requests in a second; of those that nobody answers, for
	// 6,000.
	openRequests = 1 << 15

	// pairWays is how many places a pair has in the table. Chosen: the questions that a client
	// asks at once, in one line of cache.
	pairWays = 4

	// answerWait and lateWait are until when an answer comes in time, and late: query clients
	// give up after 1 to 3 s, and the most patient ones after 5.
	answerWait = int64(3 * time.Second)
	lateWait   = int64(5 * time.Second)

	// rateSeconds is over how many whole seconds rates are measured. Chosen: a page that is drawn
	// each second moves, and does not flicker.
	rateSeconds = 10

	// openIncidents is how many incidents can be open, as the detector's own limit; those
	// beyond count as ended at once.
	openIncidents = 256

	// windowPoints is how many points of time a window has. Chosen: a chart has five pixels or more
	// for each, and a server's take 8 KiB, and 1 to 7 KiB more if it answers.
	windowPoints = 120

	// sweptRows is how many rows of servers that nobody asks follow the window in each second. Chosen:
	// they take half a millisecond, and MostServers have followed before the window moves again.
	sweptRows = 256

	// latelySpan is how long Server.Lately is. Chosen: a verdict on it is there while an attack is
	// young, and a server that is asked once a second has an answered share.
	latelySpan = time.Minute

	// windowServers is how many servers of a window have points of their own. Chosen: as in a report.
	windowServers = 64

	// Patience is how long Snapshot waits for the packets at hand. Chosen: a batch takes
	// milliseconds; a source that brings nothing shows it ten times a second.
	Patience = time.Second

	// snapshotStep is how many servers of a snapshot are copied between two batches. Chosen: that
	// takes a millisecond, for which packets wait.
	snapshotStep = 128

	// snapshotWait is after how long the rest of a snapshot is copied at once. Chosen: half of what
	// readers have; where batches come so seldom, few packets wait.
	snapshotWait = Patience / 2

	// snapshotEvery is how old a snapshot may be that is given out again. Chosen: who asks a
	// thousand times a second costs four snapshots.
	snapshotEvery = 250 * time.Millisecond
)

// pointLengths are the lengths of a window's points, each a multiple of the one before. Chosen: the
// first minutes show each second, and the window is an hour in the end.
var pointLengths = [...]time.Duration{time.Second, 5 * time.Second, 30 * time.Second}
