package mem

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mappings lists what is mapped. It is opened once: a sandbox that comes later has no /proc.
var mappings = sync.OnceValues(func() (*os.File, error) { return os.Open("/proc/self/smaps") })

// ReturnProgram gives pages of the program's code and constants back to the system: what only its
// start used is not resident any more; what is used is mapped again, from the page cache. One goroutine
// calls it at a time.
//
// Safe: the mappings are of the program's file, not writable, and no page of them differs from the
// file (Anonymous, see proc(5)), so that each is what it was when it is read again.
func ReturnProgram() {
	list, err := mappings()
	if err == nil {
		_, err = list.Seek(0, io.SeekStart)
	}
	self, noName := os.Readlink("/proc/self/exe") // again: another name if the file was replaced
	if err != nil || noName != nil {
		return // no /proc
	}
	var from, to uintptr
	isOurs := false
	for lines := bufio.NewScanner(list); lines.Scan(); {
		name, value, _ := bytes.Cut(lines.Bytes(), []byte(" "))
		switch {
		case !bytes.HasSuffix(name, []byte(":")): // the first line of a mapping
			isOurs = value[1] == '-' && bytes.HasSuffix(value, []byte(" "+self))
			if isOurs {
				n, _ := fmt.Sscanf(string(name), "%x-%x", &from, &to)
				isOurs = n == 2
			}
		case isOurs && string(name) == "Anonymous:" && string(bytes.TrimSpace(value)) == "0 kB":
			_, _, _ = unix.Syscall(unix.SYS_MADVISE, from, to-from, unix.MADV_DONTNEED) // refused, the pages stay
		}
	}
}

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
