package main

import (
	"bytes"
	"regexp"
	"testing"
	"time"

	"qsniff/capture"
)

func TestAimed(t *testing.T) {
	for n, want := range []string{
		"",
		"qsniff: addresses in the traffic were chosen to collide in tables, which changed their seeds 1 time: nothing is missing, it took longer\n",
		"qsniff: addresses in the traffic were chosen to collide in tables, which changed their seeds 2 times: nothing is missing, it took longer\n",
	} {
		var b bytes.Buffer
		if printRekeyed(&b, uint64(n)); b.String() != want {
			t.Errorf("%d\ngot  %q\nwant %q", n, b.String(), want)
		}
	}
}

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

// several finds one thing that is counted as if it were several.
var several = regexp.MustCompile(`(?:^|[ (>])1 (?:different |refused )?(?:[a-z]+ies|sources|servers|packets|frames|bytes|messages|requests|players|clients|incidents|attacks|warnings|notes|parts|datagrams|addresses|logins|passwords|hosts|answers|files|connections|dialogues)\b`)

// TestSingular: in no output of a capture that people read one thing is several.
func TestSingular(t *testing.T) {
	eachCapture(t, func(t *testing.T, _ int, name string) {
		p := printedOf(t, name)
		if found := several.FindString(p.remarks + p.forms["text"] + p.forms["tree"] + p.forms["hex"]); found != "" {
			t.Errorf("%q", found)
		}
	})
}
