package sensor

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"qsniff/dissect"
	"qsniff/internal/fleet"
	"qsniff/internal/flood"
	"qsniff/internal/monitor"
	"qsniff/internal/test/protos"
	"qsniff/internal/track"
)

// dawn is when hosts begin to capture: the begin of a window.
const dawn = int64(1_772_366_400e9)

// host is a host of a fleet: the stages of qsniff monitor with a sensor, and what that gave out.
type host struct {
	t        testing.TB
	meter    *monitor.Meter
	detector *flood.Detector
	sensor   *Sensor
	watchers []track.Watcher
	types    map[string]*dissect.Type
	proto    *dissect.Proto
	secret   *fleet.Secret
	now      int64 // Unix time
	age      int64 // of packets
	frame    uint64
	got      []fleet.Message
	bytes    map[fleet.Kind]int // of all messages, in JSON
	counts   map[fleet.Kind]int
	silent   bool // got is not kept
	s        track.Sighting
}

// newHost returns a host with servers that were named. change changes the options of its sensor.
func newHost(t testing.TB, servers []netip.AddrPort, change func(*Options)) *host {
	t.Helper()
	reg := protos.Registry(t)
	secret, err := fleet.NewSecret([]byte("of all sensors and hubs"))
	if err != nil {
		t.Fatal(err)
	}
	h := &host{t: t, types: map[string]*dissect.Type{}, secret: secret, now: dawn, age: int64(time.Hour), counts: map[fleet.Kind]int{}, bytes: map[fleet.Kind]int{}}
	for _, p := range reg.Protos() {
		if p.Name == "a2s" {
			h.proto = p
			for _, x := range p.Types {
				h.types[x.Name] = x
			}
		}
	}
	h.meter = monitor.New(reg.Protos(), monitor.Options{Servers: servers, MaxServers: 256, Scale: 1, Clock: func() int64 { return 0 }})
	h.detector = flood.New(flood.Defaults(), 1, nil)
	h.detector.Know(reg.ServerPorts(), reg.ForeignTypes())
	opt := Options{Meter: h.meter, Detector: h.detector, Secret: secret, Name: "ams-1", Run: "5f0c", Program: "1.0", Input: "eth0", Put: h.put}
	if change != nil {
		change(&opt)
	}
	h.sensor = New(opt)
	h.detector.AddObserver(h.sensor.AddIncident)
	h.watchers = []track.Watcher{h.sensor, h.meter, h.detector}
	return h
}

// put takes a message as the process that sends it does: as JSON, which Parse must take.
func (h *host) put(m fleet.Message) {
	head := fleet.HeadOf(m)
	data, err := fleet.Encode(m)
	if err != nil {
		h.t.Fatal(err)
	}
	h.bytes[head.Kind] += len(data)
	h.counts[head.Kind]++
	if h.silent {
		return
	}
	if m, err = fleet.Parse("ams-1", head.Kind, data); err != nil {
		h.t.Fatalf("%v: %s", err, data)
	}
	h.got = append(h.got, m)
}

// see shows the packet in h.s to the watchers.
func (h *host) see() {
	h.frame++
	h.s.Frame, h.s.Age, h.s.Nanos = h.frame, h.age, h.now
	h.s.FillHashes(h.secret.Seed())
	for _, w := range h.watchers {
		w.Sight(&h.s)
	}
}

// pass lets time pass, with a tick.
func (h *host) pass(d time.Duration) {
	h.now += int64(d)
	h.age += int64(d)
	for _, w := range h.watchers {
		w.Tick(h.age, h.now)
	}
}

// end ends the capture.
func (h *host) end() {
	for _, w := range h.watchers {
		w.End(h.age, h.now)
	}
}

// packet shows a packet between a client and a server to the watchers.
func (h *host) packet(what track.PacketType, client track.Host, port uint16, server netip.AddrPort, message string, key uint32) {
	x := &h.s
	*x = track.Sighting{What: what, TTL: 117, Bytes: 25, Wire: 53, Type: h.types[message], Proto: h.proto, Key: key}
	x.Asks = x.Type.Asks
	if key != 0 {
		x.Flags, x.Bytes, x.Wire = track.HasKey, 29, 57
	}
	x.Src, x.SrcPort, x.Dst, x.DstPort = client, port, track.HostOf(server), server.Port()
	if what != track.IsRequest {
		x.Src, x.SrcPort, x.Dst, x.DstPort = x.Dst, x.DstPort, x.Src, x.SrcPort
	}
	h.see()
}

// visit is a client that asks a server for its description, with the challenge that it gives, then
// for its players and its rules: visitPackets packets.
func (h *host) visit(client track.Host, server netip.AddrPort) {
	key := uint32(client.Hash(uint64(server.Port())))&0x7fffffff | 1
	for i, message := range [...]string{"A2S_INFO", "A2S_PLAYER", "A2S_RULES"} {
		port := 40000 + uint16(i)
		if i == 0 {
			h.packet(track.IsRequest, client, port, server, message, 0)
			h.packet(track.IsChallenge, client, port, server, "S2C_CHALLENGE", key)
		}
		h.packet(track.IsRequest, client, port, server, message, key)
		h.packet(track.IsReply, client, port, server, answers[i], 0)
	}
}

var answers = [...]string{"S2A_INFO_SRC", "S2A_PLAYER", "S2A_RULES"}

// address returns the IPv4 address of a number.
func address(n uint32) (h track.Host) {
	h[10], h[11] = 0xff, 0xff
	binary.BigEndian.PutUint32(h[12:], n)
	return h
}

// serversOf returns n servers of a host.
func serversOf(n int) (all []netip.AddrPort) {
	for i := range n {
		all = append(all, netip.MustParseAddrPort(fmt.Sprintf("198.51.100.7:%d", 27015+i)))
	}
	return all
}

// messagesOf returns the messages of a type so far.
func messagesOf[M fleet.Message](h *host) (all []M) {
	for _, m := range h.got {
		if m, ok := m.(M); ok {
			all = append(all, m)
		}
	}
	return all
}
