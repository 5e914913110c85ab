package main

import (
	"os"
	"syscall"
)

// peak is the most memory that a process that ended had, in bytes.
func peak(p *os.ProcessState) (int64, bool) {
	usage, ok := p.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0, false
	}
	return usage.Maxrss << 10, true // KiB, getrusage(2)
}
