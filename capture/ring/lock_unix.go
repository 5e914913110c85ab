//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package ring

import (
	"errors"
	"os"
	"syscall"
)

// lock marks a file as being written, until it is closed. It returns false if
// somebody else did. File systems without locks are believed.
func lock(f *os.File) bool {
	return !errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}
