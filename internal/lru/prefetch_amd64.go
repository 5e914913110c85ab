package lru

import "unsafe"

// prefetch asks the processor for the line of its cache that a points to, and for the two from b on.
// Nothing is read: any address will do.
//
//go:noescape
func prefetch(a, b unsafe.Pointer)
