//go:build !race

// Package race tells tests whether the race detector is on: it allocates by itself
// and slows everything down, so that figures mean nothing.
package race

// Enabled says that the race detector is on.
const Enabled = false
