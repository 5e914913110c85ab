//go:build unix

package mem

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Discard clears n bytes of static memory from p on, and returns its pages to the system, which are
// zero when they are read again.
//
// The caller must see to it that
//   - they belong to one variable that the linker placed, or to one allocation that stays referenced,
//   - no goroutine uses them meanwhile, and zero is a value that their later users allow,
//   - what they point to is static or stays referenced elsewhere: the collector, if it is at work, is
//     not told of pointers that are cleared here.
//
// Only whole pages are returned, so that memory beside them keeps its bytes.
func Discard(p unsafe.Pointer, n uintptr) {
	b := unsafe.Slice((*byte)(p), n)
	clear(b)
	page := uintptr(os.Getpagesize())
	skip := min(-uintptr(p)&(page-1), n)
	if whole := (n - skip) &^ (page - 1); whole > 0 {
		_ = unix.Madvise(b[skip:skip+whole], unix.MADV_DONTNEED) // refused, the memory stays
	}
}
