//go:build !js

package main

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"net/http"
	"path/filepath"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"qsniff/internal/app/report"
	"qsniff/internal/flood"
	"qsniff/internal/flood/advice"
	"qsniff/internal/monitor"
	"qsniff/internal/monitor/metrics"
	"qsniff/internal/monitor/serve"
	"qsniff/internal/render"
	"qsniff/internal/render/html"
	"qsniff/internal/render/jsonl"
	"qsniff/internal/track/stats"
)

// livePage is the page of a monitor: the report of the last hour, made of what the monitor counts.
type livePage struct {
	m    *monitorRun
	kept flood.Collector // for the goroutine of the pipeline
	live *serve.Live
}

// addPage adds the page to the server.
func (m *monitorRun) addPage() error {
	m.page = &livePage{m: m, kept: flood.Collector{KeepsOpen: true, Describe: m.detector.Detector.Describe}}
	p := m.page
	p.live = serve.NewLive(p.make)
	m.detector.Detector.AddObserver(func(in *flood.Incident, e flood.Event) {
		m.detector.filter(p.kept.Observe)(in, e)
	})
	for _, x := range []struct {
		path, kind string
		text       []byte
	}{
		{"/", "text/html; charset=utf-8", html.LivePage("qsniff monitor")},
		{"/app.css", "text/css; charset=utf-8", html.Style()},
		{"/app.js", "text/javascript; charset=utf-8", html.Script()},
	} {
		h, err := serve.Page(x.path, x.kind, html.LivePolicy, x.text)
		if err != nil {
			return err
		}
		m.server.Handle(x.path, h)
	}
	m.server.Handle("/report.json", http.HandlerFunc(p.live.ServeDocument))
	m.server.Handle("/events", http.HandlerFunc(p.live.ServeEvents))
	return nil
}

// hour is what the goroutine of the pipeline gives for a report: nobody changes it.
type hour struct {
	*monitor.Window
	incidents  []flood.Incident
	findings   []stats.Repeats
	crowded    uint64 // findings for which there was no room
	omitted    flood.Omitted
	fullTables []string
}

// take returns the last hour. It is for the goroutine of the pipeline.
func (p *livePage) take() *hour {
	w := p.m.meter.Window(report.Servers)
	p.kept.Forget(w.First)
	h := &hour{Window: w, incidents: slices.Clone(p.kept.Incidents()), omitted: p.kept.Omitted(p.m.detector.Detector), fullTables: p.m.detector.FullTables()}
	if t := p.m.teller; t != nil {
		h.findings, h.crowded = t.Findings(w.First), t.Crowded()
	}
	return h
}

// ask has the goroutine of the pipeline take the last hour between two batches.
func (p *livePage) ask(ctx context.Context) (*hour, error) {
	ctx, cancel := context.WithTimeout(ctx, monitor.Patience)
	defer cancel()
	got := make(chan *hour, 1)
	select {
	case p.m.todo <- func() { got <- p.take() }:
	case <-ctx.Done():
		return nil, errStandsStill
	}
	select {
	case h := <-got:
		return h, nil
	case <-ctx.Done():
		return nil, errStandsStill
	}
}

var errStandsStill = errors.New("the capture stands still")

// make returns the report of the last hour as JSON.
func (p *livePage) make(ctx context.Context) ([]byte, error) {
	h, err := p.ask(ctx)
	if err != nil {
		return nil, err
	}
	r, err := p.report(h)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	err = jsonl.WriteReport(&text, r)
	return text.Bytes(), err
}

// report returns the report of an hour: there are no exchanges in it, no clients but those of
// incidents and findings, and no findings where messages are not decoded.
func (p *livePage) report(h *hour) (*render.Report, error) {
	build := readBuild()
	r := &render.Report{Version: build.Short(), Command: "qsniff monitor", Files: []render.ReportFile{{Name: p.m.in.what, Bytes: -1}}, Timeline: &h.Timeline}
	if p.m.in.live == nil {
		r.Files[0].Name = filepath.Base(p.m.in.what)
	}
	if r.Files[0].Name == stdin {
		r.Files[0].Name = "standard input"
	}
	r.Stats = render.Stats{Summary: h.Stats, Rules: p.m.loaded.LatestFor(h.incidents).Sentences(h.incidents, time.Unix(0, h.Last))}
	run := &r.Stats.Run
	run.Packets, run.First, run.Last = h.Packets, h.First, h.Last
	r.Left.Servers = h.Stats.ServersUnlisted
	if p.m.opts.findings != "none" {
		r.Findings = &render.Findings{Run: *run, FindingSummary: stats.FindingSummary{Repeats: h.findings}}
		report.CutFindings(r)
		r.Left.Findings += h.crowded
	}
	r.Floods = &render.Floods{Run: *run, Seen: &flood.Seen{Queries: h.Stats.Requests, Replies: h.Stats.Replies}, Unnamed: h.omitted, FullTables: h.fullTables,
		Limits: p.m.opts.limits, IsLimited: p.m.opts.ours != nil, Expiry: advice.DefaultExpiry, IsLive: p.m.in.live != nil}
	for i := range h.incidents {
		r.Floods.Counts[h.incidents[i].Level]++
	}
	report.CutIncidents(r, h.incidents)
	r.Exchanges = func(int) (iter.Seq[[]byte], uint64) {
		return func(func([]byte) bool) {}, h.Stats.Answered + h.Stats.Unanswered
	}
	return r, report.Explain(r, listFindings())
}

// newMetricsHandler returns what answers /metrics.
func newMetricsHandler(m *monitorRun) http.Handler {
	b := readBuild()
	all := []prometheus.Collector{metrics.NewCollector(m.meter), metrics.NewServerCollector(m.server.Stats, m.page.live.Stats), metrics.NewBuildInfo(b.Version, b.Revision, b.Go)}
	if m.told != nil {
		all = append(all, metrics.NewToldCollector(m.told.Messenger.Counts))
	}
	if m.loaded != nil {
		all = append(all, metrics.NewRulesCollector(m.loaded.Latest))
	}
	return metrics.NewHandler(all...)
}
