package rcon

import (
	"strings"
	"testing"

	"qsniff/dissect"
)

// BenchmarkMessage is one packet from framing to learning.
func BenchmarkMessage(b *testing.B) {
	for _, bc := range []struct {
		name string
		body string
	}{
		{"short", "hostname: x\n"},
		{"full", strings.Repeat("cvar_name : 1 : , \"sv\" : text\n", 4096/31)},
	} {
		b.Run(bc.name, func(b *testing.B) {
			d := New()
			s := newSession(&dissect.Budget{Limit: 1 << 20})
			c := context(dissect.ToClient, s)
			packets := [2][]byte{packetBytes(2, numValue, bc.body), packetBytes(3, numValue, bc.body)}
			m := new(dissect.Message)
			b.ReportAllocs()
			b.SetBytes(int64(len(packets[0])))
			for i := 0; b.Loop(); i++ {
				p := packets[i%2]
				r := d.Frame(c, p)
				c.Wire = len(p)
				m.Reset(d.Proto(), p)
				d.Dissect(c, r.Type, p, m)
				d.Learn(c, m)
				d.Joined(c, m)
			}
		})
	}
}
