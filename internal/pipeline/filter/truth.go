package filter

// Truth is what an expression gives as a table: bit i is the result if the outcome of its
// late comparisons is number i, see Program.Index.
type Truth uint64

// The results that no outcome changes.
const (
	None Truth = 0
	All        = ^None
)

// At returns the result for the outcome with number i.
func (t Truth) At(i uint8) bool { return t>>i&1 != 0 }

// truthOf returns All or None.
func truthOf(b bool) Truth {
	if b {
		return All
	}
	return None
}

// lateTruths are the tables of the late comparisons: bit i of table j is bit j of i.
var lateTruths = [maxLate]Truth{0xaaaaaaaaaaaaaaaa, 0xcccccccccccccccc, 0xf0f0f0f0f0f0f0f0,
	0xff00ff00ff00ff00, 0xffff0000ffff0000, 0xffffffff00000000}

// Outcome is what became of an exchange.
type Outcome struct {
	Answered     bool
	RTT          int64 // nanoseconds from the request to its answer, -1 if there is none
	ChallengeRTT int64 // and to the challenge before it, -1 if there is none
}

// lateField is a field whose value is known when the exchange is over.
type lateField uint8

const (
	notLate lateField = iota
	lateAnswered
	lateRTT
	lateChallengeRTT
)

// value returns the value of a field; ok is false where there is none.
func (o *Outcome) value(f lateField) (num uint64, ok bool) {
	switch f {
	case lateAnswered:
		if o.Answered {
			return 1, true
		}
		return 0, true
	case lateRTT:
		return uint64(o.RTT), o.RTT >= 0
	case lateChallengeRTT:
		return uint64(o.ChallengeRTT), o.ChallengeRTT >= 0
	}
	return 0, false
}

// lateTest is a comparison on a late field, which is a number.
type lateTest struct {
	field lateField
	holds numberTest
	text  string // of the comparison: equal ones share a place in the table
}
