package jsonl

import (
	"net/netip"

	"qsniff/internal/base/jsonw"
	"qsniff/internal/flood"
	"qsniff/internal/render"
	"qsniff/internal/track/stats"
)

// AppendFindings appends a line for each finding, with the number of its repeats between the
// same server and client. Of pairs that were evicted there is one line for each kind, with
// their number.
func AppendFindings(dst []byte, f *render.Findings) []byte {
	w := writer{dst: dst}
	for i := range f.Repeats {
		w.openFinding()
		w.writeInterrupted(&f.Run)
		w.writeFinding(&f.Repeats[i])
	}
	return w.dst
}

// AppendFindingEvent appends an event of a finding that repeats as a line, with its repeats up to
// that time: event is one of those of incidents.
func AppendFindingEvent(dst []byte, thread string, event flood.Event, r *stats.Repeats) []byte {
	w := writer{dst: dst}
	w.openFinding()
	w.text("event", event.String())
	w.writeThread(thread)
	w.writeFinding(r)
	return w.dst
}

func (w *writer) openFinding() {
	w.open('{')
	w.uint("schema", schema)
	w.text("record", "finding")
}

// writeFinding appends the members that both forms have, and ends the line.
func (w *writer) writeFinding(r *stats.Repeats) {
	w.text("id", r.Expert.Code.ID)
	w.text("severity", r.Expert.Severity.String())
	w.text("fault", r.Expert.Code.Fault.String())
	w.time("time", r.First)
	w.time("last", r.Last)
	if r.Frame > 0 {
		w.uint("frame", r.Frame)
	}
	w.key("frames")
	w.dst = appendFrames(append(w.dst, '['), r.Frames)
	w.end("server", r.Server)
	w.end("client", r.Client)
	w.key("text")
	w.dst, _ = jsonw.String(w.dst, r.AppendText(nil))
	w.uint("count", r.Count)
	if r.Evicted > 0 {
		w.uint("evicted_pairs", r.Evicted)
	}
	w.close('}')
	w.dst = append(w.dst, '\n')
}

// end writes one end of a flow, if there is any. It has no port where it had several.
func (w *writer) end(name string, end netip.AddrPort) {
	if end.IsValid() {
		w.key(name)
		w.dst = append(appendEnd(append(w.dst, '"'), end), '"')
	}
}
