package rcon

import (
	"bytes"
	"encoding/binary"
	"unicode/utf8"

	"qsniff/dissect"
)

const (
	sizeLen   = 4
	headerLen = 12 // size, id, type
	endLen    = 2  // the two NULs
	minLen    = sizeLen + minSize
)

// The numbers of types. 2 means a command or the answer to a password, by direction.
const (
	numValue        = 0
	numPush         = 1 // Squad: what happens in the game
	numExec         = 2
	numAuthResponse = 2
	numAuth         = 3
	numOutput       = 4 // Rust before WebRCON: a line of the console
)

// failedID is the id of the answer to a wrong password.
const failedID = -1

// header is the start of a packet as far as it is there: what is missing counts as
// zeros.
type header struct {
	n    int // bytes that are there
	size uint32
	id   int32
	num  int32
}

func parseHeader(b []byte) header {
	var x [headerLen]byte
	n := copy(x[:], b)
	return header{n: n, size: binary.LittleEndian.Uint32(x[:]),
		id: int32(binary.LittleEndian.Uint32(x[4:])), num: int32(binary.LittleEndian.Uint32(x[8:]))}
}

// fits reports whether the size can be one of at most so many bytes, as far as it
// was received.
func (h header) fits(most uint32) bool {
	return h.size <= most && (h.n < sizeLen || h.size >= minSize)
}

// whole reports whether all of the header is there.
func (h header) whole() bool { return h.n == headerLen }

// length is that of the packet, where its size counts bytes.
func (h header) length() int { return sizeLen + int(h.size) }

// hasUsualType reports whether packets in this direction have the type, as far as it is
// there: the standard ones, and for servers those of dialects.
func (h header) hasUsualType(dir dissect.Direction) bool {
	if !h.whole() { // the bytes that are missing can make the number larger
		return uint32(h.num) <= numOutput
	}
	switch h.num {
	case numValue, numExec:
		return true
	case numAuth:
		return dir != dissect.ToClient
	case numPush, numOutput:
		return dir != dissect.ToServer
	}
	return false
}

// typeOf is the type of the message after a whole header.
func (h header) typeOf(dir dissect.Direction) *dissect.Type {
	if !h.whole() {
		return nil
	}
	if dir == dissect.ToServer {
		switch h.num {
		case numAuth:
			return &typeAuth
		case numExec:
			return &typeExec
		case numValue:
			return &typeValueRequest
		}
		return &typeOtherRequest
	}
	switch h.num {
	case numAuthResponse:
		return &typeAuthResponse
	case numValue:
		return &typeValue
	}
	return &typeOtherReply
}

// endsWithNULs reports whether the packet of n bytes at the start of b ends with its two NULs.
func endsWithNULs(b []byte, n int) bool { return b[n-2] == 0 && b[n-1] == 0 }

// Frame finds the packet at the start of b by its size. While the connection is not
// known it has to look like one of ours; later only a size that cannot be is bad:
// that record is the 12 bytes of the header.
func (*Dissector) Frame(c *dissect.Context, b []byte) dissect.Record {
	v := viewOf(c)
	if v.dir != dissect.Unsure {
		return v.findPacket(b, v.dir)
	}
	up, down := v.findPacket(b, dissect.ToServer), v.findPacket(b, dissect.ToClient)
	if down.Conf > up.Conf {
		return down
	}
	return up
}

func (v *view) findPacket(b []byte, dir dissect.Direction) dissect.Record {
	if dir == dissect.ToClient && v.s.afterEmpty {
		if r, ok := v.findStray(b); ok {
			return r
		}
	}
	h := parseHeader(b)
	if v.known && dir == dissect.ToClient {
		if r, ok := v.findMiscounted(b, h); ok {
			return r
		}
	}
	if v.known && !h.fits(v.maxBelieved(dir)) {
		return v.badRecord(h, dir)
	}
	n := 0
	if h.n >= sizeLen {
		n = h.length()
	}
	r := dissect.Record{Conf: v.ratePacket(dir, b, n), Type: h.typeOf(dir), Len: n}
	if n > 0 && len(b) >= n && !endsWithNULs(b, n) && dir == dissect.ToClient {
		switch end, need := wideEnd(b, h); {
		case end > 0:
			r.Conf, r.Len = v.ratePacket(dir, b, end), end
		case need > 0 && !v.last: // the size counts characters, or the NULs are missing
			r.Conf, r.Len, r.Need = v.ratePacket(dir, b, need), 0, need
		}
	}
	if r.Conf == dissect.No {
		return dissect.Record{}
	}
	if len(b) < headerLen {
		r.Need = headerLen
	} else if len(b) < r.Len {
		r.Need = r.Len
	}
	return r
}

// maxBelieved is the largest size that is believed in a known connection. After a command
// that a wrong size cut two letters and two NULs are a size below 64 KiB too.
func (v *view) maxBelieved(dir dissect.Direction) uint32 {
	if dir == dissect.ToServer && v.s.clientTorn {
		return maxFirstSize
	}
	return maxSize
}

// ratePacket is the confidence in a packet. Where the connection is known all is ours,
// and only the direction can be open.
func (v *view) ratePacket(dir dissect.Direction, b []byte, n int) dissect.Confidence {
	switch {
	case !v.known:
		return ratePacket(dir, b, n)
	case v.dir == dissect.Unsure:
		return max(ratePacket(dir, b, n), dissect.Maybe)
	}
	return dissect.Likely
}

// badRecord is the record of a size that cannot be.
func (v *view) badRecord(h header, dir dissect.Direction) dissect.Record {
	r := dissect.Record{Conf: dissect.Maybe, Type: h.typeOf(dir), Len: headerLen, Bad: true}
	switch {
	case !h.whole() && v.last:
		r.Len = h.n
	case !h.whole():
		r.Need = headerLen
	}
	return r
}

// wideEnd returns where a server's packet ends whose size counts the characters of
// its body, code points or UTF-16 units, and not the bytes: Palworld. It returns 0
// if that is not so, and how many bytes are needed where that cannot be determined yet.
func wideEnd(b []byte, h header) (end, need int) {
	want, points, units := int(h.size)-minSize, 0, 0
	at := headerLen
	for at < len(b) && b[at] != 0 {
		r, n := utf8.DecodeRune(b[at:])
		if r == utf8.RuneError && n <= 1 {
			if !utf8.FullRune(b[at:]) {
				return 0, len(b) + 1
			}
			return 0, 0
		}
		points, units, at = points+1, units+1, at+n
		if n == utf8.UTFMax {
			units++
		}
		if points > want {
			return 0, 0
		}
	}
	switch {
	case at == len(b):
		return 0, len(b) + max(want-units, 0) + endLen
	case points != want && units != want:
		return 0, 0
	case at+endLen > len(b):
		return 0, at + endLen
	case !endsWithNULs(b, at+endLen):
		return 0, 0
	}
	return at + endLen, 0
}

// Squad's server sends seven bytes without a header after the empty packet that
// answers an end probe. As a size their first four say 256.
const (
	strayLen  = 7
	straySize = 256
	strayNeed = strayLen + headerLen // to see what follows
)

var strayBegin = []byte{0x00, 0x01, 0x00, 0x00, 0x00}

// beginsStray reports whether b begins as the seven bytes do, as far as it goes.
func beginsStray(b []byte) bool {
	return bytes.HasPrefix(b, strayBegin[:min(len(b), len(strayBegin))])
}

// findStray finds the seven bytes at the start of b: a believable packet follows them,
// or nothing, and a packet of size 256 they do not begin.
func (v *view) findStray(b []byte) (dissect.Record, bool) {
	const whole = sizeLen + straySize
	if len(b) == 0 || !beginsStray(b) {
		return dissect.Record{}, false
	}
	r := dissect.Record{Conf: dissect.Certain, Type: &typeOtherReply, Len: strayLen}
	wait := dissect.Record{Conf: dissect.Maybe}
	switch {
	case len(b) < strayLen && v.last:
		return dissect.Record{}, false
	case len(b) < strayNeed && !v.last:
		wait.Need = strayNeed
		return wait, true
	}
	next := parseHeader(b[strayLen:])
	if !next.fits(usualSize) || !next.hasUsualType(dissect.ToClient) {
		return dissect.Record{}, false
	}
	if h := parseHeader(b); h.whole() && h.hasUsualType(dissect.ToClient) {
		if len(b) < whole && !v.last {
			wait.Need = whole
			return wait, true
		}
		if len(b) >= whole && endsWithNULs(b, whole) {
			return dissect.Record{}, false
		}
	}
	return r, true
}

// enoughInRow is how many packets in a row make an offset believable as a border: a
// packet has no mark, and within a text chance can make a header or two.
const enoughInRow = 3

// Resync looks for three packets in a row, or for two that end with the last byte
// that is there. At the start of b, which is mostly where a segment began, one
// that ends with the last byte of the direction is enough.
func (*Dissector) Resync(c *dissect.Context, b []byte, last bool) (skip, need int) {
	dir := viewOf(c).dir
	for i := range b {
		found, want, exact := countPackets(dir, b[i:])
		switch {
		case found >= enoughInRow, exact && (found == enoughInRow-1 || last && i == 0):
			return i, 0
		case want > 0 && !last:
			return i, want
		}
	}
	if last {
		return len(b), 0
	}
	return len(b), headerLen
}

// countPackets counts the believable packets at the start of b, up to enough. want is how
// many bytes it needs to judge the next one, 0 if that is refuted; exact reports whether
// b ends with a packet.
func countPackets(dir dissect.Direction, b []byte) (found, want int, exact bool) {
	at, empty := 0, false
	for found < enoughInRow {
		rest := b[at:]
		if len(rest) == 0 {
			return found, at + headerLen, found > 0
		}
		n, more := believablePacket(dir, rest)
		switch {
		case n > 0:
			found++
			empty = n == minLen && parseHeader(rest).num == numValue && dir != dissect.ToServer
			at += n
		case empty && len(rest) >= strayLen && beginsStray(rest) && (more == 0 || len(rest) == strayLen):
			empty = false
			at += strayLen
		case more > 0:
			return found, at + more, false
		default:
			return found, 0, false
		}
	}
	return found, 0, at == len(b)
}

// believablePacket returns the length of the packet at the start of b, or 0 and how many
// bytes it needs to decide, or 0 twice where there is none: size and type are usual,
// text has no NUL and two NULs end it. Bodies with a NUL exist, but in a run of
// short packets they would make a size of any two bytes.
func believablePacket(dir dissect.Direction, b []byte) (n, want int) {
	h := parseHeader(b)
	if !h.fits(usualSize) || !h.hasUsualType(dir) {
		return 0, 0
	}
	if !h.whole() {
		return 0, headerLen
	}
	n = h.length()
	body := b[headerLen:max(headerLen, min(len(b), n-endLen))]
	if bytes.IndexByte(body, 0) >= 0 && !isTrailerStart(h, body) && h.size != minSize+1 {
		return 0, 0
	}
	switch {
	case len(b) < n:
		return 0, n
	case endsWithNULs(b, n):
		return n, 0
	case dir == dissect.ToServer:
		return 0, 0
	}
	return wideEnd(b, h)
}

// isTrailerStart reports whether body is that of the packet with which servers of the
// Source engine end their answer to an end probe, as far as it goes.
func isTrailerStart(h header, body []byte) bool {
	return h.size == trailerSize && h.num == numValue && bytes.HasPrefix(trailerBody, body)
}

// ratePacket returns how sure it is, by the packet alone, that it is RCON's.
// b is what came from its start on, n its length. Types are the standard ones and
// those of dialects, text is text: a length before it is what many protocols have.
func ratePacket(dir dissect.Direction, b []byte, n int) dissect.Confidence {
	h := parseHeader(b)
	most := uint32(usualSize)
	if dir == dissect.ToServer {
		most = maxFirstSize
	}
	if !h.fits(most) || !h.hasUsualType(dir) {
		return dissect.No
	}
	if !h.whole() {
		return dissect.Maybe
	}
	whole := len(b) >= n
	if whole && !endsWithNULs(b, n) {
		return dissect.No
	}
	body := b[headerLen:max(headerLen, min(len(b), n-endLen))]
	if h.size == minSize+1 && dir == dissect.ToClient && len(bytes.Trim(body, "\x00")) == 0 {
		body = nil // a failed login with a NUL too much
	}
	if !isPrintable(body, dir == dissect.ToClient) {
		return dissect.No
	}
	if dir == dissect.ToServer {
		return rateRequest(h, body, whole, b[min(len(b), n):])
	}
	return rateReply(h, len(body))
}

// rateRequest judges a client's packet. A password is the best evidence there is:
// type 3 and nothing else makes sense, its text ends where the size says, and what
// follows is the next packet or nothing.
func rateRequest(h header, body []byte, whole bool, next []byte) dissect.Confidence {
	switch {
	case h.size == minSize && h.num != numAuth:
		return dissect.Maybe
	case h.num == numAuth && whole && len(body) > 0 && utf8.Valid(body):
		if follows := parseHeader(next); follows.fits(maxSize) && follows.hasUsualType(dissect.ToServer) {
			return dissect.Certain
		}
		return dissect.Maybe
	case h.num == numAuth, h.num == numExec:
		return dissect.Likely
	}
	return dissect.Maybe
}

// rateReply judges a server's packet with n bytes of text.
func rateReply(h header, n int) dissect.Confidence {
	switch {
	case h.num == numAuthResponse && n == 0, h.num == numValue && n >= longText:
		return dissect.Likely
	}
	return dissect.Maybe
}

// isPrintable reports whether b is text: no control characters, apart from those of a
// console's output.
func isPrintable(b []byte, output bool) bool {
	const escape = 0x1b // of colours
	for _, x := range b {
		if x < ' ' && !(output && (x == '\n' || x == '\r' || x == '\t' || x == escape)) || x == 0x7f {
			return false
		}
	}
	return true
}

// Bytes by which the sizes of known servers are wrong.
const (
	uncountedNUL    = 1  // one of the two NULs
	uncountedNULs   = 2  // both: the size goes up to the first
	uncountedHeader = 8  // id and type
	uncountedAll    = 10 // the body is counted alone
	countedItself   = 4  // too much: the size
)

// findMiscounted finds a server's packet whose size is wrong: too large for a body that was cut,
// as where a length in characters is used for bytes, or too small because it omits a part.
// Bodies are text: the packet ends at the two NULs after it, if the next packet begins there
// or nothing follows. The reader does not only wait for as many bytes as the size demands: it
// examines each piece that arrives. ok is false where nothing shows that the size is wrong.
func (v *view) findMiscounted(b []byte, h header) (r dissect.Record, ok bool) {
	if !h.whole() || !h.hasUsualType(dissect.ToClient) || h.size > maxSize {
		return r, false
	}
	r = dissect.Record{Conf: dissect.Likely, Type: h.typeOf(dissect.ToClient), Len: h.length()}
	n := h.length()
	i := bytes.IndexByte(b[headerLen:], 0)
	if i < 0 {
		switch {
		case v.last:
		case h.size < minSize && len(b) < n+uncountedAll:
			return dissect.Record{Conf: dissect.Maybe, Type: r.Type, Need: n + uncountedAll}, true
		case h.size >= minSize && len(b) < n:
			r.Need = min(n, nextLook(len(b)))
			return r, true
		}
		return r, false
	}
	end := headerLen + i + endLen
	switch {
	case end > len(b) && !v.last && end < n:
		r.Need = end
		return r, true
	case end > len(b) || b[end-1] != 0 || end == n:
		return r, false
	case end > n:
		return v.findUncounted(b, h, end)
	}
	found, want := believablePacket(dissect.ToClient, b[end:])
	switch {
	case end == len(b) && v.last, found > 0:
		r.Len = end
		return r, true
	case v.last || len(b) >= n:
		return r, false
	case end == len(b), want > 0:
		r.Need = min(n, end+max(want, headerLen))
		return r, true
	}
	r.Need = min(n, nextLook(len(b)))
	return r, true
}

// nextLook returns how many bytes of a packet have to be there before it is examined again,
// after n were. Short packets are examined with each segment, long ones after a sixteenth
// more, so that a sender of single bytes costs little for each.
func nextLook(n int) int { return n + 1 + n/16*min(n/eachSegment, 1) }

// eachSegment is the length up to which a packet is examined with each segment that arrives.
// Chosen: two packets of the longest size that servers write.
const eachSegment = 8 << 10

// findUncounted returns the record of a packet that ends after its size says, at end.
func (v *view) findUncounted(b []byte, h header, end int) (r dissect.Record, ok bool) {
	r = dissect.Record{Conf: dissect.Likely, Type: h.typeOf(dissect.ToClient), Len: end}
	switch end - h.length() {
	default:
		return r, false
	case uncountedNUL, uncountedNULs, uncountedHeader, uncountedAll:
	}
	if wide, _ := wideEnd(b, h); wide > 0 {
		return r, false
	}
	if h.size >= minSize {
		if found, _ := believablePacket(dissect.ToClient, b[h.length():]); found > 0 {
			return r, false
		}
	}
	next := parseHeader(b[end:])
	isNext := next.n == 0 || next.fits(usualSize+uncountedAll) || next.n >= sizeLen && next.size < minSize
	return r, isNext && (next.n < headerLen || next.hasUsualType(dissect.ToClient))
}

// isMiscounted reports whether b, of a server, is a packet that findMiscounted found: its first NULs are its last bytes, and
// the size says something else.
func isMiscounted(b []byte, h header) bool {
	if !h.whole() || len(b) < minLen || len(b) == h.length() || !endsWithNULs(b, len(b)) {
		return false
	}
	if bytes.IndexByte(b[headerLen:], 0) != len(b)-minLen {
		return false
	}
	if wide, _ := wideEnd(b, h); wide > 0 {
		return false
	}
	switch more := len(b) - h.length(); more {
	case uncountedNUL, uncountedNULs, uncountedHeader, uncountedAll:
		return true
	default:
		return more < 0
	}
}

const (
	// limit: Sizes of the protocol. The size of a packet counts what follows it: id, type,
	// body and two NULs.
	minSize = 10

	// limit: usualSize is the most that servers of the Source engine send: 4,096 bytes of
	// body. Valve's description says 4,096 for the size itself.
	usualSize = 4096 + minSize

	// limit: maxSize is the most that is believed: as much as one direction of a connection may have waiting
	// (reassembly/tcpstream). Servers of Counter-Strike 2 send long answers in one packet, of 66,010 bytes where it was
	// reported, and of less than 512,000.
	maxSize = 1<<20 - sizeLen

	// limit: maxFirstSize is the most that a client's packet may have while the connection
	// is not known: Minecraft refuses more than 1,460 bytes, and no password or
	// command is as long.
	maxFirstSize = 1500

	// limit: longText is from how many bytes on a body of type 0 is taken for output:
	// clients send a few letters in theirs, if any.
	longText = 32
)
