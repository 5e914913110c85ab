package jsonl

import (
	"net/netip"

	"qsniff/dissect"
	"qsniff/internal/app/diff"
	"qsniff/internal/base/jsonw"
)

// Diff renders what became of datagrams between two points.
type Diff struct {
	Options
	Registry *dissect.Registry
	// Shows chooses the classes of which differences are written.
	Shows [diff.NumClasses]bool
}

// Append appends an object with the totals, and an object a line for each difference.
func (x *Diff) Append(dst []byte, r *diff.Result) []byte {
	w := writer{dst: dst}
	x.writeSummary(&w, r)
	w.dst = append(w.dst, '\n')
	for i := range r.Differences {
		if d := &r.Differences[i]; x.Shows[d.Class] {
			x.writeDifference(&w, r, d)
			w.dst = append(w.dst, '\n')
		}
	}
	return w.dst
}

func (x *Diff) writeSummary(w *writer, r *diff.Result) {
	w.open('{')
	w.uint("schema", schema)
	w.text("record", "summary")
	if r.IsInterrupted {
		w.object("interrupted")
		w.uint("packets_edge", r.Compared[diff.Edge])
		w.uint("packets_host", r.Compared[diff.Host])
		w.close('}')
	}
	for s, name := range [...]string{"edge", "host"} {
		n := &r.Captures[s]
		w.uint("packets_"+name, n.Packets)
		w.uint("datagrams_"+name, n.Datagrams)
		w.uint("outside_"+name, r.Counts[s][diff.Outside][0]+r.Counts[s][diff.Outside][1]+r.Counts[s][diff.Outside][2])
		w.uint("unmatched_"+name, r.Unwanted[s])
		w.uint("segments_"+name, n.Segments)
		w.uint("tcp_"+name, n.TCP)
		w.uint("others_"+name, n.Others)
		w.uint("cut_"+name, n.Cut)
		w.uint("incomplete_"+name, n.Incomplete)
		w.uint("uncaptured_"+name, r.Uncaptured(diff.Side(s)))
	}
	w.uint("matched", r.Matched())
	w.uint("lost", r.Count(diff.Lost))
	w.uint("extra", r.Count(diff.Extra))
	w.uint("retransmitted", r.Count(diff.Retransmitted))
	w.uint("late", r.Count(diff.Late))
	w.uint("duplicated", r.Count(diff.Duplicated))
	w.uint("reordered", r.Count(diff.Reordered))
	w.uint("changed", r.Count(diff.Changed))
	w.uint("reframed", r.Reframed)
	w.uint("injected", r.Count(diff.Injected))
	w.uint("answered_between", r.Total(diff.ToClient).Answered)
	w.uint("kept_between", r.Total(diff.ToServer).Kept)
	w.uint("judged_early", r.JudgedEarly)
	w.uint("unlisted", r.Unlisted)
	w.uint("untracked", r.Untracked)
	w.uint("no_row", r.NoRow)
	w.uint("no_kind", r.NoKind)
	w.uint("no_bytes", r.NoBytes)
	w.uint("no_sets", r.NoSets)
	w.uint("no_pieces", r.NoPieces)
	w.uint("servers_evicted", r.ServersEvicted)
	w.uint("replies_evicted", r.RepliesEvicted)
	w.uint("connections_evicted", r.ConnsEvicted)
	if r.ComparedTo > 0 {
		w.uint("compared_bytes", uint64(r.ComparedTo))
	}
	writeClock(w, &r.Clock)
	w.list("translation", len(r.Translations), func(i int) {
		t := &r.Translations[i]
		w.text("edge", t.Edge.String())
		w.text("host", t.Host.String())
		w.uint("datagrams", uint64(t.Datagrams))
		w.key("server")
		w.dst = append(w.dst, boolean(t.IsServer)...)
		if t.IsTCP {
			w.key("tcp")
			w.dst = append(w.dst, "true"...)
		}
	})
	writeConnections(w, &r.Connections)
	for _, way := range [...]diff.Way{diff.ToServer, diff.ToClient} {
		w.object(way.String())
		writeRowCounts(w, r.Total(way))
		if limit, ok := r.Sizes[way].Limit(); ok {
			w.object("size_limit")
			w.uint("through", uint64(limit.Through))
			w.uint("lost_from", uint64(limit.Lost))
			w.uint("above", limit.Above)
			w.uint("lost_above", limit.LostAbove)
			w.uint("below", limit.Below)
			w.uint("lost_below", limit.LostBelow)
			w.close('}')
		}
		w.close('}')
	}
	w.list("kinds", len(r.Rows), func(i int) { x.writeRow(w, r, &r.Rows[i]) })
	w.close('}')
}

// writeConnections writes how many connections over TCP are at both points, and those that are at one only.
func writeConnections(w *writer, c *diff.Connections) {
	w.object("connections")
	w.uint("both", c.Both)
	w.uint("edge_only", c.Only[diff.Edge])
	w.uint("host_only", c.Only[diff.Host])
	w.list("one_sided", len(c.OneSided), func(i int) {
		x := &c.OneSided[i]
		w.text("side", [...]string{"edge", "host"}[x.Side])
		writeEnd(w, "server", x.Server)
		writeEnd(w, "client", x.Client)
		w.key("time")
		w.dst = jsonw.Time(w.dst, x.Nanos)
		w.uint("frame", x.Frame)
		w.uint("segments", x.Segments)
		w.key("answered")
		w.dst = append(w.dst, boolean(x.IsAnswered)...)
	})
	w.close('}')
}

func boolean(b bool) string {
	if b {
		return "true"
	}
	return "false"
}

func writeClock(w *writer, c *diff.Clock) {
	w.object("clock")
	w.uint("pairs", uint64(c.Pairs))
	if c.IsDoubtful {
		w.key("doubtful")
		w.dst = append(w.dst, "true"...)
	}
	if c.Pairs > 0 {
		w.float("offset_ms", float64(c.Offset)/1e6)
		if !c.IsOneWay {
			w.float("error_ms", float64(c.Error)/1e6)
		}
		if c.DriftError > 0 { // else there are too few
			w.ratio("drift_ppm", c.Drift*1e6)
			w.ratio("drift_error_ppm", c.DriftError*1e6)
		}
		w.key("reversed")
		w.dst = append(w.dst, boolean(c.IsReversed)...)
		for _, way := range [...]diff.Way{diff.ToServer, diff.ToClient} {
			w.float("usual_"+way.String()+"_ms", float64(c.Usual(way))/1e6)
		}
	}
	w.close('}')
}

func (x *Diff) writeRow(w *writer, r *diff.Result, row *diff.Row) {
	writeEnd(w, "server", row.Server)
	writeKind(w, r, row.Kind)
	w.text("way", row.Way.String())
	writeRowCounts(w, row)
	w.key("filtered")
	w.dst = append(w.dst, boolean(r.IsFiltered(row))...)
	for s, name := range [...]string{"edge", "host"} {
		if f := row.FirstLost[s]; f > 0 {
			w.uint("first_missing_frame_"+name, f)
		}
	}
}

func writeRowCounts(w *writer, row *diff.Row) {
	w.uint("sent", row.Sent)
	w.uint("arrived", row.Arrived)
	w.uint("missing", row.Missing())
	w.uint("kept_between", row.Kept)
	w.uint("retransmitted", row.Retransmitted)
	w.uint("late", row.Late)
	w.uint("reordered", row.Reordered)
	w.uint("changed", row.Changed)
	w.uint("duplicated", row.Duplicated)
	w.uint("uncaptured", row.Uncaptured)
	w.uint("reframed", row.Reframed)
	w.uint("appeared", row.Appeared)
	w.uint("injected", row.Injected)
	w.uint("answered_between", row.Answered)
	w.uint("outside", row.Outside)
	if row.Arrived > 0 {
		w.float("slowest_ms", float64(row.Slowest)/1e6)
	}
}

func writeEnd(w *writer, name string, a netip.AddrPort) {
	w.key(name)
	if !a.IsValid() {
		w.dst = append(w.dst, "null"...)
		return
	}
	w.dst = jsonw.Text(w.dst, a.String())
}

func writeKind(w *writer, r *diff.Result, kind uint16) {
	protocol, message := r.Name(kind)
	if protocol != "" {
		w.text("protocol", protocol)
	}
	w.text("message", message)
}

func (x *Diff) writeDifference(w *writer, r *diff.Result, d *diff.Difference) {
	w.open('{')
	w.uint("schema", schema)
	w.text("class", d.Class.String())
	w.text("way", d.Way.String())
	w.key("time")
	w.dst = jsonw.Time(w.dst, d.Nanos)
	server, client := r.Ends(d)
	writeEnd(w, "server", server)
	writeEnd(w, "client", client)
	writeKind(w, r, d.Kind)
	isPair := true
	for s, name := range [...]string{"edge", "host"} {
		if d.Frames[s] == 0 {
			isPair = false
			continue
		}
		w.uint("frame_"+name, d.Frames[s])
		w.uint("length_"+name, uint64(d.Sizes[s]))
		w.uint("ttl_"+name, uint64(d.TTL[s]))
		if d.Class == diff.Reframed {
			w.uint("datagrams_"+name, uint64(d.Count[s]))
			isPair = false
		}
	}
	if isPair {
		w.float("delay_ms", float64(d.Delay)/1e6)
	}
	if d.Request > 0 {
		w.uint("request_frame", d.Request)
	}
	if d.SameAs > 0 {
		w.uint("same_bytes_frame", d.SameAs)
		w.float("age_ms", float64(d.Age)/1e6)
	}
	if d.UsualTTL > 0 {
		w.uint("usual_ttl", uint64(d.UsualTTL))
	}
	if d.Class == diff.Changed {
		x.writeParts(w, r, d)
	}
	w.close('}')
}

// writeParts writes what was changed: fields with their values, or where bytes differ.
func (x *Diff) writeParts(w *writer, r *diff.Result, d *diff.Difference) {
	parts, more := r.Parts(x.Registry, d)
	if len(parts) == 0 {
		return
	}
	renderer := Renderer{opt: x.Options}
	w.list("changed", len(parts), func(i int) {
		p := &parts[i]
		w.text("field", p.Name)
		for j, name := range [...]string{"from", "to"} {
			switch v := &p.Values[j]; {
			case v.Field != nil:
				w.key(name)
				w.dst, _ = renderer.appendValue(w.dst, v.Msg, v.Field)
			case p.Def == nil && v.Bytes == nil:
			case p.Def == nil && x.ShowSecrets:
				w.key(name)
				w.dst = jsonw.Hex(w.dst, v.Bytes)
			case p.Def == nil:
				w.uint(name+"_length", uint64(len(v.Bytes)))
			}
		}
	})
	if more > 0 {
		w.uint("changed_more", uint64(more))
	}
}
