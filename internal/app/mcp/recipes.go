package mcp

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"qsniff/dissect/finding"
	"qsniff/internal/base/digits"
	"qsniff/internal/flood"
	"qsniff/internal/pipeline"
	"qsniff/internal/render"
	"qsniff/internal/render/dialogue"
	"qsniff/internal/render/jsonl"
	"qsniff/internal/render/tally"
	"qsniff/internal/render/text"
	"qsniff/internal/track"
	"qsniff/internal/track/stats"
)

// The forms of messages.
const (
	formLine = "line"
	formJSON = "json"
)

var severities = []string{"chat", "note", "warn", "error"}

var levels = []string{"info", "warn", "alert"}

// finisher appends records at the end of a run and returns notes.
type finisher = func(dst []byte, run *tally.Run) ([]byte, []string)

// messages are records of all messages and findings that a filter chooses.
func messages(form string) recipe {
	if form == formJSON {
		return recipe{prepare: func(cfg *pipeline.Config, _ *question) finisher {
			cfg.Renderer = jsonl.New(jsonl.Options{})
			return nil
		}}
	}
	return recipe{isText: true, prepare: func(cfg *pipeline.Config, _ *question) finisher {
		cfg.Renderer = text.NewLine(text.Options{UTC: true, Date: true})
		return nil
	}}
}

// tree is the lines of the trees of the messages in a packet.
var tree = recipe{isText: true, prepare: func(cfg *pipeline.Config, q *question) finisher {
	cfg.Renderer = text.NewTree(text.Options{UTC: true, Width: treeWidth})
	return func(dst []byte, run *tally.Run) ([]byte, []string) {
		switch {
		case run.Messages > 0:
			return dst, nil
		case q.frame > run.Packets:
			return dst, []string{fmt.Sprintf("the capture has %s, so there is no frame %d", digits.Counted(run.Packets, "packet"), q.frame)}
		}
		return dst, []string{fmt.Sprintf("frame %d holds no message; the tool messages lists those that do", q.frame)}
	}
}}

// scale returns the size of tables besides those of the pipeline, as a multiple of the usual.
func (r *reader) scale() float64 { return float64(r.o.Config.Memory) / pipeline.DefaultMemory }

// exchanges are records of exchanges and connections.
func (r *reader) exchanges() recipe {
	return recipe{prepare: func(cfg *pipeline.Config, _ *question) finisher {
		cfg.Dialogues = dialogue.New(dialogue.Options{Renderer: jsonl.Exchanges{}, Size: r.scale()})
		return nil
	}}
}

// findings are records of findings, a repeated one once.
func (r *reader) findings() recipe {
	return recipe{prepare: func(cfg *pipeline.Config, q *question) finisher {
		least := finding.Severity(max(slices.Index(severities, q.form), 0))
		c := stats.NewFindingCollector(stats.FindingOptions{Least: least, Scale: r.scale()})
		cfg.Listener = c
		return func(dst []byte, run *tally.Run) ([]byte, []string) {
			sum := *c.Summary()
			var notes []string
			if len(sum.Repeats) > 0 {
				notes = append(notes, "the tool explain says what an id means and what to do about it")
			}
			return jsonl.AppendFindings(dst, &render.Findings{Run: *run, Least: least, FindingSummary: sum}), notes
		}
	}}
}

// incidents are records of floods, scans and what else was done to servers.
func (r *reader) incidents() recipe {
	return recipe{isOfPackets: true, prepare: func(cfg *pipeline.Config, q *question) finisher {
		kept := flood.Collector{MinLevel: flood.Level(max(slices.Index(levels, q.form), 0))}
		d, seen := r.o.Detector(), &flood.Seen{}
		d.AddObserver(kept.Observe)
		cfg.Watchers = []track.Watcher{seen, d}
		return func(dst []byte, run *tally.Run) ([]byte, []string) {
			f := &render.Floods{Run: *run, Seen: seen, Incidents: kept.Incidents(), Counts: kept.Counts(), Others: kept.Others(), Unnamed: kept.Omitted(d)}
			f.Other, f.OtherPeak, f.Sessions = d.Others()
			for i := range f.Incidents {
				whole := bytes.TrimSpace(jsonl.AppendIncident(nil, &f.Incidents[i], run, false))
				dst = append(append(dst, without(whole, "advice", "rules", "top_window", "campaign", "missing")...), '\n')
			}
			return jsonl.AppendOther(dst, f), incidentNotes(f, d)
		}
	}}
}

// incidentNotes returns notes on what the records of incidents do not show.
func incidentNotes(f *render.Floods, d *flood.Detector) []string {
	notes := []string{countLevels(f.Counts)}
	if len(f.Incidents) == 0 {
		notes[0] += fmt.Sprintf(": nothing of the asked level in %s, of which %s are queries", digits.Counted(f.Run.Packets, "packet"),
			digits.Grouped(int64(f.Seen.Queries)))
	} else {
		notes = append(notes, "explain says what a kind means; rules for a firewall, and how they do on this capture: qsniff floods CAPTURE in a shell")
	}
	if way := f.Seen.OneWay(); way != "" {
		notes = append(notes, "only "+way+" were captured: who proves an address cannot be determined")
	}
	if full := d.FullTables(); len(full) > 0 {
		notes = append(notes, "no room for more "+strings.Join(full, ", ")+": incidents there may be missing")
	}
	return notes
}

// countLevels returns in words how many incidents of each level there were.
func countLevels(n [flood.Alert + 1]uint64) string {
	return fmt.Sprintf("incidents: %d alert, %d warn, %d info", n[flood.Alert], n[flood.Warn], n[flood.Info])
}

// summary is one record: the statistics of a capture.
func (r *reader) summary() recipe {
	return recipe{prepare: func(cfg *pipeline.Config, q *question) finisher {
		c := stats.New(stats.Options{Scale: r.scale()})
		cfg.Listener = c
		var kept flood.Collector
		if q.filter == "" { // a filter chooses no incidents
			d := r.o.Detector()
			d.AddObserver(kept.Observe)
			cfg.Watchers = []track.Watcher{d}
		}
		return func(dst []byte, run *tally.Run) ([]byte, []string) {
			var notes []string
			if q.filter == "" {
				notes = []string{countLevels(kept.Counts()) + " (the tool incidents has them)"}
			}
			whole := bytes.TrimSpace(jsonl.AppendStats(nil, &render.Stats{Run: *run, Summary: *c.Summary(run.Last)}))
			return append(append(dst, without(whole, "series", "interval_s")...), '\n'), notes
		}
	}}
}
