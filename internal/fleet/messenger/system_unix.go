//go:build unix

package messenger

import (
	"os/exec"
	"syscall"
)

// openSame are flags with which a file is opened after it was looked at: they refuse a symbolic
// link, and do not wait for the other end of a pipe, that took its place since.
const openSame = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

// ownGroup has a program and what it starts in a group of their own, which signals to this
// process do not reach.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killGroup kills a program and what it started.
func killGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
