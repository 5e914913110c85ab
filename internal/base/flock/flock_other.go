//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package flock

import "os"

// TryLock returns true: this system has no such locks, and the user has to see that no
// two captures write the same file.
func TryLock(*os.File) bool { return true }
