package wire

import "bytes"

// The replies of the All-Seeing Eye protocol, "EYE1" to "EYE9", and the fragments of
// long ones. Joining is reassembly/eye's work, and reading fields dissect/ase's.
//
//	a reply     "EYE" number '1' | strings
//	a fragment  "EYE" number     | piece of a reply | id u32
//
// A fragment that another one follows is exactly EyeFragmentLen bytes long, and the
// fragments of one reply end with the same id. MTA (Multi Theft Auto) uses "EYE2"
// and "EYE3" for short replies of other kinds and never sends fragments: the name
// of the game, the first string, tells.
const (
	// EyeHeaderLen is the length of "EYE" and the number.
	EyeHeaderLen = 4
	// EyeIDLen is the length of the id after a fragment.
	EyeIDLen = 4
	// EyeFragmentLen is the length of every fragment but the last: what qstat, the
	// client whose sources document the form, takes as the sign of more.
	EyeFragmentLen = 1364
	// MaxEyeNumber is the highest number of one digit.
	MaxEyeNumber = 9
	// EyeLeading is how many strings stand before the rules of EYE1.
	EyeLeading = 9
	// EyePlayerFlags are the bits that announce a player's strings, one each.
	EyePlayerFlags = 0x3f
)

var (
	eyeMark = []byte("EYE")
	mtaName = []byte("\x04mta")
)

// EyeNumber returns the number in the header of b, 0 if b has none.
func EyeNumber(b []byte) int {
	if len(b) < EyeHeaderLen || !bytes.HasPrefix(b, eyeMark) || b[3] < '1' || b[3] > '9' {
		return 0
	}
	return int(b[3] - '0')
}

// BeginsEye reports whether b starts with "EYE", as far as it goes.
func BeginsEye(b []byte) bool {
	n := min(len(b), len(eyeMark))
	return n > 0 && bytes.Equal(b[:n], eyeMark[:n])
}

// IsMTA reports whether the first string of b says "mta", as far as it goes.
func IsMTA(b []byte) bool {
	if len(b) < EyeHeaderLen {
		return false
	}
	n := min(len(b)-EyeHeaderLen, len(mtaName))
	return bytes.Equal(b[EyeHeaderLen:EyeHeaderLen+n], mtaName[:n])
}

// EyeText returns the string whose length byte is at off and the offset after it.
// That is -1 if the length, which counts itself, is 0 or beyond the end.
func EyeText(b []byte, off int) (s []byte, next int) {
	if off >= len(b) || b[off] == 0 || off+int(b[off]) > len(b) {
		return nil, -1
	}
	next = off + int(b[off])
	return b[off+1 : next], next
}

// WholeEye reports whether b reads as EYE1 to its very end. A first fragment hardly
// ever does: it breaks off in a string, and its id is none.
func IsWholeEye(b []byte) bool {
	off, ok := skipTexts(b, EyeHeaderLen, EyeLeading)
	for ok && off < len(b) && b[off] != 1 {
		off, ok = skipTexts(b, off, 2)
	}
	if !ok || off == len(b) {
		return ok
	}
	for off++; ok && off < len(b) && b[off] != 0; {
		flags := b[off]
		if flags&^EyePlayerFlags != 0 {
			return false
		}
		n := 0
		for ; flags != 0; flags &= flags - 1 {
			n++
		}
		off, ok = skipTexts(b, off+1, n)
	}
	return ok && (off == len(b) || off == len(b)-1)
}

// texts steps over n strings.
func skipTexts(b []byte, off, n int) (int, bool) {
	for range n {
		if _, off = EyeText(b, off); off < 0 {
			return 0, false
		}
	}
	return off, true
}
