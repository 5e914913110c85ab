package jsonl

import (
	"bytes"
	"io"
	"slices"
	"strconv"

	"qsniff/internal/base/jsonw"
	"qsniff/internal/flood"
	"qsniff/internal/render"
	"qsniff/internal/track/stats"
)

// reportPiece is how many bytes of a report are written at a time. Chosen: a hundred exchanges,
// or one.
const reportPiece = 64 << 10

// WriteReport writes a report as one object, which ends with a newline. Its parts are what the
// other commands print. Exchanges, which are most of it, are written as they come; each piece
// that out gets ends with a whole text or number.
func WriteReport(out io.Writer, r *render.Report) error {
	var w writer
	w.writeReport(r)
	if err := w.writeExchanges(out, r); err != nil {
		return err
	}
	w.object("left_out")
	w.uint("exchanges", r.Left.Exchanges)
	w.uint("servers", r.Left.Servers)
	w.uint("clients", r.Left.Clients)
	w.uint("incidents", r.Left.Incidents)
	w.uint("findings", r.Left.Findings)
	if r.IsAnonymized {
		w.uint("packets", r.Left.Packets)
	}
	w.close('}')
	w.close('}')
	return flush(out, append(w.dst, '\n'))
}

// writeReport writes what precedes the exchanges.
func (w *writer) writeReport(r *render.Report) {
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
		lines = AppendIncident(lines, &r.Floods.Incidents[i], &r.Floods.Run, false)
	}
	w.lines("incidents", lines)
	w.writeNotes(r.Floods)
	if r.Findings != nil {
		w.lines("findings", AppendFindings(nil, r.Findings))
	}
	w.object("explain")
	for _, x := range r.Explain {
		w.raw(x.ID, x.JSON)
	}
	w.writeFeatures(r.Floods.Incidents)
	w.close('}')
}

// reportEnd is how many bytes follow the exchanges of a report at most.
const reportEnd = 200

// writeExchanges writes as many exchanges to out as there is room for, after what w has.
func (w *writer) writeExchanges(out io.Writer, r *render.Report) error {
	if r.SampledAfter > 0 {
		w.uint("sampled_after", r.SampledAfter)
	}
	w.key("exchanges")
	w.open('[')
	all, left := r.Exchanges(max(0, r.MaxSize-len(w.dst)-reportEnd))
	for x := range all {
		w.comma()
		if w.dst = append(w.dst, x...); len(w.dst) >= reportPiece {
			if err := flush(out, w.dst); err != nil {
				return err
			}
			w.dst = w.dst[:0]
		}
	}
	w.close(']')
	r.Left.Exchanges = left
	return nil
}

func flush(out io.Writer, b []byte) error {
	_, err := out.Write(b)
	return err
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
			w.writeKind(x.Protocol, x.Message)
		}
		w.writeRow(&t.Kinds[i])
	})
	w.list("servers", len(t.Servers), func(i int) {
		if x := &t.Servers[i]; !x.IsRest && x.Server.IsValid() {
			w.text("server", shortEnd(x.Server))
		}
		w.writeRow(&t.Servers[i])
		w.writePartners(&t.Servers[i])
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
	{"replied", func(c *stats.Cell) uint64 { return uint64(c.Replied) }},
	{"proven", func(c *stats.Cell) uint64 { return uint64(c.Proven) }},
	{"proven_served", func(c *stats.Cell) uint64 { return uint64(c.Served) }},
	{"replies", func(c *stats.Cell) uint64 { return uint64(c.Replies) }},
	{"bytes_in", func(c *stats.Cell) uint64 { return c.BytesIn }},
	{"bytes_out", func(c *stats.Cell) uint64 { return c.BytesOut }},
}

func (w *writer) writeRow(x *stats.TimelineRow) {
	if x.IsRest {
		w.bool("rest", true)
	}
	for _, m := range rowMembers {
		w.writeNumbers(m.name, len(x.Cells), func(i int) uint64 { return m.get(&x.Cells[i]) })
	}
	w.writeNumbers("requests", len(x.Requests), func(i int) uint64 { return uint64(x.Requests[i]) })
	if x.Times.Len() > 0 {
		w.writeTimesRow(&x.Times)
	}
}

// writeNumbers writes the numbers of a row, if one of them is not zero.
func (w *writer) writeNumbers(name string, n int, get func(i int) uint64) {
	for n > 0 && get(n-1) == 0 {
		n--
	}
	if n == 0 {
		return
	}
	w.key(name)
	w.open('[')
	for i := range n {
		w.comma()
		w.dst = strconv.AppendUint(w.dst, get(i), 10)
	}
	w.close(']')
}

// writePartners writes what a server was asked and by whom, over the whole capture.
func (w *writer) writePartners(x *stats.TimelineRow) {
	if len(x.Kinds) > 0 {
		w.list("kinds", len(x.Kinds), func(i int) {
			k := &x.Kinds[i]
			if k.IsRest {
				w.bool("rest", true)
			} else {
				w.writeKind(k.Protocol, k.Message)
			}
			w.uint("requests", k.Requests)
			w.uint("answered", k.Answered)
			w.uint("unanswered", k.Unanswered)
		})
	}
	if len(x.Clients) > 0 {
		w.list("clients", len(x.Clients), func(i int) {
			c := &x.Clients[i]
			w.text("address", c.Addr.String())
			w.uint("requests", c.Requests)
			w.uint("error", c.Error)
		})
	}
}

// writeKind writes the names of a kind of message.
func (w *writer) writeKind(protocol, message string) {
	w.text("protocol", protocol)
	if w.key("message"); message == "" {
		w.dst = append(w.dst, "null"...)
	} else {
		w.dst = jsonw.Text(w.dst, message)
	}
}

// writeTimesRow writes the response times of a row: for each interval its first bucket that is not
// empty, and the counts of this one and of those that follow.
func (w *writer) writeTimesRow(times *stats.Buckets) {
	w.key("rtt")
	w.open('[')
	first, end := times.Range()
	for i := range times.Len() {
		w.comma()
		w.open('[')
		from, to := first, end
		for from < to && times.At(i, from) == 0 {
			from++
		}
		for from < to && times.At(i, to-1) == 0 {
			to--
		}
		if from < to {
			w.dst = strconv.AppendInt(w.dst, int64(from), 10)
		}
		for b := from; b < to; b++ {
			w.dst = strconv.AppendUint(append(w.dst, ','), uint64(times.At(i, b)), 10)
		}
		w.close(']')
	}
	w.close(']')
}
