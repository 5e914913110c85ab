package live

import (
	"time"

	"qsniff/capture"
)

const (
	// DefaultBuffer is the length of the ring of captured packets that the kernel fills
	// for each interface, in bytes. A query of 71 bytes takes about 180 in it, with its
	// header: a flood of a million of them a second fills 32 MiB in 190 ms, longer than
	// a busy host keeps the program from running. libpcap's own 2 MiB last 12 ms.
	DefaultBuffer = 32 << 20

	// maxBuffer is the longest such ring. libpcap takes its length as 31 bits, and the
	// memory cannot be swapped out.
	maxBuffer = 1 << 30

	// DefaultDelay is how long the kernel collects packets before it delivers them.
	// Somebody who watches does not notice it; 50 deliveries a second cost nothing.
	DefaultDelay = 20 * time.Millisecond

	// maxDelay is the longest such time. With pollTimeout, packets are shown within half
	// a second of being sent.
	maxDelay = 400 * time.Millisecond

	// pollTimeout is how long Read waits for packets before it returns an empty batch,
	// so that what depends on time, such as unanswered requests, is decided. Chosen:
	// ten wake-ups a second are no load, and a tenth of a second is not noticed.
	pollTimeout = 100 * time.Millisecond

	// quietSpan is for how much packet time an interface that had nothing is not asked
	// again while another is busy, where asking takes time. Chosen: with DefaultDelay
	// shared by two interfaces, asking takes a twentieth of it.
	quietSpan = 200 * time.Millisecond

	// restTime is how long Read sleeps when it has read a flood to its end, with DefaultBuffer;
	// with a smaller one less. Chosen: a million queries a second fill a ninth of the buffer
	// meanwhile, and the kernel may take as long to deliver one packet.
	restTime = 20 * time.Millisecond

	// reopenFirst is how long after an interface went it is first looked for. It doubles up to reopenMost with each
	// attempt that fails. Chosen: a network card that renegotiates is back after one to three seconds.
	reopenFirst = 100 * time.Millisecond

	// reopenMost is the longest time between two attempts, each of which is two messages to the kernel. So much at
	// most is missed of an interface that was made anew; of one that was down nothing, for the kernel goes on itself.
	reopenMost = 5 * time.Second

	// reopenCalm is how long an interface has to stay before the time between attempts begins anew. One that comes
	// and goes all the time is reported once each reopenMost, and not at each change.
	reopenCalm = time.Minute

	// blockSize is the length of one block of the ring in bytes: the power of two that
	// holds the longest packet with its headers. The kernel delivers a block when it is
	// full or Delay is over, so shorter ones would deliver nothing earlier.
	blockSize = 2 * capture.MaxCaptured

	// minBlocks is the fewest blocks of a ring: the kernel fills one while another is
	// read.
	minBlocks = 2

	// batchBytes is how many bytes of packets one batch holds: a full batch of ordinary
	// packets, and the longest one with the headers that are put before it.
	batchBytes = 2 * capture.MaxCaptured

	// maxInterfaces is how many interfaces can be captured on at once, each with a ring
	// of its own. Chosen: 2 GiB with DefaultBuffer; for more interfaces there is Any.
	maxInterfaces = 64

	// maxVLANDepth is how many VLAN tags inside a frame the automatic filter steps
	// over: the two of double tagging, and one that the network card did not take off.
	// Frames with more tags pass.
	maxVLANDepth = 3

	// maxFilterPorts is how many ports the automatic filter takes of either transport.
	// Each takes two comparisons and two returns, and the kernel accepts programs of
	// 4,096 instructions.
	maxFilterPorts = 256

	// maxInstructions is how many instructions of a program the kernel takes
	// (BPF_MAXINSNS). maxFilterPorts leave half of them to patterns, which need a dozen
	// each.
	maxInstructions = 4096

	// maxPatternEnd is how far into a payload the automatic filter looks, in bytes: every
	// comparison is of four, and the pattern of no protocol reaches further.
	maxPatternEnd = 64

	// maxPayload is the longest payload of a UDP datagram, in IPv6.
	maxPayload = 65527

	// cardEvery is the number of Reads after which the interface's own count of lost
	// packets is looked up again, by a message to the kernel and back: at most 16,384
	// packets where there is traffic, 6.4 s where there is none.
	cardEvery = 64
)
