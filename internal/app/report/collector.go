// Package report collects in one run what qsniff report puts together, keeps to the room that a report has, and
// explains what is in it. The page of a monitor is made of the same parts.
package report

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"qsniff/internal/base/heap"
	"qsniff/internal/base/hostset"
	"qsniff/internal/flood"
	"qsniff/internal/flood/advice"
	"qsniff/internal/pipeline"
	"qsniff/internal/render"
	"qsniff/internal/render/dialogue"
	"qsniff/internal/render/jsonl"
	"qsniff/internal/render/manual"
	"qsniff/internal/render/sample"
	"qsniff/internal/render/tally"
	"qsniff/internal/track"
	"qsniff/internal/track/stats"
)

const (
	// limit: Servers, maxClients, maxIncidents and maxFindings are how many rows a report has
	// of each. Chosen: more than anybody reads, and a megabyte at most in all.
	Servers      = 200
	maxClients   = 100
	maxIncidents = 64
	maxFindings  = 300
)

// tableShare is the size of the tables of a report, as a share of their size in the commands
// that have one of them: together they are to take about as much memory as these (TestMemory). The
// detector has the size that it has everywhere, so that it judges as elsewhere.
const tableShare = 1. / 4

// Options are what a report is about.
type Options struct {
	Ours     *hostset.Set    // servers; nil: all
	Interval time.Duration   // of the steps of charts; 0: chosen by the length of the run
	Scale    float64         // of the tables, 1 for the usual memory
	Memory   int64           // bytes, of the whole run
	Detector *flood.Detector // the collector takes it
}

// A Collector collects what a report has, in one run. It is used by one goroutine at a time.
type Collector struct {
	opts      Options
	sums      *stats.Collector
	findings  *stats.FindingCollector
	timeline  *stats.Timeline
	exchanges *sample.Store
	seen      flood.Seen
	kept      flood.Collector
}

// New returns a collector that has seen nothing.
func New(o Options) *Collector {
	heap.Tighten()
	scale := o.Scale * tableShare
	c := &Collector{opts: o,
		sums:      stats.New(stats.Options{Top: Servers, Ours: o.Ours, Scale: scale}),
		findings:  stats.NewFindingCollector(stats.FindingOptions{Ours: o.Ours, Scale: scale / 2}),
		timeline:  stats.NewTimeline(o.Interval, o.Ours),
		exchanges: sample.New(jsonl.New(jsonl.Options{Layout: true}), o.Ours, o.Scale),
	}
	c.kept.IsOurs = func(in *flood.Incident) bool { return in.IsAt(o.Ours) }
	o.Detector.AddObserver(c.kept.Observe)
	o.Detector.CountOthersAt(o.Ours.HasHost)
	return c
}

// Watch sets a run up so that the collector sees all of it.
func (c *Collector) Watch(cfg *pipeline.Config) {
	cfg.Listener = track.Listeners{c.sums, c.findings, c.timeline}
	cfg.Memory = int64(float64(c.opts.Memory) * tableShare)
	cfg.Watchers = []track.Watcher{&c.seen, c.opts.Detector}
	cfg.Dialogues = dialogue.New(dialogue.Options{Renderer: c.exchanges, Size: c.opts.Scale, Stub: sample.TurnHeader, MaxText: int(sample.MaxOpen * c.opts.Scale)})
}

// Fill adds to r what was collected in a run that is over.
func (c *Collector) Fill(r *render.Report, run tally.Run) {
	if run.Packets > sample.WholeFrames {
		r.SampledAfter = sample.WholeFrames
	}
	r.Stats = render.Stats{Run: run, Summary: *c.sums.Summary(run.Last)}
	r.Left.Servers = r.Stats.ServersUnlisted + r.Stats.ServersEvicted
	if n := len(r.Stats.Clients); n > maxClients {
		r.Stats.Clients = r.Stats.Clients[:maxClients]
	}
	if n := uint64(len(r.Stats.Clients)); r.Stats.Distinct.Estimate > n {
		r.Left.Clients = r.Stats.Distinct.Estimate - n
	}
	r.Timeline = c.timeline.Summary(run.First, run.Last)
	r.Findings = &render.Findings{Run: run, FindingSummary: *c.findings.Summary()}
	CutFindings(r)
	r.Floods = c.floods(run)
	all := r.Floods.Incidents
	CutIncidents(r, all)
	r.Left.Incidents += r.Floods.Unnamed.Unlisted
	r.Exchanges = func(room int) (iter.Seq[[]byte], uint64) { return c.chooseExchanges(room, all) }
}

// floods returns the incidents.
func (c *Collector) floods(run tally.Run) *render.Floods {
	d := c.opts.Detector
	f := &render.Floods{Run: run, Seen: &c.seen, Incidents: c.kept.Incidents(), Counts: c.kept.Counts(), Others: c.kept.Others(),
		Unnamed: c.kept.Omitted(d), FullTables: d.FullTables(), Limits: flood.Defaults(), IsLimited: c.opts.Ours != nil,
		Expiry: advice.DefaultExpiry}
	f.Other, f.OtherPeak, f.Sessions = d.Others()
	return f
}

// chooseExchanges returns the exchanges that fit into room bytes.
func (c *Collector) chooseExchanges(room int, incidents []flood.Incident) (iter.Seq[[]byte], uint64) {
	all, left := c.exchanges.Choose(room, func(e *sample.Entry) bool {
		return slices.ContainsFunc(incidents, func(in flood.Incident) bool { return in.Level > flood.Info && in.Concerns(e.Server, e.First) })
	})
	return func(yield func([]byte) bool) {
		var text []byte
		for i := range all {
			if text = c.exchanges.AppendText(text[:0], &all[i]); !yield(text) {
				return
			}
		}
	}, left
}

// CutFindings drops the findings for which a report has no room, the least urgent, and counts them in it.
func CutFindings(r *render.Report) {
	if n := len(r.Findings.Repeats); n > maxFindings {
		r.Left.Findings = uint64(n - maxFindings)
		r.Findings.Repeats = r.Findings.Repeats[:maxFindings]
	}
}

// CutIncidents sets the incidents of a report to those of all for which it has room, and counts the others in it:
// the least urgent, of these the last. all stays as it is.
func CutIncidents(r *render.Report, all []flood.Incident) {
	r.Floods.Incidents = slices.Clone(all)
	if len(all) <= maxIncidents {
		return
	}
	order := slices.Clone(all)
	slices.SortStableFunc(order, func(a, b flood.Incident) int { return cmp.Compare(b.Level, a.Level) })
	kept := map[uint64]bool{}
	for i := range order[:maxIncidents] {
		kept[order[i].ID] = true
	}
	r.Floods.Incidents = slices.DeleteFunc(r.Floods.Incidents, func(in flood.Incident) bool { return !kept[in.ID] })
	r.Left.Incidents = uint64(len(all) - len(r.Floods.Incidents))
}

// Explain adds to r the explanations of the findings and of the kinds of incidents in it. findings are all that
// there are.
func Explain(r *render.Report, findings []manual.Finding) error {
	var err error
	add := func(id string, row any) {
		b, wrong := manual.AppendJSON(nil, []any{row})
		err = cmp.Or(err, wrong)
		r.Explain = append(r.Explain, render.Explained{ID: id, JSON: b})
	}
	for _, f := range findings {
		hasCode := func(x stats.Finding) bool { return x.Code.ID == f.ID }
		isListed := func(x stats.Repeats) bool { return x.Expert.Code.ID == f.ID }
		if slices.ContainsFunc(r.Stats.Findings, hasCode) || r.Findings != nil && slices.ContainsFunc(r.Findings.Repeats, isListed) {
			add(f.ID, f)
		}
	}
	for _, k := range manual.Kinds() {
		if slices.ContainsFunc(r.Floods.Incidents, func(in flood.Incident) bool { return in.Kind.String() == k.ID }) {
			add(k.ID, k)
		}
	}
	return err
}
