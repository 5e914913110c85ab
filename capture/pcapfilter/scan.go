package pcapfilter

import (
	"net/netip"
	"strconv"
	"strings"
)

// kind is what a token is.
type kind uint8

const (
	endOfText kind = iota
	keyword        // lower-case word of the language: "udp", "src", "and"
	operator       // "(", "[", "<=", "&", ...; "&&", "||" and "!" come as the keywords that they stand for
	number
	ipv4    // 10.0.0.1, or 10.1 for a network
	ipv6    // 2001:db8::1
	mac     // 00:11:22:33:44:55
	name    // any other word, and words after a backslash
	illegal // a byte that begins no token
)

// token is a word of an expression and its place.
type token struct {
	kind kind
	text string // as in the expression; of keywords the name that the language knows best
	at   int    // offset of the first byte
	end  int
	n    uint32     // of a number; of ipv4 its parts, the last one in the lowest byte
	bits int        // of ipv4: bits that its parts fill
	addr netip.Addr // of ipv6
	mac  [6]byte
}

// is reports whether t is this keyword or operator.
func (t *token) is(text string) bool {
	return (t.kind == keyword || t.kind == operator) && t.text == text
}

// scanner divides an expression into tokens, as tcpdump does: the longest word wins, so that
// "len-3" and "0x11-5" are names.
type scanner struct {
	text string
	at   int
}

const wordBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"

// next returns the token at the scanner's place, and moves after it.
func (s *scanner) next() token {
	for s.at < len(s.text) && strings.IndexByte(" \t\r\n", s.text[s.at]) >= 0 {
		s.at++
	}
	t := token{at: s.at}
	rest := s.text[s.at:]
	switch {
	case rest == "":
	case rest[0] == '\\':
		t.kind, t.text = name, rest[1:1+wordLength(rest[1:])]
		s.at += 1 + len(t.text)
		if t.text == "" {
			t.kind = illegal
		}
	default:
		n := addressLength(rest)
		if n == 0 {
			n = wordLength(rest)
		}
		if n == 0 {
			s.scanOperator(&t, rest)
			break
		}
		t.text = rest[:n]
		t.classify()
		s.at += n
	}
	t.end = s.at
	return t
}

// scanOperator makes t the operator that rest begins with.
func (s *scanner) scanOperator(t *token, rest string) {
	for _, op := range [...]struct{ text, stands string }{
		{"&&", "and"}, {"||", "or"}, {"!=", "!="}, {"==", "="}, {">=", ">="}, {"<=", "<="}, {"<<", "<<"}, {">>", ">>"}, {"!", "not"},
	} {
		if strings.HasPrefix(rest, op.text) {
			t.kind, t.text = operator, op.stands
			s.at += len(op.text)
			return
		}
	}
	t.kind, t.text = operator, rest[:1]
	if strings.IndexByte("()[]:/&|^+-*%<>=", rest[0]) < 0 {
		t.kind = illegal
	}
	s.at++
}

// wordLength returns the length of the word that s begins with: letters, digits and ".-_", of
// which the last two do not end it.
func wordLength(s string) int {
	n := 0
	for n < len(s) && strings.IndexByte(wordBytes, s[n]) >= 0 {
		n++
	}
	for n > 0 && (s[n-1] == '-' || s[n-1] == '_') {
		n--
	}
	if n > 0 && strings.IndexByte("-_.", s[0]) >= 0 {
		return 0
	}
	return n
}

// addressLength returns the length of the IPv6 or Ethernet address that s begins with, or 0.
// One colon is not enough: it divides offset and length in brackets.
func addressLength(s string) int {
	n := 0
	for n < len(s) && strings.IndexByte("0123456789abcdefABCDEF:.", s[n]) >= 0 {
		n++
	}
	if strings.Count(s[:n], ":") < 2 {
		return 0
	}
	if _, err := netip.ParseAddr(s[:n]); err == nil {
		return n
	}
	if _, ok := parseMAC(s[:n]); ok {
		return n
	}
	return 0
}

// parseMAC reads an Ethernet address: six bytes with ":", "-" or "." between them, or three
// pairs with ".".
func parseMAC(s string) (a [6]byte, ok bool) {
	for _, sep := range []string{":", "-", "."} {
		parts := strings.Split(s, sep)
		size := 2
		if len(parts) == 3 && sep == "." {
			size = 4
		} else if len(parts) != len(a) {
			continue
		}
		for i, p := range parts {
			v, err := strconv.ParseUint(p, 16, 4*size)
			if err != nil || len(p) > size || size == 4 && len(p) != 4 {
				return a, false
			}
			if size == 4 {
				a[2*i], a[2*i+1] = byte(v>>8), byte(v)
			} else {
				a[i] = byte(v)
			}
		}
		return a, true
	}
	return a, false
}

// classify sets the kind of t from its text, and its value.
func (t *token) classify() {
	if n, err := parseNumber(t.text); err == nil {
		t.kind, t.n = number, n
		return
	}
	if v, bits, ok := parseParts(t.text); ok {
		t.kind, t.n, t.bits = ipv4, v, bits
		return
	}
	if a, err := netip.ParseAddr(t.text); err == nil && a.Is6() && a.Zone() == "" {
		t.kind, t.addr = ipv6, a
		return
	}
	var ok bool
	if t.mac, ok = parseMAC(t.text); ok {
		t.kind = mac
		return
	}
	if v, ok := constants[t.text]; ok {
		t.kind, t.n = number, v
		return
	}
	if word, ok := keywords[t.text]; ok {
		t.kind, t.text = keyword, word
		return
	}
	t.kind = name
}

// parseNumber reads a decimal, octal (010) or hexadecimal (0x8) number.
func parseNumber(s string) (uint32, error) {
	base := 10
	switch {
	case strings.HasPrefix(s, "0x"), strings.HasPrefix(s, "0X"):
		s, base = s[2:], 16
	case len(s) > 1 && s[0] == '0':
		s, base = s[1:], 8
	}
	if strings.ContainsAny(s, "_+-") {
		return 0, strconv.ErrSyntax
	}
	n, err := strconv.ParseUint(s, base, 32)
	return uint32(n), err
}

// parseParts reads two to four decimal bytes with dots between them.
func parseParts(s string) (v uint32, bits int, ok bool) {
	parts := strings.Split(s, ".")
	if len(parts) < 2 || len(parts) > 4 {
		return 0, 0, false
	}
	for _, p := range parts {
		n, err := strconv.ParseUint(p, 10, 8)
		if err != nil || p[0] == '+' {
			return 0, 0, false
		}
		v = v<<8 | uint32(n)
	}
	return v, 8 * len(parts), true
}
