package main

import (
	"testing"
	"time"

	"qsniff/capture"
)

// TestProgressLine: the line never reaches the end of the terminal, where it would wrap
// and leave remains.
func TestProgressLine(t *testing.T) {
	p := progressLine{size: 1 << 30}
	s := capture.Stats{Bytes: 1 << 28, Received: 1_000_000}
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
		if got := p.text(s, 10*time.Second, tc.columns-echoCells); got != tc.want {
			t.Errorf("%d columns:\ngot  %q\nwant %q", tc.columns, got, tc.want)
		}
	}
	for columns := range 200 {
		for _, bytes := range []int64{0, 1, 1 << 20, 1 << 30, 1 << 40} {
			if n := len(p.text(capture.Stats{Bytes: bytes}, time.Hour, columns-echoCells)); n > max(0, columns-echoCells) {
				t.Fatalf("%d cells of %d", n, columns)
			}
		}
	}
}
