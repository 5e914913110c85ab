// Package shell quotes words for a shell, so that commands which are printed can be copied.
package shell

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Quote returns words as one line for a POSIX shell, separated by blanks. A word with
// characters that a terminal would act on is written as $'...', which bash and zsh take.
func Quote(words ...string) string {
	var b strings.Builder
	for i, w := range words {
		if i > 0 {
			b.WriteByte(' ')
		}
		quote(&b, w)
	}
	return b.String()
}

func quote(b *strings.Builder, w string) {
	switch {
	case w != "" && strings.IndexFunc(w, isSpecial) < 0:
		b.WriteString(w)
	case !isPrintable(w):
		b.WriteString("$'")
		for len(w) > 0 {
			r, n := utf8.DecodeRuneInString(w)
			switch {
			case r == '\'' || r == '\\':
				b.WriteByte('\\')
				b.WriteRune(r)
			case r == utf8.RuneError && n == 1 || !unicode.IsPrint(r):
				for _, c := range []byte(w[:n]) {
					fmt.Fprintf(b, `\%03o`, c)
				}
			default:
				b.WriteRune(r)
			}
			w = w[n:]
		}
		b.WriteByte('\'')
	default:
		b.WriteString("'" + strings.ReplaceAll(w, "'", `'\''`) + "'")
	}
}

// isSpecial reports whether a shell may take a character for more than itself.
func isSpecial(r rune) bool {
	return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_@%+=:,./-", r))
}

func isPrintable(w string) bool {
	return utf8.ValidString(w) && strings.IndexFunc(w, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}
