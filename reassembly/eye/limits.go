package eye

import "time"

// What one Assembler keeps. What has to make room, in this order: memory of
// delivered sets, oldest first; then the set that waits longest, which is
// delivered as it is. Counters.Evicted counts those.
const (
	// MaxSets is how many sets wait or are remembered. Servers that cut their
	// replies are rare and the fragments of one arrive within milliseconds.
	MaxSets = 16

	// maxBlocks of FragmentLen bytes are 32 KiB: eleven whole replies of two
	// fragments, or two of the nine that the header can count.
	maxBlocks = 24

	// maxFrames is how many frames are remembered for a set. Fragments fit the
	// usual MTU, so a set has nine at most; a tunnel doubles that. Later ones are
	// joined and not listed.
	maxFrames = 32

	// Wait is the packet time from a set's first fragment to giving up: as long as
	// a set of split parts waits.
	Wait = 5 * time.Second
)
