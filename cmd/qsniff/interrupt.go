package main

import (
	"context"
	"time"
)

// stdin is the file name that means standard input.
const stdin = "-"

// grace is how long a run goes on after an interrupt while it reads a pipe:
// Ctrl-C reaches both ends, and the program that captures writes what it has
// buffered when it ends.
const grace = 300 * time.Millisecond

type interruptKey struct{}

// withGrace returns a context that ends with ctx, or a moment later where the input
// may still bring something.
func withGrace(ctx context.Context, later bool) (context.Context, context.CancelFunc) {
	inner := context.WithoutCancel(ctx)
	inner = context.WithValue(inner, interruptKey{}, ctx)
	run, cancel := context.WithCancel(inner)
	stop := context.AfterFunc(ctx, func() {
		if later {
			time.Sleep(grace)
		}
		cancel()
	})
	return run, func() {
		stop()
		cancel()
	}
}

// isInterrupted reports whether the user asked to stop, though the run may have ended
// by itself since.
func isInterrupted(ctx context.Context) bool {
	outer, ok := ctx.Value(interruptKey{}).(context.Context)
	return ok && outer.Err() != nil
}
