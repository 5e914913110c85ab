package capture

const (
	// MaxPackets is how many packets a Batch holds at most: enough to make the
	// hand-over between goroutines cheap, few enough to stay in the cache. Measured
	// on a mix of protocols and on a flood, 256 took 2 MiB less memory and 2 to 6 % more
	// processor time; 1,024 took 2 MiB more and were hardly faster.
	MaxPackets = 512

	// MaxCaptured is the largest captured length that is believed, in bytes. It
	// is libpcap's MAXIMUM_SNAPLEN: nothing on a network is longer, so a record
	// that claims more is damage, and no buffer is sized by what it claims.
	MaxCaptured = 262_144

	// mergeBytes is how many bytes of packets are copied into one batch when
	// inputs alternate. It holds the longest packet, and a full batch of
	// ordinary ones; a batch is handed over when the next does not fit.
	mergeBytes = 2 * MaxCaptured

	// alignedInputs is for how many inputs clocks are compared, and alignedBatches how many batches
	// of each are looked at for that, and kept in memory (chosen).
	alignedInputs  = 4
	alignedBatches = 8

	// alignedBytes is how much is looked at, in all, where a file has several interfaces: merged by
	// stamps of clocks that differ, what a client sent and the answer to it are as far apart as these
	// (chosen: 3 s of 30,000 packets of requests a second).
	alignedBytes = 16 << 20

	// reorderBytes is about how much is held while packets of a file are ordered by other stamps than
	// those that they were captured with: twice alignedBytes.
	reorderBytes = 32 << 20

	// eraNanos is how much older than all before a batch has to be to begin another era of stamps, in
	// nanoseconds. Chosen: a second, as much as packets of several processors are out of order, and more.
	eraNanos = 1_000_000_000

	// laneOverlap is how far the last packets of a file of a ring are later than the first of the
	// next, in nanoseconds: what processors that take turns deliver out of order (chosen).
	laneOverlap = 5_000_000

	// maxInputs is how many inputs the 16 bits of Packet.File can number. Further
	// ones all have the last number.
	maxInputs = 1 << 16
)
