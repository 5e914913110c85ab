//go:build !race

// Package race has the constant by which tests skip what the race detector spoils: it
// allocates by itself, and slows everything down.
package race

// Enabled reports whether the race detector is on.
const Enabled = false
