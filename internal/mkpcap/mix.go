package main

import (
	"encoding/binary"
	"math/rand/v2"
)

// kind is what an exchange asks for.
type kind uint8

const (
	info kind = iota
	players
	rules
	compressedRules
	goldSource // info, players or rules of a GoldSource server
	game       // traffic of the game itself
)

// shares are the parts of all exchanges in percent; game is the rest. They
// follow what query ports see: lists ask everybody for info, and only those
// who look closer ask for players and rules.
var shares = []struct {
	kind    kind
	percent int
}{{info, 40}, {players, 20}, {rules, 15}, {compressedRules, 3}, {goldSource, 8}}

const (
	clients = 4096
	// open is how many exchanges are under way at a time. With the default
	// rate of 20 us per packet an answer takes 20 ms in the mean.
	open = 1024
	// gameLength is how many packets of game traffic make an exchange.
	gameLength = 4
	// burst separates the parts of a split reply, in nanoseconds.
	burst = 10_000
)

// exchange is one question of one client, from first request to last reply.
type exchange struct {
	kind      kind // info, players, rules or game
	client    endpoint
	server    *server
	challenge uint32
	splitID   uint32
	step      int
}

// mix is clients polling servers.
type mix struct {
	rng     *rand.Rand
	frame   *assembler
	clock   pace
	servers []server
	open    [open]exchange
	current int // the exchange that goes on with a burst, or -1
	payload []byte
	splitID uint32
}

func newMix(o options) *mix {
	m := &mix{
		rng: newRand(o.seed), frame: newAssembler(), clock: newPace(o.rate),
		servers: newServers(o.seed), current: -1,
	}
	for i := range m.open {
		m.open[i] = m.begin()
	}
	return m
}

// begin makes up a new exchange.
func (m *mix) begin() exchange {
	m.splitID++
	x := exchange{
		kind: game,
		client: endpoint{
			addr: clientNet + 1 + m.rng.Uint32N(clients),
			port: uint16(32_768 + m.rng.IntN(28_232)), // Linux's range for clients
		},
		server:    &m.servers[m.rng.IntN(len(m.servers))],
		challenge: m.rng.Uint32(),
		splitID:   m.splitID & 0x7fff_ffff,
	}
	percent := m.rng.IntN(100)
	for _, s := range shares {
		if percent < s.percent {
			x.kind = s.kind
			break
		}
		percent -= s.percent
	}
	switch x.kind {
	case compressedRules:
		x.kind, x.server = rules, m.pick(firstOld, firstGoldSource)
	case goldSource:
		x.kind, x.server = kind(m.rng.IntN(int(rules)+1)), m.pick(firstGoldSource, numServers)
	case info, players, rules:
		x.server = m.pick(0, firstOld)
	}
	return x
}

func (m *mix) pick(from, to int) *server { return &m.servers[from+m.rng.IntN(to-from)] }

func (m *mix) next() (int64, []byte) {
	var nanos int64
	if m.current >= 0 {
		m.clock.now += burst
		nanos = m.clock.now
	} else {
		m.current = m.rng.IntN(open)
		nanos = m.clock.tick(m.rng)
	}
	x := &m.open[m.current]
	reply := m.message(x)
	server := endpoint{x.server.addr, serverPort}
	var frame []byte
	if reply {
		frame = m.frame.udp(server, x.client, 64, m.payload)
	} else {
		ttl := byte(44 + x.client.addr*2654435761>>28) // distance is the client's
		frame = m.frame.udp(x.client, server, ttl, m.payload)
	}
	x.step++
	steps := x.steps()
	if x.step >= steps {
		*x = m.begin()
	}
	if x.step <= x.replyStep() || x.kind == game {
		m.current = -1
	}
	return nanos, frame
}

// replyStep is the step of the first packet of the reply.
func (x *exchange) replyStep() int {
	if x.kind == info && x.server.goldSource {
		return 1 // no challenge for 'm'
	}
	return 3
}

// steps is the number of packets of the exchange.
func (x *exchange) steps() int {
	if x.kind == game {
		return gameLength
	}
	return x.replyStep() + len(x.server.replies[x.kind])
}

// message puts the payload of x's present step into m.payload and tells
// whether the server sends it.
func (m *mix) message(x *exchange) (reply bool) {
	if x.kind == game {
		m.gamePayload(x)
		return x.step%2 == 1
	}
	first := x.replyStep()
	switch {
	case x.step >= first:
		m.payload = append(m.payload[:0], x.server.replies[x.kind][x.step-first]...)
		if m.payload[0] == 0xfe {
			id := binary.LittleEndian.Uint32(m.payload[4:])&0x8000_0000 | x.splitID
			binary.LittleEndian.PutUint32(m.payload[4:], id)
		}
		return true
	case x.step == 1:
		m.payload = append(m.payload[:0], "\xff\xff\xff\xffA"...)
		m.payload = binary.LittleEndian.AppendUint32(m.payload, x.challenge)
		return true
	}
	m.request(x)
	return false
}

// request is the question of step 0, or with the challenge of step 2.
func (m *mix) request(x *exchange) {
	retry := x.step == 2
	if x.kind == info {
		m.payload = append(m.payload[:0], infoRequest...)
		if retry {
			m.payload = binary.LittleEndian.AppendUint32(m.payload, x.challenge)
		}
		return
	}
	opcode := byte('U')
	if x.kind == rules {
		opcode = 'V'
	}
	m.payload = append(m.payload[:0], 0xff, 0xff, 0xff, 0xff, opcode)
	challenge := uint32(0xffff_ffff)
	if retry {
		challenge = x.challenge
	}
	m.payload = binary.LittleEndian.AppendUint32(m.payload, challenge)
}

// gamePayload is what a game channel looks like from outside: two rising
// sequence numbers, then noise.
func (m *mix) gamePayload(x *exchange) {
	m.payload = binary.LittleEndian.AppendUint32(m.payload[:0], x.splitID&0xf_ffff+uint32(x.step))
	m.payload = binary.LittleEndian.AppendUint32(m.payload, x.splitID&0xf_ffff)
	for range 4 + m.rng.IntN(40) {
		m.payload = binary.LittleEndian.AppendUint64(m.payload, m.rng.Uint64())
	}
}
