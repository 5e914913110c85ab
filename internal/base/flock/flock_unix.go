//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package flock

import (
	"errors"
	"os"
	"syscall"
)

// TryLock locks a file until it is closed, and reports whether the caller may write it.
// It does not wait: it returns false if another process holds the lock. On a file system
// without locks it returns true.
func TryLock(f *os.File) bool {
	return !errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}
