package jsonl

import (
	"qsniff/internal/base/jsonw"
	"qsniff/internal/render"
)

// AppendProven appends a line for each proven address: how it was proven, how often, from
// when to when, and to which servers, of which the first few are listed. A proof is of its
// moment; anybody can forge the address at any other.
func AppendProven(dst []byte, p *render.Proven) []byte {
	w := writer{dst: dst}
	for i := range p.Sources {
		s := &p.Sources[i]
		w.open('{')
		w.uint("schema", schema)
		w.text("record", "proven")
		w.writeInterrupted(&p.Run)
		w.text("address", s.Addr.String())
		w.time("first", s.First)
		w.time("last", s.Last)
		w.texts("how", s.Methods.Names())
		w.uint("proofs", s.Proofs)
		w.key("servers")
		w.open('[')
		for _, to := range s.Servers {
			w.comma()
			transport := "udp/"
			if to.TCP {
				transport = "tcp/"
			}
			w.dst = jsonw.Text(w.dst, transport+to.End.String())
		}
		w.close(']')
		w.bool("more_servers", s.HasMore)
		w.close('}')
		w.dst = append(w.dst, '\n')
	}
	return w.dst
}
