package jsonl

import "qsniff/internal/render/tally"

// AppendInterrupted appends a line with how far a run came that the user ended, for output
// whose lines were written before that. It appends nothing after a run that came to its
// end.
func AppendInterrupted(dst []byte, run *tally.Run) []byte {
	if !run.Interrupted {
		return dst
	}
	w := writer{dst: dst}
	w.open('{')
	w.uint("schema", schema)
	w.text("record", "interrupted")
	w.writeExtent(run)
	w.close('}')
	return append(w.dst, '\n')
}

// writeInterrupted writes the same as a member, for output that is written after the run.
func (w *writer) writeInterrupted(run *tally.Run) {
	if !run.Interrupted {
		return
	}
	w.object("interrupted")
	w.writeExtent(run)
	w.close('}')
}

func (w *writer) writeExtent(run *tally.Run) {
	w.uint("packets", run.Packets)
	w.uint("bytes_read", uint64(run.Read))
	if run.Size > 0 {
		w.uint("bytes_total", uint64(run.Size))
	}
}
