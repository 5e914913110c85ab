package payload

import (
	"errors"
	"runtime"
	"strings"
	"testing"
)

// TestHostileText: no text takes more memory than a multiple of what may be read, or
// time beyond reason. Each of these took minutes or gigabytes.
func TestHostileText(t *testing.T) {
	const mib = 1 << 20
	fill := func(s string, n int) string { return strings.Repeat(s, n/len(s)) }
	tests := []struct{ name, in, want string }{
		{"string in pieces", fill(`"a"`, MaxText), "line 1: a payload of 2796202 bytes: no datagram has more than 65507"},
		{"pairs of brackets", fill("{1}", MaxText), "line 1: more than 2048 pairs of brackets"},
		{"brackets line by line", fill("[]\n", 500_000), "line 1: more than 2048 pairs of brackets"},
		{"rows that repeat", fill("0000 00\n*\nffe0\n\n", MaxText), "line 2049: more than 512 payloads"},
		{"rows that repeat, no blank lines", fill("0000 00\n*\nffe0\n", mib), "line 1537: more than 512 payloads"},
		{"text column far away", "0000: " + fill("20", 2*mib) + fill(" ", 4*mib) + "x",
			"line 1: the bytes and the text beside them do not agree"},
		{"short lines", fill("ff\n", MaxText), "line 262029: more than 262028 lines without a blank one"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := Parse(tt.in, engines)
			runtime.ReadMemStats(&after)
			var e *Error
			if !errors.As(err, &e) || e.Error() != tt.want || e.Hint == "" {
				t.Errorf("got %v, want %s and a hint", err, tt.want)
			}
			if n := after.TotalAlloc - before.TotalAlloc; n > 16*MaxText {
				t.Errorf("allocated %d MiB for %d KiB of text", n/mib, len(tt.in)>>10)
			}
		})
	}
}
