package jsonl

import (
	"net/netip"

	"qsniff/internal/jsonw"
	"qsniff/render"
)

// AppendFindings appends a line for each finding, with the number of its repeats between the
// same server and client. Of pairs that were evicted there is one line for each kind, with
// their number.
func AppendFindings(dst []byte, f *render.Findings) []byte {
	w := writer{dst: dst}
	var text []byte
	for i := range f.Repeats {
		r := &f.Repeats[i]
		w.open('{')
		w.uint("schema", schema)
		w.text("record", "finding")
		w.writeInterrupted(&f.Run)
		w.text("id", r.Expert.Code.ID)
		w.text("severity", r.Expert.Severity.String())
		w.text("fault", r.Expert.Code.Fault.String())
		w.time("time", r.First)
		w.time("last", r.Last)
		w.key("frames")
		w.dst = appendFrames(append(w.dst, '['), r.Frames)
		w.end("server", r.Server)
		w.end("client", r.Client)
		text = r.AppendText(text[:0])
		w.key("text")
		w.dst, _ = jsonw.String(w.dst, text)
		w.uint("count", r.Count)
		if r.Evicted > 0 {
			w.uint("evicted_pairs", r.Evicted)
		}
		w.close('}')
		w.dst = append(w.dst, '\n')
	}
	return w.dst
}

// end writes one end of a flow, if there is any. It has no port where it had several.
func (w *writer) end(name string, end netip.AddrPort) {
	if end.IsValid() {
		w.key(name)
		w.dst = append(appendEnd(append(w.dst, '"'), end), '"')
	}
}
