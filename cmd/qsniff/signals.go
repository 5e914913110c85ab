//go:build !js

package main

import (
	"os"
	"os/signal"
	"syscall"
)

// endingSignals returns the signals that end a run.
func endingSignals() []os.Signal {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup ignores it
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
}

// hangups returns a channel that gets SIGHUP, which ends nothing from now on. The channel gets it
// under nohup, too: whoever sends it there wants what it is for here.
func hangups() <-chan os.Signal {
	signal.Reset(syscall.SIGHUP)
	c := make(chan os.Signal, 1) // one reload does for several
	signal.Notify(c, syscall.SIGHUP)
	return c
}

// ignoreBrokenPipe makes a write to a pipe that nobody reads an error, and not the end.
func ignoreBrokenPipe() { signal.Ignore(syscall.SIGPIPE) }
