package advice

import (
	"fmt"
	"strings"

	"qsniff/dissect"
)

// formatNFTMatches returns the tests for patterns as nft's raw payload expressions. Each is
// for a line of its own, in pieces between which that line can be broken. @th counts bits from
// the start of the UDP header, which has 64.
func formatNFTMatches(patterns []dissect.Pattern) (list [][]string) {
	const maxLen = 8 // bytes of a word; an expression holds up to 16
	for _, m := range matchesOf(patterns, maxLen) {
		var tests []string
		switch lo, hi := m.lengthTest(); {
		case hi > 0 && lo == hi:
			tests = append(tests, fmt.Sprintf("udp length %d", udpHeader+lo))
		case hi > 0:
			tests = append(tests, fmt.Sprintf("udp length %d-%d", udpHeader+lo, udpHeader+hi))
		case lo > 0:
			tests = append(tests, fmt.Sprintf("udp length >= %d", udpHeader+lo))
		}
		for i := range m.words {
			tests = append(tests, m.words[i].formatNFT()...)
		}
		list = append(list, tests)
	}
	return list
}

const udpHeader = 8 // bytes

func (w *word) formatNFT() []string {
	number := func(x uint64) string { return fmt.Sprintf("0x%0*x", 2*w.size, x) }
	s := fmt.Sprintf("@th,%d,%d ", 8*(udpHeader+w.off), 8*w.size)
	if !w.isWhole() {
		s += "& " + number(w.mask) + " == "
	}
	if len(w.values) == 1 {
		return []string{s + number(w.values[0])}
	}
	var list []string
	for _, x := range w.spans() {
		if x.lo == x.hi {
			list = append(list, number(x.lo))
		} else {
			list = append(list, number(x.lo)+"-"+number(x.hi))
		}
	}
	return strings.SplitAfter(s+"{ "+strings.Join(list, ", ")+" }", ", ")
}

// writeMatch writes a line with a match and the verb do, over as many lines of the file as
// that takes.
func (w *nftWriter) writeMatch(match []string, do string) {
	const indent, more = "    ", "      "
	text, col := indent, len(indent)
	pieces := append(match, do)
	for i, x := range pieces {
		x = strings.TrimSpace(x)
		room := textWidth
		if i < len(pieces)-1 {
			room -= len(` \`)
		}
		if i > 0 && col+1+len(x) > room {
			text += " \\\n" + more
			col = len(more)
		} else if i > 0 {
			text += " "
			col++
		}
		text += x
		col += len(x)
	}
	w.writeLine("%s", text)
}
