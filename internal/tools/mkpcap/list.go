package main

import (
	"encoding/binary"
	"strconv"
)

// A client asks a master for all servers of one game: listPages pages, the first of them
// full.
const (
	listPages = 2
	perPage   = 231
	lastPage  = 69 // servers on the last page
)

// listed returns the address and the port of server i of the list that is drawn with seed.
func listed(seed uint32, i int) endpoint {
	h := uint64(seed)<<32 | uint64(i)
	h *= 0x9e37_79b9_7f4a_7c15
	return endpoint{serverNet | uint32(h>>40)&0x1_ffff, uint16(serverPort + h>>58)}
}

// appendList appends the payload of a step of such a query: pages follow requests.
func appendList(b []byte, seed uint32, step int) []byte {
	page := step / 2
	first := page * perPage
	if step%2 == 0 {
		b = append(b, "1\xff"...)
		var last endpoint
		if page > 0 {
			last = listed(seed, first-1)
		}
		return append(appendEndpoint(b, last), "\x00\\appid\\440\\empty\\1\x00"...)
	}
	n := perPage
	if page == listPages-1 {
		n = lastPage
	}
	b = append(b, "\xff\xff\xff\xfff\n"...)
	for i := range n {
		s := listed(seed, first+i)
		b = binary.BigEndian.AppendUint32(b, s.addr)
		b = binary.BigEndian.AppendUint16(b, s.port)
	}
	if n < perPage {
		b = append(b, 0, 0, 0, 0, 0, 0) // the end
	}
	return b
}

// appendEndpoint appends e as text.
func appendEndpoint(b []byte, e endpoint) []byte {
	for shift := 24; shift >= 0; shift -= 8 {
		b = append(strconv.AppendUint(b, uint64(e.addr>>shift&0xff), 10), '.')
	}
	b[len(b)-1] = ':'
	return strconv.AppendUint(b, uint64(e.port), 10)
}
