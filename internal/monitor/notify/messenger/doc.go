// Package messenger is the process that passes Notes of package tell on: to a file, to services
// over HTTP, to a program, to the logs of the system; and messages of a fleet to its broker (internal/fleet/outbox).
// It makes no Notes, and never sees a packet.
//
// Serve reads orders from a pipe. Each sink has a tell.Queue and a worker of its own, so that one
// that stalls costs the others nothing. A worker sends a Note, tries again after an error that may
// pass, and counts what it cannot deliver; the next Note that is delivered says how many.
package messenger
