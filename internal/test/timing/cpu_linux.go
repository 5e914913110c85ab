package timing

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// MeasureCPU returns the time that a processor spent on f. f runs on one thread and starts no
// goroutines.
func MeasureCPU(f func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := threadTime()
	f()
	return threadTime() - before
}

// threadTime returns the CPU time of the calling thread so far. After an error it is zero, which
// exceeds no limit.
func threadTime() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t)
	return time.Duration(t.Nano())
}
