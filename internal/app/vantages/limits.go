package vantages

import "time"

// The tables of a Collector, 1 MiB, and 18 MiB of histograms if all series are there. In a full table the entry
// that was not used for longest is evicted; Capture.Evicted counts that. Compare holds the sums of each
// capture, 64 bytes a series.
const (
	// MaxCaptures is how many captures are compared. Chosen: people have few clients, and each two captures
	// are compared.
	MaxCaptures = 32
	// maxServers is how many servers are kept that were asked: a server browser asks thousands once,
	// and a client that is a vantage asks few again and again.
	maxServers = 4096
	// maxAnswers is how many series of answers are kept, one for each kind of answer of a server, and
	// maxPaths how many of handshakes and echoes. Chosen: 250 servers of four kinds, and as many hosts
	// with a console.
	maxAnswers = 1024
	maxPaths   = 512
	// maxTrips is how many handshakes and echoes can wait for their second packet. Chosen: a client
	// opens few at a time, and what a flood leaves open is evicted.
	maxTrips = 4096
	// maxRepeated is how many exchanges are kept that had a request repeated: they last seconds.
	maxRepeated = 1024
)

// The histograms.
const (
	// unit is what times are counted in: a thousandth of the least difference that counts.
	unit = 10 * time.Microsecond
	// longestTrip is the longest time of a handshake or an echo. It is that of the wait for answers, see
	// package track.
	longestTrip = 3 * time.Second
	// timeDigits is how many significant digits of a time they keep: medians are at most 1 % too high.
	timeDigits = 2
)

// The thresholds.
const (
	// leastAnswers is how many answers of a kind a capture must have to be judged, and leastTrips how many
	// handshakes or echoes. Chosen: the fastest of ten is near to the least time under the jitter of home
	// lines, and a host's system answers without that of an engine.
	leastAnswers = 10
	leastTrips   = 5
	// leastApart is what paths must differ by. Chosen: what queues of home routers add when they are busy
	// at one client all the time.
	leastApart = 10 * time.Millisecond
	// longestFrame is what paths must differ by on top, where the time until the server's next frame could
	// make up for it: an engine reads requests once a frame, 15 ms at 66 frames a second, and 66 ms at 15,
	// which servers go down to. Clients that ask at fixed times always hit the same part of a frame.
	longestFrame = 66 * time.Millisecond
	// sameShare and mostDiffer bound what equal times differ by: one in sameShare of what the paths differ
	// by, and mostDiffer at most. Chosen: the edges of an anycast network are not equally near to all, and
	// two clients on one continent are further apart.
	sameShare  = 4
	mostDiffer = 25 * time.Millisecond
)
