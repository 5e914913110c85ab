package goldsrc

import (
	"encoding/binary"

	"qsniff/dissect"
	"qsniff/internal/splithdr"
)

const (
	opDetailed = 'm'
	opInfo     = 'C'

	headerLen = 4
	bodyOff   = headerLen + 1
)

var (
	typeDetailed = dissect.Type{Name: "S2A_INFO_DETAILED", Reply: true, Asks: dissect.AskInfo,
		Doc:     "name, map, players, mod",
		Summary: []*dissect.Def{&defName, &defMap, &defPlayers, &defMaxPlayers, &defGame}}
	typeInfo = dissect.Type{Name: "S2A_INFO", Reply: true, Asks: dissect.AskInfo,
		Doc:     "name, map, players; the oldest form",
		Summary: []*dissect.Def{&defName, &defMap, &defPlayers, &defMaxPlayers, &defGame}}
)

var proto = dissect.Proto{
	Name:   "goldsource",
	Doc:    "forms that only GoldSource engines and HLTV send, and what came in their split format",
	Types:  []*dissect.Type{&typeDetailed, &typeInfo},
	Defs:   defs,
	Ports:  []uint16{27015, 27016, 27020},
	Splits: []splithdr.Engine{splithdr.GoldSource},
}

// Dissector reads GoldSource messages. It has no state.
type Dissector struct {
	shared dissect.Dissector
}

// New returns the dissector. shared reads the messages that both engines send
// alike: joined from GoldSource parts, they are reported as GoldSource's.
func New(shared dissect.Dissector) *Dissector { return &Dissector{shared: shared} }

// Proto describes the protocol.
func (*Dissector) Proto() *dissect.Proto { return &proto }

// Probe judges b by its structure.
func (d *Dissector) Probe(c *dissect.Context, b []byte) (dissect.Confidence, *dissect.Type) {
	op, off, ok := opcode(c, b)
	switch {
	case ok && op == opDetailed:
		return probeText(c, b[off:], fixedDetailed), &typeDetailed
	case ok && op == opInfo && off == bodyOff:
		return probeText(c, b[off:], fixedInfo), &typeInfo
	case c.FromSplit == splithdr.GoldSource:
		return d.shared.Probe(c, b)
	}
	return dissect.No, nil
}

// opcode returns the opcode and the offset behind it. A joined message may lack
// the FF FF FF FF.
func opcode(c *dissect.Context, b []byte) (op byte, off int, ok bool) {
	if len(b) >= bodyOff && binary.LittleEndian.Uint32(b) == 0xffff_ffff {
		return b[headerLen], bodyOff, true
	}
	if c.FromSplit != splithdr.None && len(b) > 1 {
		return b[0], 1, true
	}
	return 0, 0, false
}

// Dissect fills m with the message in b.
func (d *Dissector) Dissect(c *dissect.Context, b []byte, m *dissect.Message) {
	op, off, ok := opcode(c, b)
	ours := ok && (op == opDetailed || op == opInfo)
	if !ours && c.FromSplit == splithdr.GoldSource {
		d.shared.Dissect(c, b, m)
		m.Proto = &proto
		m.Learn.Engine = splithdr.GoldSource
		return
	}
	cur := m.Cursor(c)
	if off != 1 {
		cur.I32(&defHeader)
	}
	cur.U8(&defOpcode)
	if ours {
		m.Learn.Engine = splithdr.GoldSource
	}
	switch {
	case ours && op == opDetailed:
		m.Type = &typeDetailed
		detailed(cur)
	case ours:
		m.Type = &typeInfo
		info(cur)
	}
	cur.Done()
}
