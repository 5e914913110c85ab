package ring

import "time"

const (
	// DefaultFlush is how much packet time may pass before packets in the buffer are
	// written to the file: what a process that is killed may lose. A write a second
	// costs nothing that can be measured.
	DefaultFlush = time.Second

	// retryAfter is how much packet time passes at most after an error before the
	// next file is tried. Chosen: six attempts a minute are no load for a full disk,
	// and 10 s of packets are all that is lost once there is room.
	retryAfter = 10 * time.Second

	// maxKept is how many files a ring may have: as many as capture/file reads of one
	// folder, with about 8 MiB of names. A ring with more is refused.
	maxKept = 1 << 16

	// filesOfTotal is how many files share Options.Total where they have no size of their own.
	// Chosen: room for a new file costs an eighth of what is there, and no more.
	filesOfTotal = 8

	// lockTries is how often the lock file may be removed by another run between the
	// moment it is opened and the moment it is locked. Once is rare; more often means
	// that the file system does not identify files, and the ring is written without
	// its lock.
	lockTries = 10

	// maxDisorder is how far back time may go between packets and count as packets
	// of several interfaces that arrive in turn; more is a clock that was set back.
	// Chosen: interfaces are read in turn within capture/live's delay, below 1 s.
	maxDisorder = 2 * time.Second

	// MinTrigger is the least memory of a Trigger, in bytes: room for two of the
	// longest packets with their headers, rounded up.
	MinTrigger = 1 << 20

	// Notice is how much longer packets wait in a Trigger than the time before an
	// incident: most incidents are detected within 10 s of their beginning, those
	// that add up slowly within 30.
	Notice = 30 * time.Second

	// drainPackets and drainTick are how many packets of an incident are written from
	// memory with each packet that arrives, and with each tick. Chosen: enough to be
	// done soon, few enough that the capture is not held up and packets dropped.
	drainPackets = 16
	drainTick    = 16 << 10

	// headerLen is how many bytes a packet takes in memory besides its data.
	headerLen = 40
)
