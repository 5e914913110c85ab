package main

import (
	"os"
	"strconv"
	"strings"
)

// peak is the most memory that this process had, in bytes. What getrusage(2) says of a
// child begins with what its parent had when it started it.
func peak() (int64, bool) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(status)) {
		words := strings.Fields(line)
		if len(words) == 3 && words[0] == "VmHWM:" {
			n, err := strconv.ParseInt(words[1], 10, 64)
			return n << 10, err == nil
		}
	}
	return 0, false
}
