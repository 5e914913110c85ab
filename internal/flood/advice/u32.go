package advice

import (
	"fmt"
	"strings"

	"qsniff/dissect"
)

// u32 writes patterns as matches of iptables, each for a line of its own. Lines on TCP need
// none: the hook's line has the match.
type u32 struct{ isIPv6 bool }

// u32Values is how many values, or runs of them, the match takes in one test.
const u32Values = 10

// formatMatches returns the tests for patterns as options of iptables.
func (u u32) formatMatches(patterns []dissect.Pattern) (list []string) {
	const maxLen = 4 // bytes that a test compares
	for _, m := range matchesOf(patterns, maxLen) {
		for _, m := range m.split(u32Values) {
			var tests []string
			for i := range m.words {
				tests = append(tests, u.formatWord(&m.words[i]))
			}
			text := strings.TrimSuffix(u.formatLength(&m), " ")
			if len(tests) > 0 {
				text = u.formatLength(&m) + fmt.Sprintf("-m u32 --u32 %q", strings.Join(tests, "&&"))
			}
			list = append(list, text)
		}
	}
	return list
}

// split returns matches that together are m, whose words have at most so many spans of values
// each.
func (m match) split(most int) []match {
	for i := range m.words {
		spans := m.words[i].spans()
		if len(spans) <= most {
			continue
		}
		first, rest := m.withValues(i, spans[:most]), m.withValues(i, spans[most:])
		return append(first.split(most), rest.split(most)...)
	}
	return []match{m}
}

// withValues returns m with other values for word at.
func (m match) withValues(at int, spans []span) match {
	m.words = append([]word(nil), m.words...)
	var values []uint64
	for _, x := range spans {
		for v := x.lo; ; v++ {
			values = append(values, v)
			if v == x.hi {
				break
			}
		}
	}
	m.words[at].values = values
	return m
}

// formatWord returns the test of a word. The match loads four bytes; a shorter word is the
// last of these, so that a message may end with it.
func (u u32) formatWord(w *word) string {
	s := u.formatOffset(udpHeader + w.off + w.size - 4)
	if mask := w.mask; mask != 0xffffffff {
		s += fmt.Sprintf("&0x%X", mask)
	}
	var list []string
	for _, x := range w.spans() {
		if x.lo == x.hi {
			list = append(list, fmt.Sprintf("0x%X", x.lo))
		} else {
			list = append(list, fmt.Sprintf("0x%X:0x%X", x.lo, x.hi))
		}
	}
	return s + "=" + strings.Join(list, ",")
}

// formatOffset returns the place of four bytes at an offset from the UDP header, which follows
// the IPv4 header, however long, or an IPv6 header without extensions.
func (u u32) formatOffset(offset int) string {
	if u.isIPv6 {
		return fmt.Sprint(40 + offset)
	}
	return fmt.Sprintf("0>>22&0x3C@%d", offset)
}

// formatLength returns the test of a payload's length, empty if there is none. The match
// counts the IP header, taken to be without options.
func (u u32) formatLength(m *match) string {
	headers, most := 20+udpHeader, 65535
	if u.isIPv6 {
		headers += 20
	}
	lo, hi := m.lengthTest()
	switch {
	case lo == 0 && hi == 0:
		return ""
	case lo == hi:
		return fmt.Sprintf("-m length --length %d ", headers+lo)
	case hi > 0:
		most = headers + hi
	}
	return fmt.Sprintf("-m length --length %d:%d ", headers+lo, most)
}
