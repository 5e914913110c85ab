// Package communityid computes the Community ID of a flow: the same short text
// for both directions, which Zeek, Suricata and Wireshark compute alike. With it, the
// records that they wrote of a flow are found.
package communityid

import (
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"net/netip"
)

// Append appends version 1 of the Community ID with seed 0: the base64 form of
// the SHA-1 of seed, lower end's address, higher end's, protocol, padding, and
// the ports in the same order (corelight/community-id-spec).
func Append(dst []byte, from, to netip.AddrPort, proto uint8) []byte {
	lo, hi := from, to
	if hi.Compare(lo) < 0 {
		lo, hi = hi, lo
	}
	var buf [2 + 16 + 16 + 2 + 4]byte
	b := appendAddr(buf[:2], lo.Addr())
	b = appendAddr(b, hi.Addr())
	b = append(b, proto, 0)
	b = binary.BigEndian.AppendUint16(b, lo.Port())
	b = binary.BigEndian.AppendUint16(b, hi.Port())
	sum := sha1.Sum(b)
	dst = append(dst, "1:"...)
	return base64.StdEncoding.AppendEncode(dst, sum[:])
}

func appendAddr(b []byte, a netip.Addr) []byte {
	if a.Is4() {
		x := a.As4()
		return append(b, x[:]...)
	}
	x := a.As16()
	return append(b, x[:]...)
}
