package fleettest

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"net/netip"
	"time"

	"qsniff/internal/track"
)

// Client is somebody who asks, at an address of its own.
type Client struct {
	host track.Host
	ttl  uint8
	trip time.Duration // until an answer is there and what it asks next is here
}

// Numbers of clients: those who play on the servers of the fleet come first, then who comes with an
// event, then machines.
const (
	regulars = 60_000
	newPeople
	botsFrom     = 10_000_000
	monitorsFrom = 20_000_000
)

// Client returns the n-th client, who is always the same. They live in 300 networks, some with many
// of them, and no address is an impossible one.
func (w *World) Client(n int) Client {
	r := rand.New(rand.NewPCG(uint64(n), 2))
	u := r.Float64()
	net := uint32(300 * u * u)
	a := (20+net%100)<<24 | (net*37%256)<<16 | r.Uint32()&0xffff
	from := [...]uint8{128, 128, 128, 128, 64}[r.IntN(5)]
	hops := min(max(14+4*r.NormFloat64(), 4), 28)
	trip := min(60*math.Exp(0.6*r.NormFloat64()), 400)
	return Client{hostOf(a), from - uint8(hops), time.Duration(trip * 1e6)}
}

// Regular returns one of those who play on the servers of the fleet.
func (w *World) Regular() Client { return w.Client(w.Rand.IntN(regulars)) }

// NewClient returns a client who was never there before.
func (w *World) NewClient() Client {
	w.people++
	return w.Client(w.people)
}

// hostOf returns the host of an IPv4 address.
func hostOf(n uint32) track.Host {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], n)
	return netip.AddrFrom4(b).As16()
}

// anywhere returns an address that was invented.
func (w *World) anywhere() track.Host { return hostOf(w.Rand.Uint32()) }

// port returns a source port as clients bind them.
func (w *World) port() uint16 {
	switch u := w.Rand.Float64(); {
	case u < 0.1:
		return 27005
	case u < 0.6:
		return uint16(1024 + w.Rand.IntN(64512))
	}
	return uint16(49152 + w.Rand.IntN(16384))
}
