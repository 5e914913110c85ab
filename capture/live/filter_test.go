package live

import (
	"net/netip"
	"testing"

	"qsniff/capture"
	"qsniff/capture/file"
	"qsniff/internal/test/testpcap"
)

const pcapfiles = "../../pcapfiles"

// packets reads a capture.
func packets(t *testing.T, name string) (all []capture.Packet) {
	t.Helper()
	r, err := file.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		var b capture.Batch
		err := r.Read(&b)
		all = append(all, b.Packets...)
		if err != nil {
			return all
		}
	}
}

// usual is a filter like those that are made of protocols: patterns of every sort, and
// some ports.
var usual = &AutoFilter{
	Payloads: []PayloadPattern{
		{Value: []byte("\xff\xff\xff\xff")}, {Value: []byte("\xfe\xff\xff\xff")},
		{Value: []byte("\xff\xff\xff\xffT")}, // which the first one covers
		{Value: []byte("s"), MaxLen: 1}, {Value: []byte("b"), MaxLen: 1},
		{Value: []byte("EYE"), MinLen: 4}, {Value: []byte("0\n\\"), MinLen: 4},
		{Value: []byte("1\x000"), Mask: []byte("\xff\x00\xf0"), MinLen: 4},
		{Value: []byte("1\x00["), Mask: []byte("\xff\x00\xff"), MinLen: 4},
		{Value: []byte("1\x00\x00\x00\x00\\"), Mask: []byte("\xff\x00\x00\x00\x00\xff")},
		{Value: []byte("2\x00\x00\x00\x00\\"), Mask: []byte("\xff\x00\x00\x00\x00\xff")},
	},
	UDP: []uint16{22126, 22127, 22128, 27010}, TCP: []uint16{27015, 27016, 27017, 25575},
	Missed: []Missed{{Protocol: "here", Forms: []string{"some", "others"}}, {Protocol: "there", TCP: true}},
}

// datagram goes from a client to a port of a server.
func datagram(payload []byte, port uint16) testpcap.Datagram {
	return testpcap.Datagram{
		Src: netip.AddrPortFrom(netip.MustParseAddr("10.64.0.1"), 40001), Dst: netip.AddrPortFrom(netip.MustParseAddr("198.18.0.1"), port),
		TTL: 64, Payload: payload,
	}
}
