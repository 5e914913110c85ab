// Package flock marks files as being written, for other runs of this program. It
// does not keep anybody from writing who does not ask.
package flock
