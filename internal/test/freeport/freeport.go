// Package freeport finds ports for programs that tests start. Tests alone import it.
package freeport

import (
	"net"
	"testing"
)

// Addr returns an address of this machine with a TCP port that nobody has now.
func Addr(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
