//go:build !amd64

package mem

import "unsafe"

// prefetch does nothing: only for amd64 it was measured what it is worth.
func prefetch(a, b unsafe.Pointer) {}
