package jsonl

import (
	"net/netip"
	"strconv"
	"time"

	"qsniff/dissect"
	"qsniff/internal/base/jsonw"
	"qsniff/internal/render"
	"qsniff/internal/render/counters"
	"qsniff/internal/render/tally"
	"qsniff/internal/track/fingerprint"
	"qsniff/internal/track/stats"
)

// AppendStats appends the results of a run as one object on a line.
func AppendStats(dst []byte, s *render.Stats) []byte {
	w := writer{dst: dst}
	run := &s.Run
	r := &counters.Result{Run: *run, Stats: s.Summary}
	w.open('{')
	w.uint("schema", schema)
	w.writeInterrupted(run)
	w.writeCounters(r, counters.Totals)
	if run.Packets > 0 {
		w.key("start")
		w.dst = jsonw.Time(w.dst, run.First)
		w.key("end")
		w.dst = jsonw.Time(w.dst, run.Last)
		w.seconds("duration_s", time.Duration(run.Last-run.First))
	}
	if way := s.OneWay(); way != "" {
		w.text("only", way)
	}
	if n := run.LooksSampled(); n > 1 {
		w.uint("looks_sampled", n)
	}
	if list := append(run.Sentences(), s.Rules...); len(list) > 0 {
		w.texts("remarks", list)
	}
	w.writeSkipped(s)
	w.writeMessages(s.Messages)
	w.writeCounters(r, counters.Requests)
	w.writeTimes("challenge_ms", &s.Challenge)
	w.writeTimes("rtt_ms", &s.Response)
	w.writeTimes("train_ms", &s.Train)
	w.writeTimes("total_ms", &s.Total)
	w.writeAmplification(s.Questions)
	w.list("servers", len(s.Servers), func(i int) { w.writeServer(&s.Servers[i], run.InnerOf(s.Servers[i].Addr)) })
	w.writeCounters(r, counters.Servers)
	w.writeClients(s)
	for g := range counters.NumGroups {
		if g.Object() != "" {
			w.writeCounterObject(r, g)
		}
	}
	w.writeFindings(s.Findings)
	w.writeSeries(s)
	w.close('}')
	return append(w.dst, '\n')
}

// writer appends members and elements, with the commas between them. Methods named after a
// kind of value write a member of that kind; write... write the members of what they name.
type writer struct {
	dst     []byte
	isFirst bool // nothing was written since the last bracket was opened
}

func (w *writer) comma() {
	if !w.isFirst {
		w.dst = append(w.dst, ',')
	}
	w.isFirst = false
}

func (w *writer) open(bracket byte)  { w.dst, w.isFirst = append(w.dst, bracket), true }
func (w *writer) close(bracket byte) { w.dst, w.isFirst = append(w.dst, bracket), false }

func (w *writer) key(name string) {
	w.comma()
	w.dst = jsonw.Text(w.dst, name)
	w.dst = append(w.dst, ':')
}

func (w *writer) object(name string) {
	w.key(name)
	w.open('{')
}

// list writes an array of n objects.
func (w *writer) list(name string, n int, element func(i int)) {
	w.key(name)
	w.open('[')
	for i := range n {
		w.comma()
		w.open('{')
		element(i)
		w.close('}')
	}
	w.close(']')
}

func (w *writer) uint(name string, n uint64) {
	w.key(name)
	w.dst = strconv.AppendUint(w.dst, n, 10)
}

func (w *writer) float(name string, v float64) {
	w.key(name)
	w.dst, _ = jsonw.Float(w.dst, v, 64)
}

// ratio writes a number with four digits, which is as much as a ratio means.
func (w *writer) ratio(name string, v float64) {
	w.key(name)
	short, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 4, 64), 64)
	if err != nil {
		short = v
	}
	w.dst, _ = jsonw.Float(w.dst, short, 64)
}

func (w *writer) seconds(name string, d time.Duration) { w.float(name, float64(d)/1e9) }
func (w *writer) millis(name string, d time.Duration)  { w.float(name, float64(d.Microseconds())/1e3) }

func (w *writer) text(name, value string) {
	w.key(name)
	w.dst = jsonw.Text(w.dst, value)
}

// wireText writes text from the network, and a second member with its bytes where these
// cannot be told from the text.
func (w *writer) wireText(name string, value []byte) {
	w.key(name)
	var whole bool
	if w.dst, whole = jsonw.String(w.dst, value); !whole {
		w.key(name + "_hex")
		w.dst = jsonw.Hex(w.dst, value)
	}
}

func (w *writer) time(name string, nanos int64) {
	w.key(name)
	w.dst = jsonw.Time(w.dst, nanos)
}

// texts appends an array of strings.
func (w *writer) texts(name string, list []string) {
	w.key(name)
	w.open('[')
	for _, s := range list {
		w.comma()
		w.dst = jsonw.Text(w.dst, s)
	}
	w.close(']')
}

func (w *writer) bool(name string, v bool) {
	w.key(name)
	w.dst = strconv.AppendBool(w.dst, v)
}

func (w *writer) writeSkipped(s *render.Stats) {
	w.object("skipped")
	for _, r := range s.Run.Skipped {
		w.uint(r.Why, r.Count)
	}
	if s.Others > 0 {
		w.uint(stats.WhyOthers, s.Others)
	}
	w.close('}')
}

func (w *writer) writeMessages(ms []stats.Message) {
	w.list("messages", len(ms), func(i int) {
		m := &ms[i]
		w.text("protocol", m.Protocol)
		if m.Name == "" {
			w.key("message")
			w.dst = append(w.dst, "null"...)
		} else {
			w.text("message", m.Name)
		}
		w.text("direction", directionOf(m.Reply))
		w.uint("count", m.Count)
		w.uint("bytes", m.Bytes)
	})
}

func directionOf(reply bool) string {
	if reply {
		return "reply"
	}
	return "request"
}

func (w *writer) writeAmplification(kinds []stats.Question) {
	w.list("amplification", len(kinds), func(i int) {
		k := &kinds[i]
		w.text("protocol", k.Protocol)
		w.text("message", k.Request)
		w.writeGain("before_challenge", &k.Before)
		w.writeGain("after_challenge", &k.After)
	})
}

// writeTimes writes a distribution of times, if there were any.
func (w *writer) writeTimes(name string, t *stats.Times) {
	if t.Count == 0 {
		return
	}
	w.object(name)
	w.millis("p50", t.P50)
	w.millis("p95", t.P95)
	w.millis("p99", t.P99)
	w.millis("max", t.Max)
	w.uint("count", t.Count)
	w.float("error", t.Error)
	w.close('}')
}

func (w *writer) writeGain(name string, g *stats.Gain) {
	if g.Answers == 0 {
		return
	}
	w.object(name)
	w.uint("answers", g.Answers)
	w.ratio("payload", g.Payload)
	w.ratio("wire", g.Wire)
	w.close('}')
}

// writeInside writes the addresses that the capturing host translates one to, if there are any.
func (w *writer) writeInside(inner []netip.AddrPort) {
	if len(inner) == 0 {
		return
	}
	w.key("inside")
	w.open('[')
	for _, addr := range inner {
		w.comma()
		w.dst = append(addr.AppendTo(append(w.dst, '"')), '"')
	}
	w.close(']')
}

// writeFates writes the two figures of how requests fared.
func (w *writer) writeFates(f *stats.Fates[uint64]) {
	w.uint("replied", f.Replied)
	w.uint("proven", f.Proven)
	w.uint("proven_served", f.Served)
}

func (w *writer) writeServer(s *stats.Server, inner []netip.AddrPort) {
	w.text("server", s.Addr.String())
	w.writeInside(inner)
	if s.HasInfo {
		w.writePosted(s)
	}
	w.uint("requests", s.Requests)
	w.uint("replies", s.Replies)
	w.uint("answered", s.Answered)
	w.uint("unanswered", s.Unanswered)
	w.writeFates(&s.Fates)
	w.uint("late", s.Late)
	if s.ICMPErrors > 0 {
		w.uint("icmp_errors", s.ICMPErrors)
	}
	w.uint("bytes_in", s.BytesIn)
	w.uint("bytes_out", s.BytesOut)
	w.uint("wire_in", s.WireIn)
	w.uint("wire_out", s.WireOut)
	if s.BytesIn > 0 && s.BytesOut > 0 {
		w.object("amplification")
		w.ratio("payload", float64(s.BytesOut)/float64(s.BytesIn))
		w.ratio("wire", float64(s.WireOut)/float64(s.WireIn))
		w.close('}')
	}
	if habit := s.Challenges(); habit != "" {
		w.text("challenged", habit)
		w.ratio("challenged_share", s.ChallengedShare())
	}
	w.writeTimes("rtt_ms", &s.Response)
	if s.Challenge >= 0 {
		w.millis("challenge_ms", s.Challenge)
	}
	if s.Train >= 0 {
		w.millis("train_ms", s.Train)
	}
}

// writePosted writes what the server's own replies contain: name, map and players.
func (w *writer) writePosted(s *stats.Server) {
	if len(s.Name) > 0 {
		w.wireText("name", s.Name)
	}
	if len(s.Map) > 0 {
		w.wireText("map", s.Map)
	}
	if s.Players >= 0 {
		w.uint("players", uint64(s.Players))
	}
	if s.Max >= 0 {
		w.uint("max_players", uint64(s.Max))
	}
	if s.Bots > 0 {
		w.uint("bots", uint64(s.Bots))
	}
	if s.Queue > 0 {
		w.uint("queue", uint64(s.Queue))
	}
}

// writeProgram writes the name of the program that shows signs and, if it is known, how sure that
// is, and the signs. It writes nothing if there are none.
func (w *writer) writeProgram(s fingerprint.Signs) {
	if s == 0 {
		return
	}
	name, k := s.Name()
	w.text("name", name)
	if k != dissect.No {
		w.text("confidence", k.String())
	}
	w.key("signs")
	w.open('[')
	for sign := range s.All() {
		w.comma()
		w.dst = jsonw.Text(w.dst, sign)
	}
	w.close(']')
}

func (w *writer) writeClients(s *render.Stats) {
	w.list("clients", len(s.Clients), func(i int) {
		c := &s.Clients[i]
		w.text("address", c.Addr.String())
		w.uint("requests", c.Requests)
		w.ratio("share", float64(c.Requests)/float64(max(s.Requests, 1)))
		w.uint("error", c.Error)
		w.writeProgram(c.Signs)
	})
	w.list("programs", len(s.Programs), func(i int) {
		p := &s.Programs[i]
		w.writeProgram(p.Signs)
		w.uint("clients", p.Clients)
		w.uint("requests", p.Requests)
	})
	w.object("distinct_clients")
	w.uint("estimate", s.Distinct.Estimate)
	w.ratio("error", s.Distinct.Error)
	w.ratio("standard_error", s.Distinct.Standard)
	w.close('}')
}

// writeCounters writes the counters of a group that are not zero or always in JSON.
func (w *writer) writeCounters(r *counters.Result, g counters.Group) {
	for _, e := range counters.Of(g) {
		if n := e.Get(r); n > 0 || e.IsAlwaysInJSON {
			w.uint(e.Name, n)
		}
	}
}

// writeCounterObject writes the counters of a group as an object, unless it would be empty.
func (w *writer) writeCounterObject(r *counters.Result, g counters.Group) {
	before := *w
	w.object(g.Object())
	empty := len(w.dst)
	if w.writeCounters(r, g); len(w.dst) == empty {
		*w = before
		return
	}
	w.close('}')
}

func (w *writer) writeFindings(fs []stats.Finding) {
	w.list("findings", len(fs), func(i int) {
		f := &fs[i]
		w.text("id", f.Code.ID)
		w.text("severity", f.Severity.String())
		w.uint("count", f.Count)
		w.uint("first_frame", f.First)
	})
}

func (w *writer) writeSeries(s *render.Stats) {
	w.seconds("interval_s", s.Interval)
	w.list("series", len(s.Points), func(i int) {
		p := &s.Points[i]
		w.seconds("t", time.Duration(s.SeriesStart-s.Run.First)+time.Duration(i)*s.Interval)
		w.uint("requests", p.Requests)
		w.uint("replies", p.Replies)
		w.uint("bytes_in", p.BytesIn)
		w.uint("bytes_out", p.BytesOut)
	})
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
