// Package mem holds all that qsniff does with memory by its address: no other package outside of
// tests imports unsafe or has assembly, which internal/test/deptest holds. What C does in
// capture/live is apart from it. It is no allocator.
//
// Each function states what makes it safe. Where the caller has to see to that, it says so; where a
// check is possible, it is made.
package mem

import (
	"sync/atomic"
	"unsafe"
)

// Prefetch asks the processor for the line of its cache that a points to, and for the two from b on.
// Who knows that it will read them a few hundred nanoseconds before need not wait for them.
//
// Safe: nothing is read or written, and no address faults.
func Prefetch[A, B any](a *A, b *B) { prefetch(unsafe.Pointer(a), unsafe.Pointer(b)) }

// SizeOf returns how many bytes a T takes, without what it points to.
//
// Safe: no address is used.
func SizeOf[T any]() int { return int(unsafe.Sizeof(*new(T))) }

// Status returns the number in b[at:at+4] for atomic access. The kernel and the program hand a block
// of memory to each other by such a number.
//
// Safe: the four bytes are checked to lie in b, and at a multiple of four; the result keeps b from
// being collected. If b is mapped, the caller must not use the result after unmapping it, as it must
// not use b.
func Status(b []byte, at int) *atomic.Uint32 {
	p := unsafe.Pointer(&b[at : at+4][0])
	if uintptr(p)%4 != 0 {
		panic("mem: a status that is not at a multiple of four")
	}
	return (*atomic.Uint32)(p)
}
