package payload

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

var (
	comments = regexp.MustCompile(`(?s)/\*.*?\*/|//[^\n]*`)
	// brackets matches a pair with numbers between them, an index as well as a list:
	// see isIndex.
	brackets = regexp.MustCompile(`[\[{]([0-9a-fA-FxX,\s.…-]*)[\]}]`)
	commas   = regexp.MustCompile(`^[0-9a-fA-FxX,\s-]*,[0-9a-fA-FxX,\s-]*$`)
)

// parseArray reads lists of numbers; ok reports whether the lines hold one.
func parseArray(lines []line) (ps []Payload, ok bool, err error) {
	texts := make([]string, len(lines))
	for i, l := range lines {
		texts[i] = l.text
	}
	text := comments.ReplaceAllStringFunc(strings.Join(texts, "\n"), func(c string) string {
		return strings.Repeat("\n", strings.Count(c, "\n")) // lines keep their numbers
	})
	if strings.Contains(text, `\`) || strings.HasPrefix(text, `"`) || strings.HasPrefix(text, "'") {
		return nil, false, nil
	}
	spans := brackets.FindAllStringSubmatchIndex(text, maxBrackets+1)
	if len(spans) > maxBrackets {
		return nil, false, &Error{Line: lines[0].no, What: fmt.Sprintf("more than %d pairs of brackets", maxBrackets),
			Hint: "put a blank line between two payloads"}
	}
	if commas.MatchString(text) {
		spans = [][]int{{0, len(text), 0, len(text)}}
	}
	above, counted := 0, 0 // lines above a span, and up to where they were counted
	for _, x := range spans {
		above += strings.Count(text[counted:x[0]], "\n")
		counted = x[0]
		list := text[x[2]:x[3]]
		if isIndex(text, x[0], x[1]) || strings.TrimSpace(list) == "" {
			continue
		}
		no := lines[above].no
		b, err := parseNumbers(list)
		if err != nil {
			err.Line = no
			return nil, false, err
		}
		ps = append(ps, Payload{b, Array, no})
	}
	return ps, len(ps) > 0, nil
}

// isIndex reports whether the brackets from lo to hi belong to a name or type: pkt[67],
// [67]byte.
func isIndex(text string, lo, hi int) bool {
	return text[lo] == '[' && (lo > 0 && isNameByte(text[lo-1]) || hi < len(text) && isNameByte(text[hi]))
}

func isNameByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}

// parseNumbers reads a list: 0xff, 255, or -1 as Java prints it. If one of them has a
// letter and no 0x, all are hexadecimal.
func parseNumbers(list string) ([]byte, *Error) {
	words := strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' || r == '\n' })
	base := 10
	for _, w := range words {
		if strings.ContainsAny(w, "abcdefABCDEF") && !strings.ContainsAny(w, "xX") {
			base = 16
		}
	}
	b := make([]byte, 0, len(words))
	for i, w := range words {
		base := base
		digits := w
		if h, ok := strings.CutPrefix(strings.ToLower(w), "0x"); ok {
			digits, base = h, 16
		}
		v, err := strconv.ParseInt(digits, base, 16)
		switch {
		case strings.HasPrefix(w, "...") || strings.HasPrefix(w, "…"):
			return nil, &Error{What: "the numbers were printed cut short", Hint: "print them whole"}
		case err != nil || v > 0xff || v < -0x80 || base == 16 && len(digits) > 2:
			return nil, &Error{What: fmt.Sprintf("number %d of the list is not a byte", i+1), Hint: "bytes are 0 to 255, or 0x00 to 0xff"}
		}
		b = append(b, byte(v))
	}
	return b, nil
}
