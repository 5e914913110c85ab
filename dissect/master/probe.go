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
}

func (p *probe) judge(t *dissect.Type) dissect.Confidence {
	switch t {
	case &typeQuery:
		return p.query()
	case &typePage:
		return p.page()
	case &typeOldPage:
		// QuakeWorld's masters send the same bytes
		return min(p.entries(1, entryV4), dissect.Maybe, p.startsWith(formPlain))
	case &typeHeartbeat2:
		return p.heartbeat()
	case &typeHeartbeat:
		return p.oldHeartbeat()
	case &typeNAT:
		return p.natConnect()
	case &typeChallenge:
		return min(p.exactly(1+challengeLen, 1+2*challengeLen), p.startsWith(formPlain))
	case &typeValidMD5:
		return p.validMD5()
	}
	return min(p.short(t), dissect.Maybe)
}

// startsWith is a condition: No where the first byte is another one.
func (p *probe) startsWith(x byte) dissect.Confidence {
	if len(p.b) == 0 || p.b[0] != x {
		return dissect.No
	}
	return dissect.Certain
}

// exactly is a condition on the length as sent.
func (p *probe) exactly(lengths ...int) dissect.Confidence {
	for _, n := range lengths {
		if p.length == n {
			return dissect.Likely
		}
	}
	return dissect.No
}

// short judges the messages that have next to no structure.
func (p *probe) short(t *dissect.Type) dissect.Confidence {
	switch t {
	case &typeBatch:
		return p.exactly(tagLen-1, tagLen)
	case &typeServers, &typeShutdown:
		return min(p.exactly(1, 2), p.startsWith(formPlain), p.blank())
	case &typeCheckMD5:
		return min(p.exactly(1), p.startsWith(formXash))
	case &typeRestart:
		return p.exactly(challengeLen)
	case &typeJoin:
		if p.startsWith(formXash) != dissect.No {
			return p.exactly(1 + challengeLen)
		}
		return min(p.exactly(0, 1, 2), p.blank())
	}
	return dissect.No
}

// blank is a condition: nothing but line feeds and NULs.
func (p *probe) blank() dissect.Confidence {
	for _, x := range p.b {
		if x != '\n' && x != 0 {
			return dissect.No
		}
	}
	return dissect.Certain
}

// query: a region, an address as text, a filter. The address alone tells it.
func (p *probe) query() dissect.Confidence {
	if isOldQuery(p.b) {
		return p.oldQuery()
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
		return p.cutSeed(seed)
	case end == 0: // no client is known to leave it empty; the sequence number of a game looks like it
		if p.knownRegion() && len(seed) > 1 && (len(seed) == 2 && seed[1] == 0 || seed[1] == separator && isFilter(seed[1:])) {
			return dissect.Maybe
		}
		return dissect.No
	case !isAddress(seed[:end]):
		return p.longSeed(seed[:end])
	case p.knownRegion() && isFilter(seed[end+1:]):
		return dissect.Certain
	}
	return dissect.Likely
}

func (p *probe) knownRegion() bool { return regionName(uint64(p.b[0])) != "" }

// longSeed judges a query with something between the address and its NUL: qstat 2.17
// leaves a byte of its buffer there when it asks for the second page.
func (p *probe) longSeed(seed []byte) dissect.Confidence {
	rest := bytes.TrimLeft(seed, "0123456789.:")
	if p.knownRegion() && isAddress(seed[:len(seed)-len(rest)]) {
		return dissect.Maybe
	}
	return dissect.No
}

// cutSeed judges a query that ends within its address.
func (p *probe) cutSeed(seed []byte) dissect.Confidence {
	const telling = len("0.0.0.0")
	if !p.cut || len(bytes.Trim(seed, "0123456789.:")) > 0 {
		return dissect.No
	}
	if len(seed) >= telling {
		return dissect.Likely
	}
	return dissect.Maybe
}

// oldQuery: four bytes of any kind, then a filter.
func (p *probe) oldQuery() dissect.Confidence {
	filter := p.b[startLen:]
	switch {
	case len(filter) == 0:
		return dissect.Maybe
	case bytes.Count(filter, []byte{separator}) < 2 || !printable(filter):
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
	return (b[0] == separator || groupWord(b) > 0) && printable(b)
}

// printable reports whether b is text up to its NUL. Bytes above 7F are some
// encoding's letters.
func printable(b []byte) bool {
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
	return len(b) > 1 && len(b) <= most && b[0] == ':' && allDigits(b[1:])
}

// page: the byte after 'f' is 0A, 0D or FF, the rest entries.
func (p *probe) page() dissect.Confidence {
	if len(p.b) == 0 {
		return dissect.No
	}
	switch p.b[0] {
	case formTag:
		return p.entries(1+tagLen, entryV4)
	case formPlain, formXash:
		off := 1
		if hasKey(p.b[1:]) {
			off += keyLen
		}
		return p.entries(off, entryLen(p.v6, p.length-off))
	}
	return dissect.No
}

// entries judges a list of entries of size bytes at offset off: most ports are
// above 1023, and addresses are those of hosts. Port 0 is the end mark.
func (p *probe) entries(off, size int) dissect.Confidence {
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

// heartbeat: an infostring after a line feed.
func (p *probe) heartbeat() dissect.Confidence {
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

// oldHeartbeat: lines of numbers.
func (p *probe) oldHeartbeat() dissect.Confidence {
	if p.length > oldHeartbeatMost || len(p.b) < 2 || p.b[0] != '\n' || !isDigit(p.b[1]) && p.b[1] != '-' {
		return dissect.No
	}
	for _, x := range p.b {
		if x < ' ' && x != '\n' && x != 0 || x >= 0x7f {
			return dissect.No
		}
	}
	return dissect.Maybe
}

// natConnect: an address as text after a space.
func (p *probe) natConnect() dissect.Confidence {
	b := bytes.TrimRight(p.b[1:], "\n\x00")
	switch {
	case isAddress(b):
		return dissect.Likely
	case p.cut && len(bytes.Trim(b, "0123456789.:")) == 0:
		return dissect.Maybe
	}
	return dissect.No
}

// validMD5: a byte and a challenge; the byte is a line feed as in other replies.
func (p *probe) validMD5() dissect.Confidence {
	if p.startsWith(formPlain) == dissect.No {
		return min(p.exactly(1+challengeLen), dissect.Maybe)
	}
	return p.exactly(1 + challengeLen)
}
