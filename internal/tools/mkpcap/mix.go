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
	ase
	master
	rcon
	game            // traffic of the game itself
	compressedRules // rules of an old server
	goldSourceAny   // info, players or rules of a GoldSource server
)

// shares are the parts of all exchanges in percent. They follow what query
// ports see: lists ask everybody for info, and only those who look closer ask
// for players and rules.
var shares = []struct {
	kind    kind
	percent int
}{{info, 40}, {players, 20}, {rules, 15}, {compressedRules, 3}, {goldSourceAny, 8}, {ase, 9}, {master, 2}, {rcon, 3}}

const (
	clients = 4096
	// open is how many exchanges are under way at a time. With the default
	// rate of 20 us per packet an answer takes 20 ms in the mean.
	open = 1024
	// gameLength is how many packets of game traffic make an exchange.
	gameLength = 4
	// burst is the time between the packets of one reply, in nanoseconds.
	burst = 10_000
)

// exchange is one question of one client, from first request to last reply, or
// a session.
type exchange struct {
	kind      kind // up to game
	client    endpoint
	server    *server
	challenge uint32 // random, also where there is no challenge
	step      int
	parts     int       // of the reply, once it is made
	next      [2]uint32 // TCP: the next sequence number of client and server
}

// mix is clients polling servers.
type mix struct {
	rng     *rand.Rand
	frame   *assembler
	clock   pace
	world   *world
	packer  *packer
	queries []exchange
	games   []exchange // none without game traffic
	current *exchange  // whose next packet follows at once, or nil
	surplus int        // how many packets of queries there were more than of games
	reply   []byte     // that is being sent
	payload []byte
}

func newMix(o options) *mix {
	m := &mix{
		rng: newRand(o.seed), frame: newAssembler(), clock: newPace(o.rate),
		packer: newPacker(), queries: make([]exchange, open),
	}
	m.world = newWorld(o.seed, m.clock.now)
	for i := range m.queries {
		m.queries[i] = m.begin(m.drawKind())
	}
	if o.game {
		m.games = make([]exchange, open)
	}
	for i := range m.games {
		m.games[i] = m.begin(game)
	}
	return m
}

// drawKind draws the kind of the next exchange.
func (m *mix) drawKind() kind {
	percent := m.rng.IntN(100)
	i := 0
	for ; percent >= shares[i].percent; i++ {
		percent -= shares[i].percent
	}
	return shares[i].kind
}

// begin returns a new exchange with a random client and server.
func (m *mix) begin(k kind) exchange {
	x := exchange{
		kind: k,
		client: endpoint{
			addr: clientNet + 1 + m.rng.Uint32N(clients),
			port: uint16(32_768 + m.rng.IntN(28_232)), // Linux's range for clients
		},
		challenge: m.rng.Uint32(),
		next:      [2]uint32{m.rng.Uint32(), m.rng.Uint32()},
	}
	switch k {
	case compressedRules:
		x.kind, x.server = rules, m.pick(firstOld, firstGoldSource)
	case goldSourceAny:
		x.kind, x.server = kind(m.rng.IntN(int(rules)+1)), m.pick(firstGoldSource, firstASE)
	case ase:
		x.server = m.pick(firstASE, firstMaster)
	case master:
		x.server = m.pick(firstMaster, numServers)
	case rcon:
		x.server = m.pick(0, firstOld)
	case game:
		x.server = m.pick(0, firstASE)
	default:
		x.server = m.pick(0, firstOld)
	}
	return x
}

func (m *mix) pick(from, to int) *server { return &m.world.servers[from+m.rng.IntN(to-from)] }

func (m *mix) next() (int64, []byte) {
	x, nanos := m.nextExchange()
	frame := m.buildPacket(x, nanos)
	x.step++
	if x.step >= x.steps() {
		k := x.kind
		if k != game {
			k = m.drawKind()
		}
		*x = m.begin(k)
	}
	m.current = nil
	if x.isBurst() {
		m.current = x
	}
	return nanos, frame
}

// nextExchange returns the exchange that the next packet belongs to, and the time of it.
func (m *mix) nextExchange() (*exchange, int64) {
	if m.current != nil {
		m.surplus++
		m.clock.now += burst
		return m.current, m.clock.now
	}
	nanos := m.clock.advance(m.rng)
	if len(m.games) > 0 && m.surplus > 0 {
		m.surplus--
		return &m.games[m.rng.IntN(open)], nanos
	}
	m.surplus++
	return &m.queries[m.rng.IntN(open)], nanos
}

// buildPacket returns the frame of x's present step.
func (m *mix) buildPacket(x *exchange, now int64) []byte {
	if x.kind == rcon {
		return m.buildSegment(x, &x.server.script[x.step])
	}
	src, dst, ttl := x.ends(m.buildMessage(x, now))
	return m.frame.buildUDP(src, dst, ttl, m.payload)
}

// buildSegment returns the frame of s, which is x's present step.
func (m *mix) buildSegment(x *exchange, s *step) []byte {
	src, dst, ttl := x.ends(s.reply)
	from := 0
	if s.reply {
		from = 1
	}
	seq, ack := x.next[from], uint32(0)
	if s.flags&flagACK != 0 {
		ack = x.next[1-from]
	}
	x.next[from] += s.length()
	m.payload = appendDrawn(m.payload[:0], s.payload, x.challenge, seq)
	return m.frame.buildTCP(src, dst, ttl, seq, ack, s.flags, m.payload)
}

// ends returns source, destination and time to live of a packet of x.
func (x *exchange) ends(reply bool) (src, dst endpoint, ttl byte) {
	if reply {
		return x.server.endpoint, x.client, 64
	}
	return x.client, x.server.endpoint, byte(44 + x.client.addr*2654435761>>28) // distance is the client's
}

// isBurst reports whether x's present step follows the one before it at once.
func (x *exchange) isBurst() bool {
	switch x.kind {
	case game, master:
		return false
	case rcon:
		return x.server.script[x.step].burst
	}
	return x.step > x.replyStep()
}

// replyStep returns the step of the first packet of the reply.
func (x *exchange) replyStep() int {
	if x.kind == ase || x.kind == info && x.server.engine == goldSource {
		return 1 // no challenge
	}
	return 3
}

// steps returns the number of packets of the exchange.
func (x *exchange) steps() int {
	switch x.kind {
	case game:
		return gameLength
	case master:
		return 2 * listPages
	case rcon:
		return len(x.server.script)
	}
	return x.replyStep() + max(1, x.parts)
}

// buildMessage puts the payload of x's present step into m.payload and reports whether
// the server sends it.
func (m *mix) buildMessage(x *exchange, now int64) (reply bool) {
	first := x.replyStep()
	switch {
	case x.kind == game:
		m.buildGamePayload(x)
		return x.step%2 == 1
	case x.kind == master:
		m.payload = appendList(m.payload[:0], x.challenge, x.step)
		return x.step%2 == 1
	case x.step >= first:
		if x.step == first {
			m.makeReply(x, now)
		}
		if x.parts > 0 {
			m.payload = x.server.appendPart(m.payload[:0], m.reply, x.step-first)
		} else {
			m.payload = append(m.payload[:0], m.reply...)
		}
		return true
	case x.step == 1:
		m.payload = append(m.payload[:0], "\xff\xff\xff\xffA"...)
		m.payload = binary.LittleEndian.AppendUint32(m.payload, x.challenge)
		return true
	}
	m.buildRequest(x)
	return false
}

// makeReply puts the reply to x at the time now into m.reply. Nothing comes between its
// parts, so that one buffer is enough.
func (m *mix) makeReply(x *exchange, now int64) {
	s, b := x.server, m.reply[:0]
	m.world.advance(s, now)
	switch {
	case x.kind == ase:
		m.reply = m.world.appendEye(b, s, now)
		return
	case x.kind == players:
		b = s.appendPlayers(b, now)
	case x.kind == rules:
		b = m.world.appendRules(b, s)
	case s.engine == goldSource:
		b = s.appendDetailed(b)
	default:
		b = s.appendInfo(b)
	}
	if s.engine == oldSource && x.kind == rules {
		m.payload = append(m.payload[:0], b...)
		b = m.packer.pack(b[:0], m.payload)
	}
	m.reply = b
	if x.kind == rules || len(b) > partSize[s.engine] {
		s.splitID++
		x.parts = s.countParts(b)
	}
}

// buildRequest puts the request into m.payload: that of step 0 without a challenge, that
// of step 2 with it.
func (m *mix) buildRequest(x *exchange) {
	retry := x.step == 2
	switch x.kind {
	case ase:
		m.payload = append(m.payload[:0], 's')
		return
	case info:
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

// buildGamePayload puts a packet of a game's own channel into m.payload: two rising
// sequence numbers, then noise, as an observer without the keys sees them.
func (m *mix) buildGamePayload(x *exchange) {
	m.payload = binary.LittleEndian.AppendUint32(m.payload[:0], x.challenge&0xf_ffff+uint32(x.step))
	m.payload = binary.LittleEndian.AppendUint32(m.payload, x.challenge&0xf_ffff)
	for range 4 + m.rng.IntN(40) {
		m.payload = binary.LittleEndian.AppendUint64(m.payload, m.rng.Uint64())
	}
}
