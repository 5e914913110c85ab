//go:build unix

package file

import "syscall"

// sameFile opens what was looked at: no link, nor a pipe that waits for its other end,
// that took its place since.
const sameFile = syscall.O_NOFOLLOW | syscall.O_NONBLOCK
