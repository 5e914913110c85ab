package console

// Colour codes of games and terminals stand anywhere in a text, before the name of a
// variable, after it and around its value:
//
//	^7         Quake's family
//	§r  &r     Minecraft and its plugins, as UTF-8 or Latin-1
//	1b [ 0;1 m terminals
//	07 RRGGBB  08 RRGGBBAA  and single control characters: Source
const (
	section = 0xA7 // § in Latin-1, and the second byte of it in UTF-8
	escape  = 0x1B
	rgb     = 0x07
	rgba    = 0x08
)

// The number of hexadecimal digits after rgb and rgba.
const (
	rgbDigits  = 6
	rgbaDigits = 8
)

// colourLen returns the length of the colour code at the start of b, 0 if there is
// none.
func colourLen(b []byte) int {
	switch x := b[0]; {
	case x == '^' || x == '&' || x == section:
		return min(2, len(b))
	case x == 0xC2 && len(b) > 1 && b[1] == section:
		return min(3, len(b))
	case x == escape:
		return escapeLen(b)
	case x == rgb:
		return 1 + hexLen(b[1:], rgbDigits)
	case x == rgba:
		return 1 + hexLen(b[1:], rgbaDigits)
	case x < ' ' && !isEnd(x):
		return 1
	}
	return 0
}

// escapeLen returns the length of the sequence for terminals that b starts with.
func escapeLen(b []byte) int {
	if len(b) < 2 || b[1] != '[' {
		return 1
	}
	for i := 2; i < len(b); i++ {
		if x := b[i]; !isDigit(x) && x != ';' {
			return i + 1
		}
	}
	return len(b)
}

// hexLen returns n if b starts with n hexadecimal digits, else 0.
func hexLen(b []byte, n int) int {
	if len(b) < n {
		return 0
	}
	for _, x := range b[:n] {
		if low := x | 0x20; !isDigit(x) && (low < 'a' || low > 'f') {
			return 0
		}
	}
	return n
}

// colourTail returns how many bytes at the start of the word at offset lo belong to a
// colour code that begins before it: 1 in ^2rcon.
func colourTail(b []byte, lo int, word []byte) int {
	if lo == 0 {
		return 0
	}
	switch b[lo-1] {
	case '^', '&', section:
		return 1
	case rgb:
		return hexLen(word, rgbDigits)
	case rgba:
		return hexLen(word, rgbaDigits)
	case '[', ';':
		n := 0
		for n < len(word) && isDigit(word[n]) {
			n++
		}
		if n < len(word) && word[n] == 'm' {
			return n + 1
		}
	}
	return 0
}

// hasOnlyMarks reports whether b has neither letters nor digits outside colour codes.
func hasOnlyMarks(b []byte) bool {
	for i := 0; i < len(b); {
		if n := colourLen(b[i:]); n > 0 {
			i += n
			continue
		}
		if wordBytes[b[i]] && b[i] != '_' || b[i] >= 0x80 {
			return false
		}
		i++
	}
	return true
}

// trimMarks returns b without blanks, emphasis and colour codes at its end.
func trimMarks(b []byte) []byte {
	for n := len(b); n > 0; n = len(b) {
		switch x := b[n-1]; {
		case x <= ' ', x == '*', x == '_', x == '~', x == '`':
			b = b[:n-1]
		case n > 1 && (b[n-2] == '^' || b[n-2] == '&' || b[n-2] == section):
			b = b[:n-2]
		case n > 1 && x == section && b[n-2] == 0xC2:
			b = b[:n-2]
		case x == 0xC2:
			b = b[:n-1]
		case x == 'm':
			i := n - 2
			for i >= 0 && (isDigit(b[i]) || b[i] == ';') {
				i--
			}
			if i < 1 || b[i] != '[' || b[i-1] != escape {
				return b
			}
			b = b[:i-1]
		default:
			return b
		}
	}
	return b
}
