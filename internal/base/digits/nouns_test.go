package digits

import "testing"

func TestCounted(t *testing.T) {
	for _, tc := range []struct {
		n     uint64
		words []string
		want  string
	}{
		{0, []string{"byte"}, "0 bytes"},
		{1, []string{"byte"}, "1 byte"},
		{1234, []string{"reply", "replies"}, "1,234 replies"},
		{1, []string{"reply", "replies"}, "1 reply"},
	} {
		if got := Counted(tc.n, tc.words...); got != tc.want {
			t.Errorf("got  %s\nwant %s", got, tc.want)
		}
	}
}
