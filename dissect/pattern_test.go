package dissect

import "testing"

// TestNeeded: of patterns that cover each other, the wider ones are left.
func TestNeeded(t *testing.T) {
	a, b := Pattern{Value: []byte("ab")}, Pattern{Value: []byte("abc")}
	sized, bits := Pattern{Value: []byte("ab"), MaxLen: 5}, Pattern{Value: []byte("ag"), Mask: []byte("\xff\xfc")}
	later := Pattern{Offset: 1, Value: []byte("b"), MinLen: 2}
	for _, tc := range []struct {
		name string
		in   []Pattern
		want int
	}{
		{"the longer one", []Pattern{a, b}, 1}, {"the longer one, first", []Pattern{b, a}, 1}, {"the same", []Pattern{a, a}, 1},
		{"of some lengths", []Pattern{a, sized}, 1}, {"of some lengths, the longer one is not", []Pattern{sized, b}, 2},
		{"fewer bits", []Pattern{a, bits}, 2}, {"at an offset", []Pattern{a, later}, 1}, {"at an offset, of some lengths", []Pattern{later, sized}, 1},
		{"none", nil, 0},
	} {
		if got := Needed(tc.in); len(got) != tc.want {
			t.Errorf("%s\ngot  %+v\nwant %d", tc.name, got, tc.want)
		}
	}
}
