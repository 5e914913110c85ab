package jsonl

import (
	"qsniff/internal/app/vantages"
	"qsniff/internal/base/jsonw"
	"qsniff/internal/render"
)

// AppendVantages appends a line with the captures, and a line for each server that at least two of them asked.
func AppendVantages(dst []byte, x *render.Vantages) []byte {
	w := writer{dst: dst}
	w.open('{')
	w.uint("schema", schema)
	w.text("record", "vantages")
	w.list("captures", len(x.Captures), func(i int) { w.writeVantage(&x.Captures[i]) })
	w.uint("unread", uint64(x.Unread))
	w.uint("servers", uint64(len(x.Servers)))
	w.close('}')
	w.dst = append(w.dst, '\n')
	for i := range x.Servers {
		w.writeVantageServer(&x.Servers[i])
	}
	return w.dst
}

// writeVantage writes what a capture came to.
func (w *writer) writeVantage(v *render.Vantage) {
	w.key("name")
	w.dst, _ = jsonw.String(w.dst, []byte(v.Name))
	w.writeInterrupted(&v.Run)
	w.uint("packets", v.Run.Packets)
	w.uint("messages", v.Run.Messages)
	if v.Run.Packets > 0 {
		w.time("first", v.Run.First)
		w.time("last", v.Run.Last)
	}
	w.uint("dropped", v.Run.Dropped)
	w.uint("servers_evicted", v.Evicted.Servers)
	w.uint("answers_evicted", v.Evicted.Answers)
	w.uint("paths_evicted", v.Evicted.Paths)
	w.uint("trips_evicted", v.Evicted.Trips)
	w.uint("repeated_evicted", v.Evicted.Repeated)
}

// writeVantageServer writes how a server answers at each capture, and what that comes to.
func (w *writer) writeVantageServer(s *vantages.Server) {
	w.open('{')
	w.uint("schema", schema)
	w.text("record", "vantage_server")
	w.text("server", s.Addr.String())
	w.text("verdict", s.Verdict.String())
	if s.Verdict > vantages.Unanswered {
		w.writeKind(s.Answer[0].Protocol(), s.Answer[0].Name())
	}
	if s.Verdict > vantages.NoPath {
		w.uint("near", uint64(s.Near))
		w.uint("far", uint64(s.Far))
		w.millis("answers_differ_ms", s.AnswersDiffer)
		w.millis("paths_differ_ms", s.PathsDiffer)
		w.millis("needed_ms", s.Needed)
		w.bool("sooner", s.IsSooner)
	}
	w.list("points", len(s.Points), func(i int) {
		p := &s.Points[i]
		w.uint("capture", uint64(p.Capture))
		w.uint("asked", p.Asked)
		w.uint("answered", p.Answered)
		w.list("answers", len(p.Answers), func(j int) { w.writeVantageTimes(&p.Answers[j]) })
		if p.Path != nil {
			w.object("path")
			w.writeVantageTimes(p.Path)
			w.close('}')
		}
	})
	if e, ok := s.Finding(); ok {
		w.list("findings", 1, func(int) {
			w.text("id", e.Code.ID)
			w.text("severity", e.Severity.String())
			w.text("fault", e.Code.Fault.String())
			w.text("text", string(e.AppendText(nil)))
		})
	}
	w.close('}')
	w.dst = append(w.dst, '\n')
}

// writeVantageTimes writes a series of times.
func (w *writer) writeVantageTimes(s *vantages.Series) {
	w.text("of", s.Origin.String())
	if s.Origin == vantages.Answers {
		w.writeKind(s.Protocol(), s.Name())
	}
	if port := s.End.Port(); port > 0 {
		w.uint("port", uint64(port))
	}
	w.uint("count", s.Count)
	w.millis("least_ms", s.Least)
	w.millis("median_ms", s.Median)
	if s.TTL > 0 {
		w.uint("ttl", uint64(s.TTL))
	}
	w.uint("frame", s.Frame)
}
