package timing

import (
	"testing"
	"time"
)

// TestCPU: sleep costs none, work does.
func TestCPU(t *testing.T) {
	const nap = 20 * time.Millisecond
	if took := MeasureCPU(func() { time.Sleep(nap) }); took >= nap {
		t.Errorf("CPU time of %v of sleep: %v", nap, took)
	}
	began, turns := time.Now(), 0
	if took := MeasureCPU(func() {
		for ; time.Since(began) < nap; turns++ {
		}
	}); took <= 0 {
		t.Errorf("CPU time of %d turns: %v", turns, took)
	}
}

// TestLimit: the clock is compared on a quiet machine only.
func TestLimit(t *testing.T) {
	for _, tc := range []struct {
		quiet string
		took  time.Duration
		fails bool
	}{{"", 2, false}, {"1", 2, true}, {"1", 1, false}} {
		t.Setenv("QSNIFF_QUIET", tc.quiet)
		var x judge
		CheckLimit(&x, "it", tc.took, 1)
		if x.failed != tc.fails {
			t.Errorf("quiet %q, took %d of 1\ngot  failed %v\nwant %v", tc.quiet, tc.took, x.failed, tc.fails)
		}
	}
}

// judge is a test that only notes whether it failed.
type judge struct {
	testing.TB
	failed bool
}

func (j *judge) Helper()               {}
func (j *judge) Logf(string, ...any)   {}
func (j *judge) Errorf(string, ...any) { j.failed = true }
