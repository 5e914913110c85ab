package pipeline

import (
	"crypto/sha256"
	"encoding/binary"

	"qsniff/capture"
)

// seedOf makes a seed of the first packet of a capture: the same capture gives the same
// output, whether it is a file, compressed or comes through a pipe. Later packets do
// not count, because a pipe may bring them late.
//
// Estimates rest on hashes with this seed. An attacker on the wire cannot choose packets
// whose hashes collide: neither the time stamp of the first packet nor its link addresses
// are known there. The author of a file can, and make estimates wrong, but nothing slow:
// each hash with this seed leads to a fixed number of places, and tables that are
// searched have secret seeds, see package lru.
func seedOf(p *capture.Packet) uint64 {
	h := sha256.New()
	var b [12]byte
	binary.LittleEndian.PutUint64(b[:], uint64(p.Nanos))
	binary.LittleEndian.PutUint32(b[8:], p.Wire)
	h.Write(b[:])
	h.Write(p.Data)
	return max(binary.LittleEndian.Uint64(h.Sum(nil)), 1) // 0 is none
}
