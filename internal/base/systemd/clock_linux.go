package systemd

import "golang.org/x/sys/unix"

// monotonicMicros returns the clock that the manager compares reports by.
func monotonicMicros() int64 {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) != nil {
		return 0
	}
	return t.Nano() / 1000
}
