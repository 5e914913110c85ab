package mem

import "unsafe"

// prefetch is in assembly, for Go has no instruction for it.
//
//go:noescape
func prefetch(a, b unsafe.Pointer)
