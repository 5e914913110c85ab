package outbox

import (
	"time"

	"qsniff/internal/fleet"
)

const (
	// memorySize is how many bytes of messages wait in memory. Chosen: a host with ten servers sends
	// 10 KiB/s at most, so that it bridges a quarter of an hour without a disk.
	memorySize = 8 << 20

	// incomingSize is how many bytes of messages wait for the goroutine of Run, which may wait for a
	// disk that hangs. Chosen: two windows of a sensor with all its servers.
	incomingSize = 1 << 20

	// recordCost is what a message takes in memory besides its bytes.
	recordCost = 256

	// DefaultSpool is the size of the spool on disk if none is chosen. Chosen: a host with ten servers
	// fills it in two hours, one with 64 in 25 minutes.
	DefaultSpool = 64 << 20

	// LeastSpool and MostSpool bound the size of a spool. Chosen: a full one loses a quarter at most
	// when a file of it goes, and is read, file by file, at the start.
	LeastSpool = 4 * segmentSize
	MostSpool  = 4 << 30

	// segments is how many files a spool has, and segmentSize the least size of one. Chosen: when it
	// is full it loses a 64th at once; all of them are open.
	segments    = 64
	segmentSize = 1 << 20

	// maxRecord is the longest record in a file: a message with its number and kind.
	maxRecord = recordHead + 2 + 2*maxWord + fleet.MaxMessage

	// maxWord is the longest number or kind in a record: their length is one byte.
	maxWord = 255

	// diskWait is how long a disk that failed is left alone. Chosen: memory holds minutes.
	diskWait = 5 * time.Second

	// lockTime is how long a start waits for a process before it that still has the spool, and
	// spoolTime how long one that ends goes on delivering what it could write to the spool as well.
	// Chosen: a service that is restarted is not held up.
	lockTime  = 10 * time.Second
	spoolTime = 3 * time.Second
)

const (
	// inFlight is how many messages have been published and not acknowledged. Chosen: with a round
	// trip of 100 ms it is 320 messages a second, fifty times what a sensor sends.
	inFlight = 32

	// ackTime is how long the broker may take to acknowledge, and connectTime to let it in. Chosen:
	// brokers take milliseconds; a choice of a new leader takes seconds.
	ackTime     = 10 * time.Second
	connectTime = 10 * time.Second

	// firstWait and longestWait bound the time between two connections, which doubles. Chosen: a
	// restart of the broker is over after seconds; of 1,000 sensors 30 come back a second.
	firstWait   = 500 * time.Millisecond
	longestWait = 30 * time.Second

	// tickTime is how often acknowledgements and the disk are looked after.
	tickTime = time.Second

	// longestFile is the greatest size of a file of credentials or certificates. Chosen: a bundle of
	// all authorities has 250 KiB.
	longestFile = 1 << 20
)
