package campaign

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"qsniff/dissect"
	"qsniff/internal/base/hostset"
	"qsniff/internal/fleet"
	"qsniff/internal/fleet/sensor"
	"qsniff/internal/flood"
	"qsniff/internal/monitor"
	"qsniff/internal/test/protos"
	"qsniff/internal/track"
)

// dawn is when the hosts of a world begin to capture.
const dawn = int64(1_772_366_400e9)

// ownTool is a monitor of who runs the hosts, which their sensors know.
var ownTool = track.Host(netip.MustParseAddr("192.0.2.9").As16())

// delivery is a message as the hub gets it.
type delivery struct {
	m            fleet.Message
	broker, sent int64
}

// world is a fleet: on each host the meter, the detector and the sensor of qsniff monitor, which see
// packets that are drawn from a seed.
type world struct {
	t      testing.TB
	r      *rand.Rand
	secret *fleet.Secret
	types  map[string]*dissect.Type
	proto  *dissect.Proto
	hosts  []*host
	at     time.Duration // since dawn
	log    []delivery
}

// host is a host of the fleet, with two servers.
type host struct {
	w        *world
	name     string
	servers  []netip.AddrPort
	watchers []track.Watcher
	frame    uint64
	found    []string // kinds of incidents that are no notes
}

func newWorld(t testing.TB, hosts int) *world {
	t.Helper()
	reg := protos.Registry(t)
	w := &world{t: t, r: rand.New(rand.NewPCG(1, 2)), types: map[string]*dissect.Type{}}
	var err error
	if w.secret, err = fleet.NewSecret([]byte("of all sensors and hubs")); err != nil {
		t.Fatal(err)
	}
	for _, p := range reg.Protos() {
		if p.Name == "a2s" {
			w.proto = p
			for _, x := range p.Types {
				w.types[x.Name] = x
			}
		}
	}
	own, err := hostset.ParseNetworks(ownTool.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	for i := range hosts {
		h := &host{w: w, name: fmt.Sprintf("host-%02d", i+1)}
		for port := range 2 {
			h.servers = append(h.servers, netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, 51, byte(100 + i), 7}), uint16(27015+port)))
		}
		meter := monitor.New(reg.Protos(), monitor.Options{Servers: h.servers, MaxServers: 64, Scale: .05, Clock: func() int64 { return 0 }})
		detector := flood.New(flood.Defaults(), .1, nil)
		detector.Know(reg.ServerPorts(), reg.ForeignTypes())
		detector.SetOwn(own)
		s := sensor.New(sensor.Options{Meter: meter, Detector: detector, Secret: w.secret, Name: h.name, Run: "5f0c", Program: "1.0", Input: "eth0", Put: h.put})
		detector.AddObserver(s.AddIncident)
		detector.AddObserver(flood.WarningsOnly(func(in *flood.Incident, e flood.Event) {
			if e == flood.Begins {
				h.found = append(h.found, in.Kind.String())
			}
		}))
		h.watchers = []track.Watcher{s, meter, detector}
		w.hosts = append(w.hosts, h)
	}
	return w
}

// put takes a message to the broker, as JSON, in 200 ms.
func (h *host) put(m fleet.Message) {
	head := fleet.HeadOf(m)
	data, err := fleet.Encode(m)
	if err != nil {
		h.w.t.Fatal(err)
	}
	if m, err = fleet.Parse(h.name, head.Kind, data); err != nil {
		h.w.t.Fatal(err)
	}
	sent := dawn + int64(h.w.at)
	h.w.log = append(h.w.log, delivery{m, sent + 200e6, sent})
}

// run lets a time go by, in steps of a twentieth of a second in which f makes packets.
func (w *world) run(d time.Duration, f func()) {
	const step = 50 * time.Millisecond
	for end := w.at + d; w.at < end; {
		w.daily()
		if f != nil {
			f()
		}
		w.at += step
		for _, h := range w.hosts {
			for _, x := range h.watchers {
				x.Tick(h.age(), dawn+int64(w.at))
			}
		}
	}
}

func (h *host) age() int64 { return int64(time.Hour) + int64(h.w.at) }

// times returns how often in a step something happens that happens rate times a second.
func (w *world) times(rate float64) (n int) {
	rate /= 20
	for rate > 0 {
		if w.r.Float64() < min(rate, 1) {
			n++
		}
		rate--
	}
	return n
}

// daily is what each server gets on a calm day: a visit a second.
func (w *world) daily() {
	for _, h := range w.hosts {
		for _, s := range h.servers {
			for range w.times(1) {
				h.visit(person(w.r.Uint32N(5000)), s)
			}
		}
	}
}

// person returns an address of people, who share networks.
func person(n uint32) track.Host {
	r := rand.New(rand.NewPCG(uint64(n), 3))
	net := r.Uint32N(200)
	return address((20+net%100)<<24 | net*37%256<<16 | r.Uint32N(1<<16))
}

func address(n uint32) (h track.Host) {
	h[10], h[11] = 0xff, 0xff
	binary.BigEndian.PutUint32(h[12:], n)
	return h
}

// see shows a packet to the host.
func (h *host) see(x track.Sighting) {
	h.frame++
	x.Frame, x.Age, x.Nanos = h.frame, h.age(), dawn+int64(h.w.at)
	x.FillHashes(h.w.secret.Seed())
	for _, w := range h.watchers {
		w.Sight(&x)
	}
}

// packet shows a packet between a client and a server.
func (h *host) packet(what track.PacketType, client track.Host, ttl uint8, server netip.AddrPort, message string, key uint32) {
	x := track.Sighting{What: what, TTL: ttl, Bytes: 25, Wire: 53, Type: h.w.types[message], Proto: h.w.proto, Key: key}
	x.Asks = x.Type.Asks
	if key != 0 {
		x.Flags, x.Bytes, x.Wire = track.HasKey, 29, 57
	}
	port := 1024 + uint16(h.w.r.Uint32N(60000))
	x.Src, x.SrcPort, x.Dst, x.DstPort = client, port, track.HostOf(server), server.Port()
	if what != track.IsRequest {
		x.Src, x.SrcPort, x.Dst, x.DstPort = x.Dst, x.DstPort, x.Src, x.SrcPort
		x.Bytes, x.Wire = 170, 198
		if what == track.IsChallenge {
			x.Bytes, x.Wire = 9, 37
		}
	}
	h.see(x)
}

// visit is a client that asks for the description and brings the challenge back.
func (h *host) visit(client track.Host, server netip.AddrPort) {
	ttl := uint8(128 - 4 - client.Hash(5)%24)
	key := uint32(client.Hash(uint64(server.Port())))&0x7fffffff | 1
	h.packet(track.IsRequest, client, ttl, server, "A2S_INFO", 0)
	h.packet(track.IsChallenge, client, 64, server, "S2C_CHALLENGE", key)
	h.packet(track.IsRequest, client, ttl, server, "A2S_INFO", key)
	h.packet(track.IsReply, client, 64, server, "S2A_INFO_SRC", 0)
}

// flood is a query of somebody who does not care for the answer.
func (h *host) flood(client track.Host, server netip.AddrPort) {
	h.packet(track.IsRequest, client, 113, server, "A2S_INFO", 0)
	h.packet(track.IsChallenge, client, 64, server, "S2C_CHALLENGE", uint32(client.Hash(7))|1)
}

// junk sends a server datagrams that begin like queries and are nothing known, so many a second.
func (h *host) junk(rate float64, server netip.AddrPort) {
	for range h.w.times(rate) {
		h.datagram(track.IsJunk, h.w.forged(), 1024+uint16(h.w.r.Uint32N(60000)), server, false)
	}
}

// join is a client that joins the game of a server: by two datagrams that are nothing known, and the first ones of
// the game, which the server answers.
func (h *host) join(client track.Host, server netip.AddrPort) {
	port := 1024 + uint16(h.w.r.Uint32N(60000))
	for _, what := range [...]track.PacketType{track.IsJunk, track.IsJunk, track.IsOther} {
		h.datagram(what, client, port, server, false)
	}
	h.datagram(track.IsOther, client, port, server, true)
	h.datagram(track.IsOther, client, port, server, false)
}

// datagram is one of no query between a client and a server.
func (h *host) datagram(what track.PacketType, client track.Host, port uint16, server netip.AddrPort, isAnswer bool) {
	x := track.Sighting{What: what, TTL: 113, Bytes: 40, Wire: 68, Src: client, SrcPort: port, Dst: track.HostOf(server), DstPort: server.Port()}
	if isAnswer {
		x.Src, x.SrcPort, x.Dst, x.DstPort = x.Dst, x.DstPort, x.Src, x.SrcPort
	}
	h.see(x)
}

// forged returns an invented address.
func (w *world) forged() track.Host { return address(w.r.Uint32()) }

// bot returns an address of a botnet of n machines.
func (w *world) bot(net uint64, n uint32) track.Host {
	r := rand.New(rand.NewPCG(uint64(w.r.Uint32N(n)), net))
	return address(0x2d000000 + r.Uint32N(1<<27))
}

// told is what an engine told.
type told struct {
	campaigns []Campaign // each event
	sensors   []Sensor
	engine    *Engine
}

// deliver gives messages to an engine by the time that the broker got them, and lets an hour go by.
func deliver(log []delivery) *told {
	x := newTold()
	log = slices.Clone(log)
	slices.SortStableFunc(log, func(a, b delivery) int { return cmp.Compare(a.broker, b.broker) })
	x.consume(log)
	x.finish(log)
	return x
}

// consume gives messages to the engine, whose time passes also while none comes.
func (x *told) consume(log []delivery) {
	for i, d := range log {
		if i > 0 {
			for at := log[i-1].broker; at < d.broker; at += 5e9 {
				x.engine.Advance(at)
			}
		}
		x.engine.Consume(d.m, d.broker, d.sent)
		x.engine.Advance(d.broker)
	}
}

func newTold() *told {
	x := &told{}
	x.engine = New(Options{Campaign: func(c *Campaign) {
		y := *c
		y.Members, y.Evidence, y.Top = slices.Clone(c.Members), slices.Clone(c.Evidence), slices.Clone(c.Top)
		x.campaigns = append(x.campaigns, y)
	}, Sensor: func(s *Sensor) { x.sensors = append(x.sensors, *s) }})
	return x
}

func (x *told) finish(log []delivery) {
	last := int64(0)
	for _, d := range log {
		last = max(last, d.broker)
	}
	x.engine.Advance(last + int64(time.Hour))
}

// lines returns the events, one a line.
func (x *told) lines() (all []string) {
	for _, c := range x.campaigns {
		all = append(all, fmt.Sprintf("%s %d %s %s %s %s %d/%d peak %.0f sources %.0f %v..%v %q", c.ID, c.Number, c.Event, c.How, c.Category, c.Level,
			c.Servers, c.Sensors, c.Peak, c.Sources, time.Duration(c.Start-dawn), time.Duration(max(c.End-dawn, 0)), c.Evidence))
	}
	return all
}
