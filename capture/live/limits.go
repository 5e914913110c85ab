package live

import (
	"time"

	"qsniff/capture"
)

const (
	// DefaultBuffer is the ring of captured packets that the kernel fills for each
	// interface, in bytes. A query of 71 bytes takes about 180 in it, with its
	// header: a flood of a million of them a second fills 32 MiB in 190 ms, which is
	// longer than the program is kept from running on a busy host. libpcap's own 2 MiB
	// last 12 ms.
	DefaultBuffer = 32 << 20

	// maxBuffer keeps the number within what libpcap takes, 31 bits, and the memory,
	// which the kernel cannot swap out, within what a host can spare.
	maxBuffer = 1 << 30

	// DefaultDelay is how long the kernel collects packets before it delivers them.
	// Somebody who watches does not notice it; 50 deliveries a second cost nothing.
	DefaultDelay = 20 * time.Millisecond

	// maxDelay leaves, with pollTimeout, what is shown within half a second of the wire.
	maxDelay = 400 * time.Millisecond

	// pollTimeout is how long Read waits for packets before it returns an empty batch:
	// what waits for time to pass, such as unanswered requests, then goes on.
	pollTimeout = 100 * time.Millisecond

	// blockSize is the length of one block of the ring in bytes: the power of two that
	// holds the longest packet with its headers. A block is delivered when it is full
	// or Delay is over, so shorter ones would only be more of them.
	blockSize = 2 * capture.MaxCaptured

	// minBlocks is the fewest blocks of a ring: the kernel fills one while another is
	// read.
	minBlocks = 2

	// batchBytes is how many bytes of packets one batch holds: a full batch of ordinary
	// packets, and the longest one with the headers that are put before it.
	batchBytes = 2 * capture.MaxCaptured

	// maxInterfaces is how many interfaces can be captured on at once, each with a ring
	// of its own. Whoever has more captures on all of them with one ring.
	maxInterfaces = 64

	// maxVLANDepth is how many VLAN tags inside a frame the automatic filter steps
	// over: what double tagging has, and one that the network card did not take off.
	// Frames with more pass unseen.
	maxVLANDepth = 3

	// maxFilterPorts is how many ports the automatic filter takes of either transport.
	// Each is two comparisons and their verdicts, and the kernel accepts programs of
	// 4,096 instructions.
	maxFilterPorts = 256

	// maxInstructions is how long a program the kernel takes (BPF_MAXINSNS). The most
	// ports leave half of it to patterns, which need a dozen each.
	maxInstructions = 4096

	// maxPatternEnd is how far into a payload the automatic filter looks: every
	// comparison is of four bytes, and no protocol is told by what comes later.
	maxPatternEnd = 64

	// maxPayload is the longest payload of a UDP datagram, in IPv6.
	maxPayload = 65527

	// cardEvery is every how many Reads the interface's own count of lost packets is
	// looked up, a message to the kernel and back: a thousand packets apart where there
	// is traffic, seconds where there is none.
	cardEvery = 16
)
