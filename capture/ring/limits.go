package ring

import "time"

const (
	// DefaultFlush is how much packet time a ring lets pass before packets are
	// in the file, unless told otherwise: what a process that is killed may lose.
	// A write a second costs nothing that can be measured.
	DefaultFlush = time.Second

	// retryAfter is how much packet time passes at most after an error before the
	// next file is tried: long enough not to hammer a full disk, short enough
	// that little is lost once there is room.
	retryAfter = 10 * time.Second

	// maxKept is how many files a ring may have, in all some 8 MiB of names, and
	// as many as capture/file looks at in one folder. A ring with more is refused.
	maxKept = 1 << 16

	// lockTries is how often other runs may give the ring back between the moment
	// its lock is opened and the moment it is taken. Once is rare; more often, the
	// file system does not tell files apart, which is no reason not to capture.
	lockTries = 10

	// maxDisorder is how far back time may go between packets and count as packets
	// of several interfaces that arrive in turn. A longer way back is a clock that
	// was set.
	maxDisorder = 2 * time.Second

	// MinTrigger is the least memory of a Trigger, in bytes: two of the longest
	// packets and what belongs to them, rounded up.
	MinTrigger = 1 << 20

	// Notice is how much longer packets wait in a Trigger than the time before an
	// incident: most are noticed within 10 s, and those that add up slowly in 30.
	Notice = 30 * time.Second

	// drainPackets and drainTick are how many packets an incident takes out of
	// memory with each that comes in, and with each tick: enough to be done soon,
	// few enough that meanwhile the capture is not held up and packets dropped.
	drainPackets = 16
	drainTick    = 16 << 10

	// headerLen is what a packet in memory takes besides its bytes.
	headerLen = 40
)
