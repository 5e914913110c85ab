package master

import (
	"bytes"
	"encoding/binary"

	"qsniff/dissect"
)

// probe looks at what follows the opcode.
type probe struct {
	b      []byte // what was captured of it
	length int    // its length as sent
	cut    bool   // the capture holds less than was sent
	v6     bool   // the sender has an IPv6 address
	// isAsked is set if the receiver has asked the sender for a list.
	isAsked bool
}

func (p *probe) rate(t *dissect.Type) dissect.Confidence {
	switch t {
	case &typeQuery:
		return p.rateQuery()
	case &typePage:
		return p.ratePage()
	case &typeOldPage:
		// QuakeWorld's masters send the same bytes
		return min(p.rateEntries(1, entryV4), dissect.Maybe, p.requireFirst(formPlain))
	case &typeHeartbeat2:
		return p.rateHeartbeat()
	case &typeHeartbeat:
		return p.rateOldHeartbeat()
	case &typeNAT:
		return p.rateNATConnect()
	case &typeChallenge:
		return min(p.requireLength(1+challengeLen, 1+2*challengeLen), p.requireFirst(formPlain))
	case &typeValidMD5:
		return p.rateValidMD5()
	}
	return min(p.rateShort(t), dissect.Maybe)
}

// requireFirst returns No where the first byte is not x, else Certain: a condition for min.
func (p *probe) requireFirst(x byte) dissect.Confidence {
	if len(p.b) == 0 || p.b[0] != x {
		return dissect.No
	}
	return dissect.Certain
}

// requireLength is a condition on the length as sent.
func (p *probe) requireLength(lengths ...int) dissect.Confidence {
	for _, n := range lengths {
		if p.length == n {
			return dissect.Likely
		}
	}
	return dissect.No
}

// rateShort judges the messages that have next to no structure.
func (p *probe) rateShort(t *dissect.Type) dissect.Confidence {
	switch t {
	case &typeBatch:
		return p.requireLength(tagLen-1, tagLen)
	case &typeServers, &typeShutdown:
		return min(p.requireLength(1, 2), p.requireFirst(formPlain), p.requireBlank())
	case &typeCheckMD5:
		return min(p.requireLength(1), p.requireFirst(formXash))
	case &typeRestart:
		return p.requireLength(challengeLen)
	case &typeJoin:
		if p.requireFirst(formXash) != dissect.No {
			return p.requireLength(1, 1+challengeLen)
		}
		return min(p.requireLength(0, 1, 2), p.requireBlank())
	}
	return dissect.No
}

// requireBlank is a condition: nothing but line feeds and NULs.
func (p *probe) requireBlank() dissect.Confidence {
	for _, x := range p.b {
		if x != '\n' && x != 0 {
			return dissect.No
		}
	}
	return dissect.Certain
}

// rateQuery: a region, an address as text, a filter. The address alone is enough.
func (p *probe) rateQuery() dissect.Confidence {
	if isOldQuery(p.b) {
		return p.rateOldQuery()
	}
	if len(p.b) < 2 {
		if p.cut {
			return dissect.Maybe
		}
		return dissect.No
	}
	seed := p.b[1:]
	end := bytes.IndexByte(seed, 0)
	switch {
	case end < 0:
		return p.rateCutSeed(seed)
	case end == 0: // no client is known to leave it empty; the sequence number of a game looks like it
		if p.hasKnownRegion() && len(seed) > 1 && (len(seed) == 2 && seed[1] == 0 || seed[1] == separator && isFilter(seed[1:])) {
			return dissect.Maybe
		}
		return dissect.No
	case !isAddress(seed[:end]):
		return p.rateLongSeed(seed[:end])
	case p.hasKnownRegion() && isFilter(seed[end+1:]):
		return dissect.Certain
	}
	return dissect.Likely
}

func (p *probe) hasKnownRegion() bool { return regionName(uint64(p.b[0])) != "" }

// rateLongSeed judges a query with something between the address and its NUL: qstat 2.17
// leaves a byte of its buffer there when it asks for the second page.
func (p *probe) rateLongSeed(seed []byte) dissect.Confidence {
	rest := bytes.TrimLeft(seed, "0123456789.:")
	if p.hasKnownRegion() && isAddress(seed[:len(seed)-len(rest)]) {
		return dissect.Maybe
	}
	return dissect.No
}

// rateCutSeed judges a query that ends within its address.
func (p *probe) rateCutSeed(seed []byte) dissect.Confidence {
	const telling = len("0.0.0.0")
	if !p.cut || len(bytes.Trim(seed, "0123456789.:")) > 0 {
		return dissect.No
	}
	if len(seed) >= telling {
		return dissect.Likely
	}
	return dissect.Maybe
}

// rateOldQuery: four bytes of any kind, then a filter.
func (p *probe) rateOldQuery() dissect.Confidence {
	filter := p.b[startLen:]
	switch {
	case len(filter) == 0:
		return dissect.Maybe
	case bytes.Count(filter, []byte{separator}) < 2 || !isPrintable(filter):
		return dissect.No
	}
	return dissect.Likely
}

// isFilter reports whether b can be a filter: empty, or pairs in printable bytes. It
// ends with its NUL.
func isFilter(b []byte) bool {
	if i := bytes.IndexByte(b, 0); i >= 0 && i < len(b)-1 {
		return false
	}
	if len(b) == 0 || b[0] == 0 {
		return true
	}
	return (b[0] == separator || groupWord(b) > 0) && isPrintable(b)
}

// isPrintable reports whether b is text up to its NUL. Bytes above 7F are some
// encoding's letters.
func isPrintable(b []byte) bool {
	for _, x := range b {
		if x == 0 {
			return true
		}
		if x < ' ' || x == 0x7f {
			return false
		}
	}
	return true
}

// isAddress reports whether b is "a.b.c.d", with ":port" or without, or
// "[IPv6]:port".
func isAddress(b []byte) bool {
	if len(b) > 0 && b[0] == '[' {
		i := bytes.IndexByte(b, ']')
		return i > 2 && len(bytes.Trim(b[1:i], "0123456789abcdefABCDEF:.")) == 0 && isPort(b[i+1:])
	}
	dots, digits := 0, 0
	for i, x := range b {
		switch {
		case isDigit(x):
			digits++
		case digits == 0 || digits > 3:
			return false
		case x == '.' && dots < 3:
			dots++
			digits = 0
		default:
			return dots == 3 && isPort(b[i:])
		}
	}
	return dots == 3 && digits > 0 && digits <= 3
}

// isPort reports whether b is a colon and a port.
func isPort(b []byte) bool {
	const most = len(":65535")
	return len(b) > 1 && len(b) <= most && b[0] == ':' && isNumber(b[1:])
}

// ratePage: the byte after 'f' is 0A, 0D or FF, the rest entries.
func (p *probe) ratePage() dissect.Confidence {
	if len(p.b) == 0 {
		return dissect.No
	}
	switch p.b[0] {
	case formTag:
		return p.rateEntries(1+tagLen, entryV4)
	case formPlain, formXash:
		off := 1
		if hasKey(p.b[1:]) {
			off += keyLen
		}
		return p.rateEntries(off, entryLen(p.v6, p.length-off))
	}
	return dissect.No
}

// rateEntries judges a list of entries of size bytes at offset off: most ports are
// above 1023, and addresses are those of hosts. Port 0 is the end mark. A list of others is
// believed where one was asked for.
func (p *probe) rateEntries(off, size int) dissect.Confidence {
	if p.length < off || !p.cut && (p.length-off)%size > 0 && p.length-off < 2*size {
		return dissect.No
	}
	whole, good := 0, 0
	for ; off+size <= len(p.b); off += size {
		whole++
		if isEntry(p.b[off : off+size]) {
			good++
		}
	}
	switch {
	case good*4 < whole*3 && p.isAsked:
		return dissect.Maybe
	case good*4 < whole*3:
		return dissect.No
	case whole == 0 || (p.length-off)%size > 0:
		return dissect.Maybe
	case whole == 1:
		return dissect.Likely
	}
	return dissect.Certain
}

// isEntry reports whether b is the address of a server, or the end mark.
func isEntry(b []byte) bool {
	const reserved, multicast = 1024, 224
	port := binary.BigEndian.Uint16(b[len(b)-2:])
	if port == 0 {
		return b[0] == 0
	}
	return port >= reserved && (len(b) == entryV6 || b[0] > 0 && b[0] < multicast)
}

// rateHeartbeat: an infostring after a line feed.
func (p *probe) rateHeartbeat() dissect.Confidence {
	start := []byte{formPlain, separator}
	switch {
	case !bytes.HasPrefix(p.b, start):
		if p.cut && bytes.HasPrefix(start, p.b) {
			return dissect.Maybe
		}
		return dissect.No
	case bytes.Contains(p.b, []byte("\\challenge\\")), bytes.Contains(p.b, []byte("\\protocol\\")):
		return dissect.Certain
	}
	return dissect.Likely
}

// rateOldHeartbeat: lines of numbers.
func (p *probe) rateOldHeartbeat() dissect.Confidence {
	if p.length > maxOldHeartbeat || len(p.b) < 2 || p.b[0] != '\n' || !isDigit(p.b[1]) && p.b[1] != '-' {
		return dissect.No
	}
	for _, x := range p.b {
		if x < ' ' && x != '\n' && x != 0 || x >= 0x7f {
			return dissect.No
		}
	}
	return dissect.Maybe
}

// rateNATConnect: an address as text after a space.
func (p *probe) rateNATConnect() dissect.Confidence {
	b := bytes.TrimRight(p.b[1:], "\n\x00")
	switch {
	case isAddress(b):
		return dissect.Likely
	case p.cut && len(bytes.Trim(b, "0123456789.:")) == 0:
		return dissect.Maybe
	}
	return dissect.No
}

// rateValidMD5: a byte and a challenge; the byte is a line feed as in other replies.
func (p *probe) rateValidMD5() dissect.Confidence {
	if p.requireFirst(formPlain) == dissect.No {
		return min(p.requireLength(1+challengeLen), dissect.Maybe)
	}
	return p.requireLength(1 + challengeLen)
}

// limit: maxOldHeartbeat bounds what may be taken for a WON heartbeat: a few
// numbers. It has little structure else.
const maxOldHeartbeat = 256
