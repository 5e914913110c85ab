// Package hextest reads the bytes that tests write down. It is imported by tests
// only.
package hextest

import (
	"encoding/hex"
	"strings"
	"testing"
)

// Bytes reads hexadecimal digits and "quoted text" in any mixture. Spaces mean
// nothing, and # or // begins a comment that ends with the line.
func Bytes(t testing.TB, s string) []byte {
	t.Helper()
	var b []byte
	for line := range strings.Lines(s) {
		for i, part := range strings.Split(line, `"`) {
			if i%2 == 1 {
				b = append(b, part...)
				continue
			}
			part, _, slashes := strings.Cut(part, "//")
			part, _, number := strings.Cut(part, "#")
			h, err := hex.DecodeString(strings.Join(strings.Fields(part), ""))
			if err != nil {
				t.Fatal(err)
			}
			if b = append(b, h...); slashes || number {
				break
			}
		}
	}
	return b
}
