package rcon

import (
	"bytes"
	"unicode/utf8"

	"qsniff/dissect"
)

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
// if that is not so, and how many bytes are needed where that cannot be told yet.
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
