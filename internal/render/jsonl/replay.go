package jsonl

import (
	"qsniff/internal/flood/limiter"
	"qsniff/internal/render"
)

// AppendLimits appends a line for each server whose limiter was replayed. Requests are
// all packets that the limiter counts, junk and replies to the server among them.
// Refusals by the limit of a source and by that of all sources are counted apart. Clients
// are the sources that proved their address at any time in the capture.
func AppendLimits(dst []byte, l *render.Limits) []byte {
	w := writer{dst: dst}
	for i := range l.Servers {
		w.writeLimits(l, &l.Servers[i])
		w.dst = append(w.dst, '\n')
	}
	return w.dst
}

func (w *writer) writeLimits(l *render.Limits, s *limiter.Server) {
	m := &l.Model
	w.open('{')
	w.uint("schema", schema)
	w.text("record", "limits")
	w.writeInterrupted(&l.Run)
	w.text("server", s.Addr.String())
	w.object("limits")
	if m.Name != "" {
		w.text("name", m.Name)
	}
	w.float("per", m.Per)
	w.float("global", m.Global)
	w.uint("window", uint64(m.Window))
	w.close('}')
	w.uint("requests", s.Requests)
	w.uint("refused", s.Refused())
	w.uint("refused_per", s.ByRate)
	w.uint("refused_global", s.ByAll)
	if s.ByAll > 0 {
		w.object("at_global_limit")
		w.time("first", s.First)
		w.time("last", s.Last)
		w.uint("seconds", s.Seconds)
		w.close('}')
	}
	if m.MaxTracked > 0 {
		w.uint("overruns", s.Overruns)
	}
	w.object("clients")
	w.uint("proven", s.Clients)
	w.uint("refused", s.ClientsRefused)
	w.uint("shut_out", s.ShutOut)
	w.uint("requests", s.ClientRequests)
	w.uint("requests_refused", s.ClientRefusals)
	w.close('}')
	w.writeRefused("top_clients", s.TopClients)
	w.writeRefused("top_sources", s.TopSources)
	w.close('}')
}

// writeRefused writes the sources that were refused most.
func (w *writer) writeRefused(name string, list []limiter.Source) {
	w.list(name, len(list), func(i int) {
		s := &list[i]
		w.text("address", s.Addr.String())
		w.uint("requests", s.Requests)
		w.uint("refused_per", s.ByRate)
		w.uint("refused_global", s.ByAll)
		w.time("first", s.First)
		w.time("last", s.Last)
	})
}
