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

// ignoreBrokenPipe makes a write to a pipe that nobody reads an error, and not the end.
func ignoreBrokenPipe() { signal.Ignore(syscall.SIGPIPE) }
