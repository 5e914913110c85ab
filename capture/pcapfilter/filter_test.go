package pcapfilter

import (
	"errors"
	"testing"

	"qsniff/capture"
)

// TestFilter: packets are chosen by their bytes, whatever their link types; one that no filter is for ends it.
func TestFilter(t *testing.T) {
	const linkRaw, linkNone = 101, 0xfff0
	datagram := []byte{0x45, 0, 0, 29, 0, 1, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0x9c, 0x41, 0x69, 0x87, 0, 9, 0, 0, 's'}
	ethernet := append([]byte{0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 2, 8, 0}, datagram...)
	for text, want := range map[string]bool{"udp port 27015": true, "tcp": false, "host 10.0.0.3": false} {
		f, err := NewFilter(text, nil)
		if err != nil {
			t.Fatal(err)
		}
		for link, b := range map[uint16][]byte{1: ethernet, linkRaw: datagram} {
			got, err := f.Keep(&capture.Packet{Link: link, Data: b, Wire: uint32(len(b))})
			if err != nil || got != want {
				t.Errorf("%s, link type %d\ngot  %v, %v\nwant %v", text, link, got, err, want)
			}
		}
		var none *LinkError
		if _, err := f.Keep(&capture.Packet{Link: linkNone, Data: datagram, Wire: uint32(len(datagram))}); !errors.As(err, &none) || none.Link != linkNone {
			t.Errorf("%s, link type %d: %v", text, linkNone, err)
		}
	}
	var wrong *Error
	if _, err := NewFilter("udp prt 1", nil); !errors.As(err, &wrong) {
		t.Errorf("no filter: %v", err)
	}
}
