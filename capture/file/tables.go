//go:build cgo && unix

package file

import (
	"reflect"

	"github.com/google/gopacket/layers"

	"qsniff/internal/mem"
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
			mem.Discard(first.UnsafePointer(), uintptr(len(t)-1)*size)
		}
		rows := reflect.ValueOf(t)
		mem.Discard(rows.UnsafePointer(), rows.Type().Elem().Size())
	}
}
