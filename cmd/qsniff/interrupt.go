package main

import (
	"context"
	"time"
)

// stdin is the file name that means standard input.
const stdin = "-"

// grace is how long a run goes on after an interrupt while it reads a pipe. Ctrl-C reaches
// the programs at both ends, and the one that captures writes what it has buffered when it
// ends. Chosen: enough for that, and hardly noticed.
const grace = 300 * time.Millisecond

type interruptKey struct{}

// withGrace returns a context that ends with ctx, or grace later if mayBringMore: if packets
// may still come in.
func withGrace(ctx context.Context, mayBringMore bool) (context.Context, context.CancelFunc) {
	inner := context.WithoutCancel(ctx)
	inner = context.WithValue(inner, interruptKey{}, ctx)
	run, cancel := context.WithCancel(inner)
	stop := context.AfterFunc(ctx, func() {
		if mayBringMore {
			time.Sleep(grace)
		}
		cancel()
	})
	return run, func() {
		stop()
		cancel()
	}
}

// isInterrupted reports whether the user ended the run of ctx, which withGrace returned. The
// run may have come to its end by itself since.
func isInterrupted(ctx context.Context) bool {
	outer, ok := ctx.Value(interruptKey{}).(context.Context)
	return ok && outer.Err() != nil
}
