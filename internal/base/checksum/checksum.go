// Package checksum has the sum of IP, UDP, TCP and ICMP (RFC 1071).
package checksum

import "encoding/binary"

// Add adds b to a sum of big-endian numbers of 16 bits. Of several calls only the last may have an odd number of bytes.
func Add(sum uint64, b []byte) uint64 {
	for ; len(b) >= 4; b = b[4:] { // two at a time: to the sum of one's complement it is the same
		sum += uint64(binary.BigEndian.Uint32(b))
	}
	if len(b) >= 2 {
		sum += uint64(binary.BigEndian.Uint16(b))
		b = b[2:]
	}
	if len(b) == 1 {
		sum += uint64(b[0]) << 8
	}
	return sum
}

// Fold adds the carries of a sum to it until there are none.
func Fold(sum uint64) uint16 {
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return uint16(sum)
}
