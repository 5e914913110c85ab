package progress

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"qsniff/capture"
)

// TestFormat: the line never reaches the end of the terminal, where it would wrap
// and leave remains.
func TestFormat(t *testing.T) {
	s := capture.Stats{Size: 1 << 30, Bytes: 1 << 28, Received: 1_000_000}
	for _, tc := range []struct {
		columns int
		want    string
	}{
		{80, " 25 %, 30 s left, 256 MiB of 1.00 GiB, 100,000 packets/s"},
		{56, " 25 %, 30 s left, 256 MiB of 1.00 GiB"},
		{40, " 25 %, 30 s left, 256 MiB of 1.00 GiB"},
		{39, " 25 %, 30 s left"},
		{20, " 25 %, 30 s left"},
		{9, " 25 %"},
		{5, ""},
	} {
		if got := format(s, 10*time.Second, tc.columns-echoCells); got != tc.want {
			t.Errorf("%d columns:\ngot  %q\nwant %q", tc.columns, got, tc.want)
		}
	}
	for columns := range 200 {
		for _, bytes := range []int64{0, 1, 1 << 20, 1 << 30, 1 << 40} {
			if n := len(format(capture.Stats{Size: 1 << 30, Bytes: bytes}, time.Hour, columns-echoCells)); n > max(0, columns-echoCells) {
				t.Fatalf("%d cells of %d", n, columns)
			}
		}
	}
}

// TestLine: nothing is shown of a small input, and what was shown is cleared.
func TestLine(t *testing.T) {
	width := func() int { return 80 }
	for size, want := range map[int64]string{MinSize - 1: "", MinSize: eraseLine + "first reading:  50 %" + eraseLine} {
		var b bytes.Buffer
		l := New(&b, width)
		l.Update("first reading", capture.Stats{Size: size, Bytes: size / 2})
		l.Done()
		if got := cutAfter(b.String(), " %"); got != want {
			t.Errorf("%d bytes\ngot  %q\nwant %q", size, got, want)
		}
	}
	var none *Line
	none.Update("", capture.Stats{Size: MinSize})
	none.Done()
}

// cutAfter removes what is between the first mark and the clearing of the line.
func cutAfter(text, mark string) string {
	head, rest, found := strings.Cut(text, mark)
	if !found {
		return text
	}
	return head + mark + rest[strings.LastIndex(rest, eraseLine):]
}
