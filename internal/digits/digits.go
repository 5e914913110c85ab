// Package digits writes numbers for people. It does not parse them, and knows
// no language but the one of this program's messages.
package digits

import "strconv"

// Grouped writes n with a comma between groups of three digits: 4,812.
func Grouped(n int64) string {
	plain := strconv.FormatInt(n, 10)
	var out []byte
	if plain[0] == '-' {
		out, plain = append(out, '-'), plain[1:]
	}
	first := len(plain) % 3
	out = append(out, plain[:first]...)
	for i := first; i < len(plain); i += 3 {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, plain[i:i+3]...)
	}
	return string(out)
}
