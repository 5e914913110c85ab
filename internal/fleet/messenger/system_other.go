//go:build !unix

package messenger

import "os/exec"

// openSame is no flag where there are no pipes among files.
const openSame = 0

func ownGroup(*exec.Cmd) {}

// killGroup kills a program. Programs that it started go on.
func killGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
