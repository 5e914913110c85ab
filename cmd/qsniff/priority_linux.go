package main

import "golang.org/x/sys/unix"

// lowerPriority has everything else run before this process.
func lowerPriority() {
	const lowest = 19
	_ = unix.Setpriority(unix.PRIO_PROCESS, 0, lowest) // a process may always do this
}
