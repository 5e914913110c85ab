package wire

import "testing"

const leading = "EYE1\x04mta\x0622003\x02n\x02t\x02m\x041.6\x020\x022\x0332"

func TestWhole(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		want     bool
	}{
		{"no rules, no players", leading + "\x01", true},
		{"no end of rules", leading, true},
		{"a rule", leading + "\x02k\x02v\x01", true},
		{"a rule without its value", leading + "\x02k", false},
		{"a player of six strings", leading + "\x01\x3f\x04Ann\x01\x01\x01\x0341\x01", true},
		{"a player of two", leading + "\x01\x09\x04Ann\x0341", true},
		{"a player, end mark", leading + "\x01\x01\x04Ann\x00", true},
		{"bytes after the end mark", leading + "\x01\x00abc", false},
		{"a string is missing", leading + "\x01\x03\x04Ann", false},
		{"a string overruns", leading + "\x01\x01\x09Ann", false},
		{"length 0", leading + "\x01\x01\x00", false},
		{"flags without meaning", leading + "\x01\x41\x04Ann", false},
		{"leading strings end", "EYE1\x04mta\x0622003", false},
		{"header alone", "EYE1", false},
	} {
		if got := IsWholeEye([]byte(tc.in)); got != tc.want {
			t.Errorf("%s\ngot  %v\nwant %v", tc.name, got, tc.want)
		}
	}
}

func TestHeader(t *testing.T) {
	for _, tc := range []struct {
		in     string
		number int
		begins bool
		mta    bool
	}{
		{"EYE1\x04mta", 1, true, true},
		{"EYE9abcd", 9, true, false},
		{"EYE2", 2, true, true}, // nothing contradicts
		{"EYE2\x04mt", 2, true, true},
		{"EYE2\x04mtb", 2, true, false},
		{"EYE0", 0, true, true},
		{"EY", 0, true, false},
		{"", 0, false, false},
		{"EyE1", 0, false, true},
	} {
		b := []byte(tc.in)
		if n, s, m := EyeNumber(b), BeginsEye(b), IsMTA(b); n != tc.number || s != tc.begins || m != tc.mta {
			t.Errorf("%q\ngot  %d %v %v\nwant %d %v %v", tc.in, n, s, m, tc.number, tc.begins, tc.mta)
		}
	}
}

func FuzzWhole(f *testing.F) {
	f.Add([]byte(leading + "\x01\x3f\x04Ann\x01\x01\x01\x0341\x01"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if !IsWholeEye(b) {
			return
		}
		// a player with the longest string cannot fit into what follows a whole one
		if IsWholeEye(append(b[:len(b):len(b)], 2, 0xff)) {
			t.Errorf("whole, and whole with a broken player after it: % x", b)
		}
	})
}
