package mem

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// ReturnProgram gives pages of the program's code and constants back to the system: what only its
// start used is not resident any more; what is used is mapped again, from the page cache.
//
// Safe: the mappings are of the program's file, not writable, and no page of them differs from the
// file (Anonymous, see proc(5)), so that each is what it was when it is read again.
func ReturnProgram() {
	self, _ := os.Readlink("/proc/self/exe")
	list, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		return // no /proc
	}
	var from, to uintptr
	isOurs := false
	for line := range strings.Lines(string(list)) {
		switch name, value, _ := strings.Cut(strings.TrimSpace(line), " "); name {
		case "Anonymous:":
			if isOurs && strings.TrimSpace(value) == "0 kB" {
				_, _, _ = unix.Syscall(unix.SYS_MADVISE, from, to-from, unix.MADV_DONTNEED) // refused, the pages stay
			}
		default:
			if n, _ := fmt.Sscanf(name, "%x-%x", &from, &to); n == 2 {
				isOurs = value[1] == '-' && strings.HasSuffix(value, " "+self)
			}
		}
	}
}
