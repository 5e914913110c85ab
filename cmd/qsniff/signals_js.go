package main

import (
	"os"
	"syscall"
)

// endingSignals returns the signals that end a run. In a browser there is none: who runs the
// program ends it as a whole.
func endingSignals() []os.Signal { return []os.Signal{os.Interrupt, syscall.SIGTERM} }

// ignoreBrokenPipe does nothing: there are no pipes.
func ignoreBrokenPipe() {}
