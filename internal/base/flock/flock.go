//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

// Package flock marks files as being written, so that two runs of this program do not
// write the same file. The locks are advisory: other programs can write all the same.
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
