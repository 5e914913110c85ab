package other

import (
	"qsniff/internal/base/lru"
	"qsniff/internal/base/mem"
	"qsniff/internal/flood/measure"
	"qsniff/internal/flood/sketch"
	"qsniff/internal/track"
)

// FixedBytes returns what a table of the usual size takes from the first packet on, in bytes.
func FixedBytes() int { return 2*(sessionBytes+2*handshakeBytes) + mem.SizeOf[Table]() }

// KnownBytes returns what it takes besides with the first host that is known.
func KnownBytes() int {
	return knownHosts * (mem.SizeOf[lru.Evicted[track.Host, known]]() + 3*4 + 2*8)
}

// MostBytes returns what it takes besides with all that there is room for.
func MostBytes() int {
	item := mem.SizeOf[sketch.Item[track.Host, measure.Activity]]() + 2*4
	return heavyHosts*mem.SizeOf[Host]() + views*(mem.SizeOf[view]()+mem.SizeOf[measure.Senders]()+topSources*item)
}
