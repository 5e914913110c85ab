package jsonl

import (
	"bytes"
	"slices"
	"strconv"

	"qsniff/flood"
	"qsniff/internal/jsonw"
	"qsniff/render"
	"qsniff/stats"
)

// AppendReport appends a report as one object, which ends with a newline. Its parts are what
// the other commands print.
func AppendReport(dst []byte, r *render.Report) []byte {
	start := len(dst)
	w := writer{dst: dst}
	w.open('{')
	w.uint("schema", schema)
	w.text("record", "report")
	w.text("version", r.Version)
	w.text("command", r.Command)
	w.list("files", len(r.Files), func(i int) {
		w.text("name", r.Files[i].Name)
		if n := r.Files[i].Bytes; n >= 0 {
			w.uint("bytes", uint64(n))
		}
	})
	w.bool("redacted", true)
	if r.IsAnonymized {
		w.bool("anonymized", true)
	}
	w.raw("stats", AppendStats(nil, &r.Stats))
	w.writeTimeline(r.Timeline)
	var lines []byte
	for i := range r.Floods.Incidents {
		lines = AppendIncident(lines, &r.Floods.Incidents[i], false)
	}
	w.lines("incidents", lines)
	w.writeNotes(r.Floods)
	w.lines("findings", AppendFindings(nil, r.Findings))
	w.object("explain")
	for _, x := range r.Explain {
		w.raw(x.ID, x.JSON)
	}
	w.writeFeatures(r.Floods.Incidents)
	w.close('}')
	w.writeExchanges(r, start)
	w.object("left_out")
	w.uint("exchanges", r.Left.Exchanges)
	w.uint("servers", r.Left.Servers)
	w.uint("clients", r.Left.Clients)
	w.uint("incidents", r.Left.Incidents)
	w.uint("findings", r.Left.Findings)
	w.close('}')
	w.close('}')
	return append(w.dst, '\n')
}

// reportEnd is how many bytes follow the exchanges of a report at most.
const reportEnd = 200

// writeExchanges writes as many exchanges as there is room for. The report begins at start.
func (w *writer) writeExchanges(r *render.Report, start int) {
	w.key("exchanges")
	w.open('[')
	all, left := r.Exchanges(max(0, r.MaxSize-(len(w.dst)-start)-reportEnd))
	for x := range all {
		w.comma()
		w.dst = append(w.dst, x...)
	}
	w.close(']')
	r.Left.Exchanges = left
}

// raw writes a member whose value is JSON already, without the line break at its end.
func (w *writer) raw(name string, value []byte) {
	w.key(name)
	w.dst = append(w.dst, bytes.TrimSuffix(value, []byte("\n"))...)
}

// lines writes a list of the objects that are lines of text.
func (w *writer) lines(name string, text []byte) {
	w.key(name)
	w.open('[')
	for line := range bytes.Lines(text) {
		w.comma()
		w.dst = append(w.dst, bytes.TrimSuffix(line, []byte("\n"))...)
	}
	w.close(']')
}

// writeNotes writes what a judgement about floods rests on, and what it leaves out.
func (w *writer) writeNotes(f *render.Floods) {
	w.object("notes")
	servers, isEstimate := f.Seen.Servers()
	w.uint("queries", f.Seen.Queries)
	w.uint("replies", f.Seen.Replies)
	w.uint("junk", f.Seen.Junk)
	w.uint("logins", f.Seen.Logins)
	w.uint("servers", servers)
	if isEstimate {
		w.bool("servers_estimated", true)
	}
	if way := f.Seen.OneWay(); way != "" {
		w.text("only", way)
	}
	w.object("incidents")
	for l := flood.Alert; ; l-- {
		w.uint(l.String(), f.Counts[l])
		if l == flood.Info {
			break
		}
	}
	w.close('}')
	w.object("unlisted")
	w.uint("no_room", f.Unnamed.Unlisted)
	w.uint("elsewhere", f.Unnamed.Elsewhere)
	w.uint("not_opened", f.Unnamed.Unopened)
	w.close('}')
	if len(f.FullTables) > 0 {
		w.texts("full_tables", f.FullTables)
	}
	if other := AppendOther(nil, f); len(other) > 0 {
		w.raw("other_traffic", other)
	}
	w.close('}')
}

// writeFeatures writes what the features mean that incidents could not have.
func (w *writer) writeFeatures(all []flood.Incident) {
	var names []string
	for i := range all {
		for _, name := range all[i].Missing {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	w.object("features")
	for _, name := range names {
		if text := flood.MeaningOf(name); text != "" {
			w.text(name, text)
		}
	}
	w.close('}')
}

// writeTimeline writes the rows of charts. A row is numbers by interval, without the zeros at
// its end; one of zeros only is left out.
func (w *writer) writeTimeline(t *stats.TimelineSummary) {
	w.object("timeline")
	w.time("start", t.Start)
	w.seconds("interval_s", t.Interval)
	w.uint("points", uint64(t.Points))
	w.key("bucket_ms")
	w.open('[')
	for i := range stats.TimelineBuckets {
		w.comma()
		w.dst = strconv.AppendFloat(w.dst, float64(stats.BucketFrom(i))/1e6, 'f', -1, 64)
	}
	w.close(']')
	w.list("kinds", len(t.Kinds), func(i int) {
		if x := &t.Kinds[i]; !x.IsRest {
			w.text("protocol", x.Protocol)
			if w.key("message"); x.Message == "" {
				w.dst = append(w.dst, "null"...)
			} else {
				w.dst = jsonw.Text(w.dst, x.Message)
			}
		}
		w.writeRow(&t.Kinds[i])
	})
	w.list("servers", len(t.Servers), func(i int) {
		if x := &t.Servers[i]; !x.IsRest {
			w.end("server", x.Server)
		}
		w.writeRow(&t.Servers[i])
	})
	w.list("clients", len(t.Clients), func(i int) {
		if x := &t.Clients[i]; !x.IsRest {
			w.text("address", x.Client.String())
		}
		w.writeRow(&t.Clients[i])
	})
	w.close('}')
}

// rowMembers are the numbers of a row.
var rowMembers = [...]struct {
	name string
	get  func(*stats.Cell) uint64
}{
	{"requests", func(c *stats.Cell) uint64 { return uint64(c.Requests) }},
	{"answered", func(c *stats.Cell) uint64 { return uint64(c.Answered) }},
	{"unanswered", func(c *stats.Cell) uint64 { return uint64(c.Unanswered) }},
	{"replies", func(c *stats.Cell) uint64 { return uint64(c.Replies) }},
	{"bytes_in", func(c *stats.Cell) uint64 { return c.BytesIn }},
	{"bytes_out", func(c *stats.Cell) uint64 { return c.BytesOut }},
}

func (w *writer) writeRow(x *stats.TimelineRow) {
	if x.IsRest {
		w.bool("rest", true)
	}
	for _, m := range rowMembers {
		n := len(x.Cells)
		for n > 0 && m.get(&x.Cells[n-1]) == 0 {
			n--
		}
		if n == 0 {
			continue
		}
		w.key(m.name)
		w.open('[')
		for i := range n {
			w.comma()
			w.dst = strconv.AppendUint(w.dst, m.get(&x.Cells[i]), 10)
		}
		w.close(']')
	}
	if len(x.Times) > 0 {
		w.writeTimesRow(x.Times)
	}
}

// writeTimesRow writes the response times of a row: a list of buckets with their counts for
// each interval.
func (w *writer) writeTimesRow(times []stats.Hist) {
	w.key("rtt")
	w.open('[')
	for i := range times {
		w.comma()
		w.open('[')
		for b, n := range times[i] {
			if n > 0 {
				w.comma()
				w.dst = strconv.AppendInt(append(w.dst, '['), int64(b), 10)
				w.dst = append(strconv.AppendUint(append(w.dst, ','), uint64(n), 10), ']')
			}
		}
		w.close(']')
	}
	w.close(']')
}
