package other

import (
	"unsafe"

	"qsniff/flood/measure"
	"qsniff/flood/sketch"
	"qsniff/internal/lru"
	"qsniff/track"
)

// What a table of the usual size takes, in bytes: from the first packet on, with the first
// host that is known, and with all that there is room for.
const (
	FixedBytes = 2*(sessionBytes+2*handshakeBytes) + int(unsafe.Sizeof(Table{}))
	KnownBytes = knownHosts * (int(unsafe.Sizeof(lru.Evicted[track.Host, known]{})) + 3*4 + 2*8)
	MostBytes  = heavyHosts*int(unsafe.Sizeof(Host{})) +
		views*(int(unsafe.Sizeof(view{})+unsafe.Sizeof(measure.Senders{}))+topSources*(int(unsafe.Sizeof(sketch.Item[track.Host, measure.Activity]{}))+2*4))
)
