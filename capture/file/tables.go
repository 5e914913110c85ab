//go:build cgo && unix

package file

import (
	"os"
	"unsafe"

	"github.com/google/gopacket/layers"
	"golang.org/x/sys/unix"
)

// FreeTables gives back 5 MiB that every run had resident from its start: gopacket's package
// for libpcap imports its decoders, and these fill in a row for each of 65,536 types twice.
// qsniff decodes nothing with them. A program that does must not call this.
func FreeTables() {
	freeTable(&layers.EthernetTypeMetadata)
	freeTable(&layers.PPPTypeMetadata)
}

// freeTable clears a table and returns its pages, which are zero when they are read again.
func freeTable(t *[65536]layers.EnumMetadata) {
	clear(t[:])
	page := uintptr(os.Getpagesize())
	from := uintptr(unsafe.Pointer(t))
	skip := -from & (page - 1)
	whole := (unsafe.Sizeof(*t) - skip) &^ (page - 1)
	b := unsafe.Slice((*byte)(unsafe.Pointer(t)), unsafe.Sizeof(*t))[skip : skip+whole]
	_ = unix.Madvise(b, unix.MADV_DONTNEED) // refused, the memory stays
}
