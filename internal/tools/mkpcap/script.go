package main

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
)

// step is one packet of an exchange whose packets are known in advance.
type step struct {
	reply   bool // the server sends it
	burst   bool // it follows the packet before it at once
	flags   byte // of TCP; 0: a datagram
	payload []byte
}

// Flags of a TCP header.
const (
	flagFIN = 1 << iota
	flagSYN
	_
	flagPSH
	flagACK
)

const (
	window      = 64_240
	segmentRoom = 1460 // payload of a segment at an MTU of 1,500
)

// length returns by how much s advances the sequence number of its sender.
func (s *step) length() uint32 {
	n := uint32(len(s.payload))
	if s.flags&(flagSYN|flagFIN) != 0 {
		n++
	}
	return n
}

// aseScript is the full query of an MTA server, answered in one datagram of at
// most room bytes.
func aseScript(rng *rand.Rand, i, room int) []step {
	var players []byte
	n := 0
	for {
		p := []byte{0x3f} // name, team, skin, score, ping, time
		p = appendCounted(p, "player %d", rng.IntN(1_000_000))
		p = appendCounted(appendCounted(p, ""), "")
		p = appendCounted(p, "%d", rng.IntN(500))
		p = appendCounted(p, "%d", 10+rng.IntN(200))
		p = appendCounted(p, "")
		if len(players)+len(p) > room-aseHead {
			break
		}
		players = append(players, p...)
		n++
	}
	b := appendCounted([]byte("EYE1"), "mta")
	b = appendCounted(b, "%d", asePort-123) // the game's own port
	b = appendCounted(b, "Benchmark server %d", i)
	b = appendCounted(appendCounted(appendCounted(appendCounted(b, "freeroam"), "None"), "1.6"), "0")
	b = appendCounted(appendCounted(b, "%d", n), "128")
	b = appendCounted(appendCounted(b, "Website"), "example.org")
	b = append(b, 1) // end of rules
	return []step{{payload: []byte("s")}, {reply: true, payload: append(b, players...)}}
}

// aseHead is room for the fields before the players of an EYE1.
const aseHead = 90

// appendCounted appends a text after its length, which counts itself.
func appendCounted(b []byte, format string, args ...any) []byte {
	at := len(b)
	b = fmt.Appendf(append(b, 0), format, args...)
	b[at] = byte(len(b) - at)
	return b
}

// masterScript is a client that asks a master for all servers of one game: two pages, the first
// of them full.
func masterScript() []step {
	const perPage, total = 231, 300
	var out []step
	last := "0.0.0.0:0"
	for first := 0; first < total; first += perPage {
		question := fmt.Appendf([]byte("1\xff"), "%s\x00\\appid\\440\\empty\\1\x00", last)
		page := []byte("\xff\xff\xff\xfff\n")
		for i := first; i < min(first+perPage, total); i++ {
			addr := uint32(203<<24 | 113<<8 | i%250 + 1)
			port := serverPort + i/250
			page = binary.BigEndian.AppendUint32(page, addr)
			page = binary.BigEndian.AppendUint16(page, uint16(port))
			last = fmt.Sprintf("203.0.113.%d:%d", i%250+1, port)
		}
		if first+perPage >= total {
			page = append(page, 0, 0, 0, 0, 0, 0)
		}
		out = append(out, step{payload: question}, step{reply: true, payload: page})
	}
	return out
}

// Types of RCON packets.
const (
	rconResponse = 0
	rconCommand  = 2
	rconAuthDone = 2
	rconAuth     = 3
)

const (
	rconBody    = 4096 // most bytes of body that a Source server puts into a packet
	rconPackets = 3    // that the long answer has
)

// rconScript is a session: login, a short command, one with a long answer and
// the probe for its end.
func rconScript(rng *rand.Rand, i int) []step {
	s := []step{
		{flags: flagSYN},
		{reply: true, flags: flagSYN | flagACK},
		{flags: flagACK},
		{burst: true, flags: flagPSH | flagACK, payload: rconPacket(nil, 1, rconAuth, []byte("s3cr3t-w0rd"))},
	}
	write := func(reply bool, b []byte) { s = append(s, step{reply: reply, flags: flagPSH | flagACK, payload: b}) }
	write(true, rconPacket(rconPacket(nil, 1, rconResponse, nil), 1, rconAuthDone, nil))
	write(false, rconPacket(nil, 2, rconCommand, []byte("status")))
	status := fmt.Appendf(nil, "hostname: Benchmark server %d\nversion : 8622567/24 8622567 secure\nmap     : %s\n", i, maps[i%len(maps)])
	write(true, rconPacket(nil, 2, rconResponse, status))
	write(false, rconPacket(nil, 3, rconCommand, []byte("cvarlist")))
	write(false, rconPacket(nil, 4, rconResponse, nil)) // probe
	s = append(s, longAnswer(rng)...)
	return append(s,
		step{flags: flagFIN | flagACK},
		step{reply: true, flags: flagFIN | flagACK},
		step{burst: true, flags: flagACK})
}

// longAnswer returns rconPackets packets, then mirror and trailer of the probe, in
// segments of which every second one is acknowledged.
func longAnswer(rng *rand.Rand) []step {
	var list []byte
	for n := 0; len(list) < rconPackets*rconBody; n++ {
		list = fmt.Appendf(list, "sm_option_%d_enabled : %d : \"sv\", \"nf\" : Option number %d.\n", n, rng.IntN(1000), n)
	}
	var stream []byte
	for n := range rconPackets {
		stream = rconPacket(stream, 3, rconResponse, list[n*rconBody:(n+1)*rconBody])
	}
	stream = rconPacket(stream, 4, rconResponse, nil)
	stream = rconPacket(stream, 4, rconResponse, []byte{0, 1, 0, 0})
	var out []step
	for n := 0; len(stream) > 0; n++ {
		cut := min(segmentRoom, len(stream))
		flags := byte(flagACK)
		if cut == len(stream) {
			flags |= flagPSH
		}
		out = append(out, step{reply: true, burst: n > 0, flags: flags, payload: stream[:cut]})
		if n%2 == 1 {
			out = append(out, step{burst: true, flags: flagACK})
		}
		stream = stream[cut:]
	}
	return out
}

// rconPacket appends a packet to b.
func rconPacket(b []byte, id, typ uint32, body []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(len(body)+10))
	b = binary.LittleEndian.AppendUint32(b, id)
	b = binary.LittleEndian.AppendUint32(b, typ)
	return append(append(b, body...), 0, 0)
}
