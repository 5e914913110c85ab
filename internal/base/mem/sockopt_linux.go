package mem

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// GetSocketOption asks for an option of a socket, which the kernel writes into v, and reports whether
// there is one. golang.org/x/sys/unix has this for the types of some options only, and allocates.
//
// Safe: the kernel writes as many bytes as v has at most. T must have no pointers: any bytes must be
// one.
func GetSocketOption[T any](fd, level, name int, v *T) bool {
	size := uint32(unsafe.Sizeof(*v))
	_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(fd), uintptr(level), uintptr(name),
		uintptr(unsafe.Pointer(v)), uintptr(unsafe.Pointer(&size)), 0)
	return errno == 0
}
