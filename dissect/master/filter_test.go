package master

import (
	"fmt"
	"strings"
	"testing"
)

func TestFilter(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"empty", ``, ``},
		{"pairs", `\map\x\secure\1`, `map=x secure=1`},
		{"empty value", `\map\\secure\1`, `map= secure=1`},
		{"group", `\appid\240\nand\2\map\x\secure\1\linux\1`, `appid=240 nand=2 nand:map=x nand:secure=1 linux=1`},
		{"old spelling", `\or\1\map\x\and\1\map\y`, `or=1 or:map=x and=1 and:map=y`},
		{"two groups", `\nor\1\map\x\nor\1\map\y\map\z`, `nor=1 nor:map=x nor=1 nor:map=y map=z`},
		{"group in a group", `\nor\3\map\x\nand\1\map\y\map\z`, `nor=3 nor:map=x nor:nand=1 nand:map=y map=z`},
		{"group of none", `\nor\0\map\x`, `nor=0 map=x`},
		{"group beyond the end", `\nor\9\map\x`, `nor=9 nor:map=x`},
		{"group of no number", `\nor\x\map\x`, `nor=x(not a number of pairs) map=x`},
		{"group of a huge number", `\nor\18446744073709551617\map\x`, `nor=18446744073709551617(not a number of pairs) map=x`},
		{"value missing", `\map\x\full`, `map=x full=(value missing)`},
		{"separator alone", `\`, `=(value missing)`},
		{"no separator in front", `map\x\os\l`, `map=x os=l`},
		{"glued word", `\appid\240nand\2\map\x\os\l`, `appid=240 nand=2 nand:map=x nand:os=l`},
		{"glued word and count", `\appid\240nor1\map\x\os\l`, `appid=240 nor=1 nor:map=x os=l`},
		{"glued word at the start", `nand2\map\x\os\l`, `nand=2 nand:map=x nand:os=l`},
		{"word that ends like a group", `\map\de_manor\os\l`, `map=de_manor os=l`},
		{"word at the end", `\map\xnor2`, `map=xnor2`},
		{"word that starts like a group", `\order\1\android\2`, `order=1 android=2`},
		{"key like a count", `\map\de_manor\2x\l`, `map=de_manor 2x=l`},
	} {
		var got []string
		s := scanner{rest: []byte(tc.in)}
		n := s.count()
		for s.next() {
			p := fmt.Sprintf("%s=%s", s.key, s.value)
			if s.note != "" {
				p += "(" + s.note + ")"
			}
			if s.group != nil {
				p = string(s.group) + ":" + p
			}
			got = append(got, p)
		}
		if g := strings.Join(got, " "); g != tc.want || n != len(got) {
			t.Errorf("%s\ngot  %s (%d counted)\nwant %s", tc.name, g, n, tc.want)
		}
	}
}
