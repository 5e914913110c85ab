package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"qsniff/internal/monitor/serve"
)

// NewBuildInfo returns a metric that is 1, with the version of the program in its labels.
func NewBuildInfo(version, revision, goVersion string) prometheus.Collector {
	g := prometheus.NewGauge(prometheus.GaugeOpts{Name: "qsniff_build_info", Help: "1, with the version of this program as labels.",
		ConstLabels: prometheus.Labels{"version": version, "revision": revision, "goversion": goVersion}})
	g.Set(1)
	return g
}

// The metrics of the server that gives them out.
var (
	descConns     = desc("web_connections", "Connections that are open.")
	descRefused   = desc("web_connections_refused_total", "Connections that were closed at once, because too many were open.")
	descDisplaced = desc("web_connections_displaced_total", "Connections that were closed for newer ones, before a request on them was let in.")
	descRequests  = desc("web_requests_total", "Requests over HTTP.")
	descViewers   = desc("web_viewers", "Viewers of the live page.")
	descTurned    = desc("web_viewers_refused_total", "Viewers of the live page that were refused, because there were too many.")
	descStalled   = desc("web_viewers_stalled_total", "Viewers of the live page that stopped reading, and were dropped.")
	descRejected  = desc("web_requests_rejected_total", "Requests that were refused: their Host is no name of this server, they bring no token, or they are no reads.", "reason")
)

// serverCollector is a collector of the counters of a serve.Server and its serve.Live.
type serverCollector struct {
	stats func() serve.Stats
	live  func() serve.LiveStats // nil: there is no live page
}

// NewServerCollector returns a collector of the counters of a serve.Server and its serve.Live; nil for a
// server without one.
func NewServerCollector(stats func() serve.Stats, live func() serve.LiveStats) prometheus.Collector {
	return serverCollector{stats, live}
}

func (c serverCollector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{descConns, descRefused, descDisplaced, descRequests, descRejected} {
		to <- d
	}
	if c.live != nil {
		to <- descViewers
		to <- descTurned
		to <- descStalled
	}
}

func (c serverCollector) Collect(to chan<- prometheus.Metric) {
	s, x := c.stats(), sender{to}
	x.gauge(descConns, float64(s.Open))
	x.count(descRefused, s.Refused)
	x.count(descDisplaced, s.Displaced)
	x.count(descRequests, s.Requests)
	x.count(descRejected, s.BadHost, "host")
	x.count(descRejected, s.BadToken, "token")
	x.count(descRejected, s.BadMethod, "method")
	if c.live == nil {
		return
	}
	l := c.live()
	x.gauge(descViewers, float64(l.Viewers))
	x.count(descTurned, l.Refused)
	x.count(descStalled, l.Stalled)
}
