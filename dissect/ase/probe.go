package ase

import (
	"qsniff/dissect"
	"qsniff/reassembly/wire"
)

const (
	// maxQuery is how much of a request MTA's server reads.
	maxQuery = 100
	// maxVersion is more than any version: "1.6.0-9.22741.0" has 15 bytes.
	maxVersion = 32
)

// Probe judges b by its structure.
func (*Dissector) Probe(c *dissect.Context, b []byte) (dissect.Confidence, *dissect.Type) {
	t := identify(c, b)
	p := probe{b: b, wire: max(c.Wire, len(b))}
	k := dissect.No
	switch t {
	case nil:
		return dissect.No, nil
	case &typeFull:
		k = dissect.Maybe
		if wire.EyeNumber(b) == 1 {
			k = p.rateFull()
		}
	case &typeLight:
		k = p.rateLight(3) // port, name, gametype
	case &typeXfire:
		k = p.rateLight(2) // name, gametype
	case &typeVersion:
		k = p.rateVersion()
	default:
		k = p.rateQuery()
	}
	if k == dissect.No {
		return k, nil
	}
	return k, t
}

// probe looks at a message.
type probe struct {
	b    []byte // what was captured of it
	wire int    // its length as sent
}

// rateQuery: the letter alone, or with something after it that does not make it a
// word. One byte proves nothing: that is for the port, the flow or the reply.
func (p *probe) rateQuery() dissect.Confidence {
	if p.wire > maxQuery || len(p.b) > 1 && isWordByte(p.b[1]) {
		return dissect.No
	}
	return dissect.Maybe
}

func isWordByte(x byte) bool {
	return isDigit(x) || x|0x20 >= 'a' && x|0x20 <= 'z' || x == '_'
}

// rateVersion: digits, a dot, a digit, and then what versions are made of.
func (p *probe) rateVersion() dissect.Confidence {
	if p.wire > maxVersion || p.wire > len(p.b) {
		return dissect.No
	}
	dot := 0
	for dot < len(p.b) && isDigit(p.b[dot]) {
		dot++
	}
	if dot+1 >= len(p.b) || p.b[dot] != '.' || !isDigit(p.b[dot+1]) {
		return dissect.No
	}
	for _, x := range p.b[dot+1:] {
		if !isWordByte(x) && x != '.' && x != '-' && x != '+' {
			return dissect.No
		}
	}
	return dissect.Maybe
}

// skipTexts steps over up to n texts after the header. It returns how many there
// are, and the offset after them.
func (p *probe) skipTexts(n int) (got, off int) {
	for off = wire.EyeHeaderLen; got < n; got++ {
		_, next := wire.EyeText(p.b, off)
		if next < 0 {
			break
		}
		off = next
	}
	return got, off
}

// rateFull: nine texts, three of which are numbers. One text is enough to believe in
// a damaged reply: its four letters and a length that fits.
func (p *probe) rateFull() dissect.Confidence {
	n, _ := p.skipTexts(wire.EyeLeading)
	switch {
	case n == 0:
		return dissect.Maybe
	case n < wire.EyeLeading:
		return dissect.Likely
	}
	off := wire.EyeHeaderLen
	for i := range wire.EyeLeading {
		s, next := wire.EyeText(p.b, off)
		if _, ok := parseDecimal(s); !ok && (i == 1 || i == 7 || i == 8) {
			return dissect.Likely
		}
		off = next
	}
	return dissect.Certain
}

// rateLight: the name of the only game that sends it, so many texts, the map field,
// the version, and bytes.
func (p *probe) rateLight(between int) dissect.Confidence {
	const bytesAfter = 3 // password, players, max_players
	n, off := p.skipTexts(1 + between)
	switch {
	case !wire.IsMTA(p.b) || n == 0:
		return dissect.Maybe
	case n <= between:
		return dissect.Likely
	}
	if _, off = wire.EyeText(p.b, off); off < 0 { // the map field
		return dissect.Likely
	}
	if _, off = wire.EyeText(p.b, off); off < 0 || len(p.b)-off < bytesAfter { // the version
		return dissect.Likely
	}
	return dissect.Certain
}
