//go:build !unix

package messenger

import "os/exec"

func ownGroup(*exec.Cmd) {}

// killGroup kills a program. What it started goes on.
func killGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
