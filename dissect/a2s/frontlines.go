package a2s

import (
	"bytes"
	"encoding/binary"

	"qsniff/dissect"
	"qsniff/reassembly/wire"
)

// Frontlines: Fuel of War asks for challenge, players and rules with the bytes of
// A2S. Its servers are known by two answers with a layout of their own, and its
// clients by the word that they ask for information with.

var frontlinesAsks = []byte("FLSQ")

// Foreign reports whether b is one of those messages.
func (*Dissector) Foreign(c *dissect.Context, b []byte) (reply, ok bool) {
	if len(b) < bodyOff || !wire.IsSingle(b) {
		return false, false
	}
	if bytes.HasPrefix(b[headerLen:], frontlinesAsks) {
		return false, true
	}
	p := probe{b: b[bodyOff:], cut: c.Wire > len(b), length: max(c.Wire, len(b)) - bodyOff}
	switch b[headerLen] {
	case opInfo:
		return true, p.isFrontlinesInfo()
	case opRules:
		return true, p.isFrontlinesRules()
	}
	return false, false
}

// isFrontlinesInfo: version 2, six texts (name, map, mod, mode, description,
// version), the game's port, players, slots, and the letters for kind and system.
func (p *probe) isFrontlinesInfo() bool {
	const version, texts, fixed = 2, 6, 6
	if len(p.b) < 1 || p.b[0] != version {
		return false
	}
	off := p.skipTexts(1, texts)
	if off < 0 || len(p.b)-off < fixed {
		return false
	}
	kind, system := p.b[off+4], p.b[off+5]
	return dissect.ServerTypeName(uint64(kind)) != "" && dissect.EnvironmentName(uint64(system)) != ""
}

// isFrontlinesRules: as many pairs as a big-endian count says, and not as the same
// bytes say in A2S.
func (p *probe) isFrontlinesRules() bool {
	if len(p.b) < 2 || p.cut {
		return false
	}
	n, off := 0, 2
	for off < len(p.b) {
		if off = p.skipTexts(off, 2); off < 0 {
			return false
		}
		n++
	}
	return n > 0 && n == int(binary.BigEndian.Uint16(p.b)) && n != int(binary.LittleEndian.Uint16(p.b))
}
