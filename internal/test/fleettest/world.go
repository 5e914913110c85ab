package fleettest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"slices"
	"time"

	"qsniff/dissect"
	"qsniff/dissect/protocols"
	"qsniff/internal/track"
)

// World is a fleet and all who ask its servers.
type World struct {
	Rand  *rand.Rand
	Hosts []*Host
	// Seen is called with each packet, at the host that it came to or left. The sighting is valid
	// during the call.
	Seen func(h *Host, s *track.Sighting)
	// Blackout reports whether a host's packets are lost before its sensor sees them; nil: none are.
	Blackout func(h *Host) bool

	start  time.Time
	seed   uint64 // of the hashes of sightings
	now    time.Duration
	queue  schedule
	frames uint64
	people int // how many new clients there were, see NewClient
}

// Host is a machine with game servers and a sensor.
type Host struct {
	Index   int
	Name    string
	Addr    netip.Addr
	Servers []*Server
}

// Options are how large a world is.
type Options struct {
	Hosts int
	// MostServers is how many servers a host has at most; 0: 16.
	MostServers int
	Seed        uint64    // everything is drawn from it
	Hashes      uint64    // the seed of the hashes of sightings
	Start       time.Time // of its first packet
}

// The addresses of the fleet: hostsEach hosts in each of its networks, a /24 each, from
// 10.20.0.0 on. Chosen: what a hoster has in one place.
const hostsEach = 20

// NewWorld returns a world in which nothing happens yet. Most hosts have a few servers, some have
// many.
func NewWorld(opt Options) *World {
	w := &World{Rand: rand.New(rand.NewPCG(opt.Seed, 1)), seed: opt.Hashes, start: opt.Start, people: newPeople}
	most := opt.MostServers
	if most == 0 {
		most = 16
	}
	for i := range opt.Hosts {
		h := &Host{Index: i, Name: fmt.Sprintf("host-%03d", i), Addr: netip.AddrFrom4([4]byte{10, 20, byte(i / hostsEach), byte(10 + i%hostsEach)})}
		n := 1 + int(float64(most)*math.Pow(w.Rand.Float64(), 3))
		for p := range min(n, most) {
			h.Servers = append(h.Servers, newServer(w, h, uint16(27015+p)))
		}
		w.Hosts = append(w.Hosts, h)
	}
	return w
}

// Servers returns the servers of all hosts.
func (w *World) Servers() (all []*Server) {
	for _, h := range w.Hosts {
		all = append(all, h.Servers...)
	}
	return all
}

// Now returns how long the world has lasted.
func (w *World) Now() time.Duration { return w.now }

// Nanos returns the time of the packets, in Unix nanoseconds.
func (w *World) Nanos() int64 { return w.start.UnixNano() + int64(w.now) }

// Run lets happen what happens before a time.
func (w *World) Run(until time.Duration) {
	for len(w.queue.heap) > 0 && w.queue.heap[0].at < until {
		x := w.queue.pop()
		w.now = x.at
		x.do()
	}
	w.now = until
}

// see shows a packet to the sensor of a host.
func (w *World) see(h *Host, s *track.Sighting) {
	if w.Blackout != nil && w.Blackout(h) {
		return
	}
	w.frames++
	s.Frame, s.Age, s.Nanos = w.frames, w.Nanos(), w.Nanos()
	s.Wire = s.Bytes + headers
	s.FillHashes(w.seed)
	w.Seen(h, s)
}

// headers is the length of those of IPv4 and UDP.
const headers = 28

// message is a kind of message, and how long it is on the wire.
type message struct {
	t     *dissect.Type
	bytes uint32
}

// Registry has the protocols of the program.
var Registry = func() *dissect.Registry {
	reg, err := dissect.NewRegistry(protocols.All()...)
	if err != nil {
		panic(err)
	}
	return reg
}()

// a2s is what the servers of a world speak.
var a2s = func() *dissect.Proto {
	all := Registry.Protos()
	return all[slices.IndexFunc(all, func(p *dissect.Proto) bool { return p.Name == "a2s" })]
}()

func typeOf(name string) *dissect.Type {
	return a2s.Types[slices.IndexFunc(a2s.Types, func(t *dissect.Type) bool { return t.Name == name })]
}

var (
	infoQuery   = message{typeOf("A2S_INFO"), 25}
	playerQuery = message{typeOf("A2S_PLAYER"), 9}
	rulesQuery  = message{typeOf("A2S_RULES"), 9}
	challenge   = message{typeOf("S2C_CHALLENGE"), 9}
	info        = message{typeOf("S2A_INFO_SRC"), 170}
	players     = message{typeOf("S2A_PLAYER"), 520}
	rules       = message{typeOf("S2A_RULES"), 1248}
)

// answers has what queries are answered with.
var answers = map[*dissect.Type]message{infoQuery.t: info, playerQuery.t: players, rulesQuery.t: rules}
