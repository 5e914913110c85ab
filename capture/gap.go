package capture

import "qsniff/internal/digits"

// Gap is a stretch of an input that could not be read, with packets after it
// that could. It is reported in place: what is built from packets on both sides
// may miss something.
type Gap struct {
	At      int    // index in Batch.Packets of the packet after it; their number if that is not in this batch
	File    string // name of the input
	Offset  int64  // of the first byte that was not read, after expansion
	Skipped int64  // bytes that were not read; may leave out sound ones between damaged ones
	Reason  string // lower case, one line
	Hint    string // what to do, one line; may be empty
}

// String returns one line, without the hint.
func (g *Gap) String() string {
	return g.File + ": byte " + digits.Grouped(g.Offset) + ": " + g.Reason +
		"; " + digits.Counted(uint64(g.Skipped), "byte") + " skipped"
}
