// Package timing compares the times that tests measure with limits, so that the result
// does not depend on what else the machine has to do. CPU time is compared everywhere; time of
// the clock only where QSNIFF_QUIET is set because nothing else runs, as in make test-live
// QUIET=1. The package is not part of the program and is imported by tests only.
package timing

import (
	"os"
	"testing"
	"time"
)

// Patience is how long tests wait for what is certain to come: long enough for a machine that
// runs fifteen other programs on each processor, and an end to a test that would hang.
const Patience = 2 * time.Minute

// CheckLimit logs how long something took by the clock, and fails t where that is more than
// the limit on a machine that is said to be quiet.
func CheckLimit(t testing.TB, what string, took, limit time.Duration) {
	t.Helper()
	t.Logf("%s: took %v", what, took)
	if took > limit && os.Getenv("QSNIFF_QUIET") != "" {
		t.Errorf("%s: took %v, want %v at most", what, took, limit)
	}
}

// SkipUnlessLive skips t unless make test-live runs it. It is for live captures, which take
// seconds by nature, and in which the kernel drops packets while the processor is busy
// elsewhere.
func SkipUnlessLive(t testing.TB) {
	t.Helper()
	if os.Getenv("QSNIFF_LIVE") == "" {
		t.Skip("takes seconds, and a processor that is not late (make test-live)")
	}
}

// Await calls isDone until it returns true, and fails t if that takes longer than Patience.
// It calls every few milliseconds, and less often the longer it takes, for isDone may start
// programs: the end is noticed within a sixteenth of the time that it took.
func Await(t testing.TB, what string, isDone func() bool) {
	t.Helper()
	const pause = 5 * time.Millisecond
	for begun := time.Now(); !isDone(); time.Sleep(max(pause, time.Since(begun)/16)) {
		if time.Since(begun) > Patience {
			t.Fatalf("waited %v for %s", Patience, what)
		}
	}
}
