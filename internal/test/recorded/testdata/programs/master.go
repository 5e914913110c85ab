package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"strings"
)

// listed is how many servers the master lists, and perPage how many fit into one reply of 1,392 bytes.
const (
	listed  = 300
	perPage = 231
)

// serveMaster serves a list of servers as Steam's master server did, to any filter: pages, each asked for with the
// last address of the one before, and 0.0.0.0:0 after the last. The servers are in 198.51.100.0/24, which is for
// documentation.
func serveMaster(addr string, _ []string) (any, error) {
	conn, err := net.ListenPacket("udp4", addr)
	if err != nil {
		return nil, err
	}
	fmt.Println("ready")
	buf := make([]byte, maxRequest)
	for {
		n, from, err := conn.ReadFrom(buf)
		if err != nil {
			return nil, err
		}
		if n < 2 || buf[0] != '1' {
			continue
		}
		if _, err := conn.WriteTo(page(seedOf(buf[2:n])), from); err != nil {
			return nil, err
		}
	}
}

// page returns the reply with the servers that follow the one at the address seed.
func page(seed string) []byte {
	first := 0
	for i := range listed {
		if server(i).String() == seed {
			first = i + 1
		}
	}
	out := []byte("\xff\xff\xff\xfff\n")
	for i := first; i < min(first+perPage, listed); i++ {
		addr := server(i).Addr().As4()
		out = binary.BigEndian.AppendUint16(append(out, addr[:]...), server(i).Port())
	}
	if first+perPage >= listed {
		out = append(out, 0, 0, 0, 0, 0, 0)
	}
	return out
}

// seedOf returns the address in a request for a page, without what is no digit after it: qstat 2.17 sends no NUL
// there, but a byte that happens to be in its memory.
func seedOf(request []byte) string {
	seed, _, _ := bytes.Cut(request, []byte{0})
	return strings.TrimRightFunc(string(seed), func(r rune) bool { return r < '0' || r > '9' })
}

// server is the address of server i.
func server(i int) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, 51, 100, byte(i/2 + 1)}), uint16(27015+i%2*10))
}
