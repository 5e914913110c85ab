package jsonl

import (
	"qsniff/internal/flood"
	"qsniff/internal/render"
)

// AppendOther appends a line with what else came than queries, to hosts with servers;
// nothing where nothing did. It says how many floods of queries there were, so that none
// of them is not taken for calm.
func AppendOther(dst []byte, f *render.Floods) []byte {
	if f.Other.Packets == 0 {
		return dst
	}
	w := writer{dst: dst}
	w.open('{')
	w.uint("schema", schema)
	w.text("record", "other_traffic")
	found := func(n *[flood.Alert + 1]uint64) uint64 { return n[flood.Alert] + n[flood.Warn] }
	w.uint("query_floods", found(&f.Counts)-found(&f.Others))
	w.uint("other_floods", found(&f.Others))
	w.uint("packets", f.Other.Packets)
	w.uint("bytes", f.Other.Bytes)
	p := &f.OtherPeak
	w.uint("session_peak_qps", f.Sessions)
	if p.Packets > 0 {
		w.uint("peak_qps", p.Packets)
		w.uint("peak_bytes", p.Bytes)
		if p.Class != nil {
			w.text("class", p.Class.Name)
		}
		w.text("target", flood.OtherTarget(p).String())
	}
	w.close('}')
	return append(w.dst, '\n')
}
