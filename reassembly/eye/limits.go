package eye

import "time"

// The limits of one Assembler. When one is reached, sets make room in this order:
// delivered sets of which checksums are kept, oldest first; then the set that has
// waited longest, which is delivered with what it has. Counters.Evicted counts the latter.
const (
	// MaxSets is how many sets wait or are kept to recognise duplicates. Chosen:
	// servers that cut their replies are rare and the fragments of one arrive within
	// milliseconds.
	MaxSets = 16

	// maxBlocks of wire.EyeFragmentLen bytes are 32 KiB: twelve whole replies of two
	// fragments, or two of the nine that the header can count.
	maxBlocks = 24

	// maxFrames is how many frames are listed for a set. Fragments fit the
	// usual MTU, so a set has nine at most; a tunnel doubles that. Those of further
	// fragments are not listed.
	maxFrames = 32

	// Wait is the packet time for which a set waits after its first fragment: as long
	// as a set of split parts waits.
	Wait = 5 * time.Second
)
