//go:build cgo && unix

package file

import (
	"os"
	"reflect"
	"unsafe"

	"github.com/google/gopacket/layers"
	"golang.org/x/sys/unix"
)

// FreeTables gives back 6 MiB that every run had resident from its start: gopacket's package
// for libpcap imports its decoders, and these fill in a row for each of 65,536 types twice,
// and as many decoders that fail. qsniff decodes nothing with them. A program that does must
// not call this.
func FreeTables() {
	for _, t := range []*[65536]layers.EnumMetadata{&layers.EthernetTypeMetadata, &layers.PPPTypeMetadata} {
		if t[1].DecodeWith == nil { // given back before
			continue
		}
		first, last := reflect.ValueOf(t[1].DecodeWith), reflect.ValueOf(t[len(t)-1].DecodeWith)
		size := first.Type().Elem().Size()
		if last.Type() == first.Type() && last.Pointer()-first.Pointer() == uintptr(len(t)-2)*size { // they are one array
			freePages(first.UnsafePointer(), uintptr(len(t)-1)*size)
		}
		freePages(unsafe.Pointer(t), unsafe.Sizeof(*t))
	}
}

// freePages clears memory and returns its pages, which are zero when they are read again.
func freePages(p unsafe.Pointer, size uintptr) {
	b := unsafe.Slice((*byte)(p), size)
	clear(b)
	page := uintptr(os.Getpagesize())
	skip := -uintptr(p) & (page - 1)
	_ = unix.Madvise(b[skip:skip+(size-skip)&^(page-1)], unix.MADV_DONTNEED) // refused, the memory stays
}
