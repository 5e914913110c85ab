//go:build !js

package main

import (
	"context"
	"fmt"
	"os"

	"qsniff/internal/app/terminal"
	"qsniff/internal/base/cli"
)

// onScreenName is the variable that marks the process which takes the terminal.
const onScreenName = "QSNIFF_ON_SCREEN"

// onScreen calls show, which takes the terminal, in another process. A crash of a goroutine, or
// SIGKILL, would leave the terminal taken: however the other process ends, this one gives it back.
func onScreen(ctx context.Context, show func() error) error {
	if os.Getenv(onScreenName) != "" || !isTerminal(os.Stdout) {
		os.Unsetenv(onScreenName)
		return show()
	}
	cmd, err := cli.OwnCommand("qsniff", os.Args[1:]...)
	if err != nil {
		return err
	}
	cmd.Stdin, cmd.Stdout, cmd.Env = os.Stdin, os.Stdout, append(os.Environ(), onScreenName+"=1")
	status, said, crashed, err := terminal.Guard(ctx, cmd)
	if err != nil {
		return err
	}
	if _, err := os.Stderr.Write(said); err != nil {
		return err
	}
	if crashed {
		return &hintedError{fmt.Errorf("it ended unexpectedly (%s); the terminal is as it was", cmd.ProcessState), "what it printed is above; the same with qsniff read shows whether the capture is the reason"}
	}
	if status != exitOK {
		return statusError(status)
	}
	return nil
}
