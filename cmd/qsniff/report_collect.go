package main

import (
	"cmp"
	"iter"
	"math"
	"net/netip"
	"slices"

	"qsniff/internal/flood"
	"qsniff/internal/flood/advice"
	"qsniff/internal/render"
	"qsniff/internal/render/dialogue"
	"qsniff/internal/render/jsonl"
	"qsniff/internal/render/manual"
	"qsniff/internal/render/sample"
	"qsniff/internal/render/tally"
	"qsniff/internal/track"
	"qsniff/internal/track/stats"
)

// listeners pass everything on to each of them.
type listeners []track.Listener

// AddFact implements track.Listener.
func (l listeners) AddFact(f *track.Fact, found []track.Found, info *track.ServerInfo) {
	for _, x := range l {
		x.AddFact(f, found, info)
	}
}

// AddFinding implements track.Listener.
func (l listeners) AddFinding(frame uint64, nanos int64, server, client netip.AddrPort, found track.Found) {
	for _, x := range l {
		x.AddFinding(frame, nanos, server, client, found)
	}
}

// reportCollector collects what a report has, in one run.
type reportCollector struct {
	opts      *reportOptions
	sums      *stats.Collector
	findings  *stats.FindingCollector
	timeline  *stats.Timeline
	exchanges *sample.Store
	seen      flood.Seen
	kept      flood.Collector
	detector  *flood.Detector
}

// reportShare is the size of the tables of a report, as a share of their size in the commands
// that have one of them: together they are to take about as much memory as these (TestMemory).
const reportShare = 1. / 4

// newReportCollector returns a collector for the run of j, which it sets up.
func newReportCollector(o *reportOptions, j *job) *reportCollector {
	isTight.Store(true)
	scale := o.scale() * reportShare
	c := &reportCollector{opts: o,
		sums:      stats.New(stats.Options{Top: reportServers, Ours: o.ownServers, Scale: scale}),
		findings:  stats.NewFindingCollector(stats.FindingOptions{Ours: o.ownServers, Scale: scale / 2}),
		timeline:  stats.NewTimeline(o.interval, o.ownServers),
		exchanges: sample.New(jsonl.New(jsonl.Options{Layout: true}), o.ownServers, o.scale()),
		detector:  newDetector(j.cfg.Registry, flood.Defaults(), scale*detectorShare, advice.DefaultExpiry, o.ownTools),
	}
	c.kept.IsOurs = func(in *flood.Incident) bool { return in.IsAt(o.ownServers) }
	c.detector.AddObserver(c.kept.Observe)
	c.detector.CountOthersAt(o.ownServers.HasHost)
	j.cfg.Listener = listeners{c.sums, c.findings, c.timeline}
	j.cfg.Memory = int64(float64(o.memory) * reportShare)
	j.cfg.Watchers = []track.Watcher{&c.seen, c.detector}
	j.cfg.Dialogues = dialogue.New(dialogue.Options{Renderer: c.exchanges, Size: o.scale(), Stub: sample.TurnHeader, MaxText: int(sample.MaxOpen * o.scale())})
	return c
}

// report returns the report of a run over the captures that args name.
func (c *reportCollector) report(run tally.Run, args []string) (*render.Report, error) {
	build := readBuild()
	r := &render.Report{Version: build.Short(), Command: c.opts.command, Files: c.opts.listFiles(args, &run), MaxSize: int(min(c.opts.maxSize, math.MaxInt)),
		IsAnonymized: c.opts.anonymize.isOn}
	if c.opts.anonymize.isOn {
		r.Left.Packets = c.opts.captured.Packets - run.Packets
	}
	if run.Packets > sample.WholeFrames {
		r.SampledAfter = sample.WholeFrames
	}
	r.Stats = render.Stats{Run: run, Summary: *c.sums.Summary(run.Last)}
	r.Left.Servers = r.Stats.ServersUnlisted + r.Stats.ServersEvicted
	if n := len(r.Stats.Clients); n > reportClients {
		r.Stats.Clients = r.Stats.Clients[:reportClients]
	}
	if n := uint64(len(r.Stats.Clients)); r.Stats.Distinct.Estimate > n {
		r.Left.Clients = r.Stats.Distinct.Estimate - n
	}
	r.Timeline = c.timeline.Summary(run.First, run.Last)
	r.Findings = &render.Findings{Run: run, FindingSummary: *c.findings.Summary()}
	cutFindings(r)
	r.Floods = c.floods(run)
	all := r.Floods.Incidents
	r.Floods.Incidents = cutIncidents(slices.Clone(all))
	r.Left.Incidents = uint64(len(all)-len(r.Floods.Incidents)) + r.Floods.Unnamed.Unlisted
	r.Exchanges = func(room int) (iter.Seq[[]byte], uint64) { return c.chooseExchanges(room, all) }
	var err error
	r.Explain, err = explainReport(r)
	return r, err
}

// cutFindings drops those for which a report has no room: the least urgent.
func cutFindings(r *render.Report) {
	if n := len(r.Findings.Repeats); n > reportFindings {
		r.Left.Findings = uint64(n - reportFindings)
		r.Findings.Repeats = r.Findings.Repeats[:reportFindings]
	}
}

// floods returns the incidents.
func (c *reportCollector) floods(run tally.Run) *render.Floods {
	f := &render.Floods{Run: run, Seen: &c.seen, Incidents: c.kept.Incidents(), Counts: c.kept.Counts(), Others: c.kept.Others(),
		Unnamed: c.kept.Omitted(c.detector), FullTables: c.detector.FullTables(), Limits: flood.Defaults(), IsLimited: c.opts.ownServers != nil,
		Expiry: advice.DefaultExpiry}
	f.Other, f.OtherPeak, f.Sessions = c.detector.Others()
	return f
}

// cutIncidents drops those for which a report has no room: the least urgent, of these the last.
func cutIncidents(all []flood.Incident) []flood.Incident {
	if len(all) <= reportIncidents {
		return all
	}
	order := slices.Clone(all)
	slices.SortStableFunc(order, func(a, b flood.Incident) int { return cmp.Compare(b.Level, a.Level) })
	kept := map[uint64]bool{}
	for i := range order[:reportIncidents] {
		kept[order[i].ID] = true
	}
	return slices.DeleteFunc(all, func(in flood.Incident) bool { return !kept[in.ID] })
}

// chooseExchanges returns the exchanges that fit into room bytes.
func (c *reportCollector) chooseExchanges(room int, incidents []flood.Incident) (iter.Seq[[]byte], uint64) {
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

// explainReport returns explanations of the findings and of the kinds of incidents in r.
func explainReport(r *render.Report) ([]render.Explained, error) {
	findings, err := listFindings()
	if err != nil {
		return nil, err
	}
	var all []render.Explained
	add := func(id string, row any) {
		b, wrong := manual.AppendJSON(nil, []any{row})
		err = cmp.Or(err, wrong)
		all = append(all, render.Explained{ID: id, JSON: b})
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
	return all, err
}
