//go:build unix

package mcp

import (
	"syscall"
	"testing"
)

// makeFifo makes a named pipe that nobody writes to.
func makeFifo(t *testing.T, name string) {
	t.Helper()
	if err := syscall.Mkfifo(name, 0o644); err != nil {
		t.Fatal(err)
	}
}
