package timing

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// CPU returns the time that a processor spent on f, which runs on one thread.
func CPU(f func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := used()
	f()
	return used() - before
}

// used is what the calling thread has taken. An error leaves zero, which no limit minds.
func used() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t)
	return time.Duration(t.Nano())
}
