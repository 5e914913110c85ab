package main

import (
	"encoding/binary"
	"fmt"
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

// drawn is a byte of a script in whose place each session has a digit of its own.
const drawn = 0xf5

// appendDrawn appends payload, with the digits of a session. at is the sequence number
// of its first byte.
func appendDrawn(b, payload []byte, session, at uint32) []byte {
	for i, c := range payload {
		if c == drawn {
			h := (session ^ (at + uint32(i))) * 2654435761
			c = '0' + byte(h>>16%10)
		}
		b = append(b, c)
	}
	return b
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
	rconHead    = 10   // bytes that the size counts besides those of the body
)

// rconScript is a session: login, a short command, one with a long answer and
// the probe for its end.
func (w *world) rconScript(server *server) []step {
	s := []step{
		{flags: flagSYN},
		{reply: true, flags: flagSYN | flagACK},
		{flags: flagACK},
		{burst: true, flags: flagPSH | flagACK, payload: rconPacket(nil, 1, rconAuth, []byte("s3cr3t-w0rd"))},
	}
	write := func(reply bool, b []byte) { s = append(s, step{reply: reply, flags: flagPSH | flagACK, payload: b}) }
	write(true, rconPacket(rconPacket(nil, 1, rconResponse, nil), 1, rconAuthDone, nil))
	write(false, rconPacket(nil, 2, rconCommand, []byte("status")))
	write(true, rconPacket(nil, 2, rconResponse, w.status(server)))
	write(false, rconPacket(nil, 3, rconCommand, []byte("cvarlist")))
	write(false, rconPacket(nil, 4, rconResponse, nil)) // probe
	s = append(s, w.longAnswer()...)
	return append(s,
		step{flags: flagFIN | flagACK},
		step{reply: true, flags: flagFIN | flagACK},
		step{burst: true, flags: flagACK})
}

// status is what a server answers to the command of this name.
func (w *world) status(s *server) []byte {
	const digit = string(byte(drawn))
	b := appendName([]byte("hostname: "), s.index)
	b = fmt.Appendf(b, "\nversion : 8622567/24 8622567 secure\nmap     : %s\n", w.draw(maps))
	for range 1 + w.rng.IntN(8) {
		b = fmt.Appendf(b, "# 2%[1]s%[1]s %q STEAM_1:0:4%[1]s%[1]s%[1]s%[1]s%[1]s 1%[1]s:3%[1]s 8%[1]s 0 active\n", digit, w.draw(w.names))
	}
	if byte(len(b)+rconHead) == drawn { // which the size would be taken for
		b = append(b, '\n')
	}
	return b
}

// longAnswer returns rconPackets packets, then mirror and trailer of the probe, in
// segments of which every second one is acknowledged.
func (w *world) longAnswer() []step {
	var list []byte
	for n := 0; len(list) < rconPackets*rconBody; n++ {
		list = fmt.Appendf(list, "%s_%s_%s : 1%c%c : \"sv\", \"nf\" : Option number %d.\n", w.draw(prefixes), w.draw(subjects), w.draw(aspects), drawn, drawn, n)
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
	b = binary.LittleEndian.AppendUint32(b, uint32(len(body)+rconHead))
	b = binary.LittleEndian.AppendUint32(b, id)
	b = binary.LittleEndian.AppendUint32(b, typ)
	return append(append(b, body...), 0, 0)
}
