//go:build unix

package messenger

import "syscall"

// openSame are flags with which a file is opened after it was looked at: they refuse a symbolic
// link, and do not wait for the other end of a pipe, that took its place since.
const openSame = syscall.O_NOFOLLOW | syscall.O_NONBLOCK
