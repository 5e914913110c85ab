package wire

import "bytes"

// The replies of the All-Seeing Eye protocol begin with "EYE1" to "EYE9", and so do the
// fragments of long ones. reassembly/eye joins fragments; dissect/ase reads fields.
//
//	a reply     "EYE" number '1' | strings
//	a fragment  "EYE" number     | piece of a reply | id u32
//
// A fragment that another one follows is exactly EyeFragmentLen bytes long, and the
// fragments of one reply end with the same id. MTA (Multi Theft Auto) uses "EYE2"
// and "EYE3" for short replies of other kinds and never sends fragments. The first
// string, the name of the game, identifies it.
const (
	// EyeHeaderLen is the length of "EYE" and the number.
	EyeHeaderLen = 4
	// EyeIDLen is the length of the id after a fragment.
	EyeIDLen = 4
	// EyeFragmentLen is the length of every fragment but the last. qstat, the client
	// whose sources document the form, waits for more after a datagram of this length.
	EyeFragmentLen = 1364
	// MaxEyeNumber is the highest number of one digit.
	MaxEyeNumber = 9
	// EyeLeading is how many strings precede the rules of EYE1.
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

// BeginsEye reports whether b starts with "EYE". If b is shorter than that, its bytes
// must be the start of "EYE"; an empty b is not.
func BeginsEye(b []byte) bool {
	n := min(len(b), len(eyeMark))
	return n > 0 && bytes.Equal(b[:n], eyeMark[:n])
}

// IsMTA reports whether the first string of b, a reply with its header, is "mta". If b
// ends before that, the bytes that it has must agree.
func IsMTA(b []byte) bool {
	if len(b) < EyeHeaderLen {
		return false
	}
	n := min(len(b)-EyeHeaderLen, len(mtaName))
	return bytes.Equal(b[EyeHeaderLen:EyeHeaderLen+n], mtaName[:n])
}

// EyeText returns the string whose length byte is at off and the offset after it.
// The length counts its own byte. If it is 0 or reaches beyond the end of b, the
// offset is -1.
func EyeText(b []byte, off int) (s []byte, next int) {
	if off >= len(b) || b[off] == 0 || off+int(b[off]) > len(b) {
		return nil, -1
	}
	next = off + int(b[off])
	return b[off+1 : next], next
}

// IsWholeEye reports whether b reads as a whole EYE1 reply to its very end. A first
// fragment hardly ever does: it ends within a string, and its id is no string either.
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

// skipTexts returns the offset after the n strings that start at off, and whether all
// of them are in b.
func skipTexts(b []byte, off, n int) (int, bool) {
	for range n {
		if _, off = EyeText(b, off); off < 0 {
			return 0, false
		}
	}
	return off, true
}
