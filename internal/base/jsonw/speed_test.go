package jsonw

import (
	"strings"
	"testing"
)

// BenchmarkString is the texts that replies are made of.
func BenchmarkString(b *testing.B) {
	for _, tc := range []struct{ name, in string }{
		{"value", "1"},
		{"player", "player 512"},
		{"rule", "sm_option_12_enabled"},
		{"output", strings.Repeat("sm_option_12_enabled : 512 : \"sv\", \"nf\" : Option number 12.\n", 66)},
		{"not ASCII", strings.Repeat("Сервер ", 8)},
	} {
		b.Run(tc.name, func(b *testing.B) {
			in, dst := []byte(tc.in), make([]byte, 0, 8192)
			b.SetBytes(int64(len(in)))
			for b.Loop() {
				dst, _ = String(dst[:0], in)
			}
		})
	}
}
