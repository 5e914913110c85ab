//go:build !cgo

package clients

import (
	"testing"

	"qsniff/internal/test/responder"
)

// needCapture skips t: capturing takes libpcap.
func needCapture(t *testing.T) {
	t.Helper()
	t.Skip("built without cgo, and so without libpcap to capture with")
}

// record is not reached.
func record(t *testing.T, run func(), servers ...*responder.Server) string {
	t.Helper()
	needCapture(t)
	return ""
}
