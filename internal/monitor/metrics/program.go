package metrics

import (
	"net/http"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"qsniff/internal/flood/rules/loaded"
	"qsniff/internal/monitor/notify"
	"qsniff/internal/monitor/serve"
	"qsniff/internal/render/counters"
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

// counted are the metrics of the counters of all stages that take part.
var counted = describeCounters()

// counter is one of them.
type counter struct {
	counters.Entry
	desc *prometheus.Desc
}

// prefixes are the beginnings of names by the group of counters. Groups that are not here count
// what a meter counts by itself, or what it does without.
var prefixes = map[counters.Group]string{
	counters.Totals: "capture_", counters.Capture: "capture_", counters.Input: "input_", counters.Reassembly: "reassembly_",
	counters.Incidents: "incidents_", counters.Files: "kept_",
}

// idle are the counters of these groups that stay zero, as their stages take no part: there is no
// filter, and messages are not joined.
var idle = []string{"unmatched", "undecided", "queries", "replies", "junk", "logins", "elsewhere", "unlisted", "compressed", "crc_errors", "evicted"}

func describeCounters() (all []counter) {
	for _, e := range counters.All {
		prefix, ok := prefixes[e.Group]
		if !ok || slices.Contains(idle, e.Name) || strings.HasPrefix(e.Name, "split_") || strings.HasPrefix(e.Name, "fragmented_") {
			continue
		}
		all = append(all, counter{e, desc(prefix+e.Name+"_total", e.Doc)})
	}
	return all
}

// NewHandler returns what answers /metrics with collectors, and with those of Go and of the process.
func NewHandler(all ...prometheus.Collector) http.Handler {
	reg := prometheus.NewRegistry()
	reg.MustRegister(append(all, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))...)
	return promhttp.HandlerFor(reg, promhttp.HandlerOpts{EnableOpenMetrics: true, MaxRequestsInFlight: scrapesAtOnce, ErrorHandling: promhttp.ContinueOnError})
}

// The metrics of the sinks that get notes of incidents and findings.
var (
	descNotes   = desc("told_notes_total", "Notes about incidents and findings, and messages to the hub of a fleet, by what became of them: sent; folded (a later one of the same incident took its place); refused (it could not be delivered); lost (no room).", "sink", "outcome")
	descRetries = desc("told_retries_total", "Attempts to deliver a note that failed and were made again; of a fleet connections to its broker.", "sink")
	descWaiting = desc("told_waiting_notes", "Notes, or messages to the hub of a fleet, that wait to be delivered.", "sink")
)

// wayToAll is the sink that stands for the way to the messenger process.
const wayToAll = "all"

// toldCollector is a collector of the counters of a notify.Messenger.
type toldCollector struct {
	counts func() (notify.QueueCounts, []notify.SinkCounts)
}

// NewToldCollector returns a collector of the counters of a notify.Messenger.
func NewToldCollector(counts func() (way notify.QueueCounts, sinks []notify.SinkCounts)) prometheus.Collector {
	return toldCollector{counts}
}

func (c toldCollector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{descNotes, descRetries, descWaiting} {
		to <- d
	}
}

func (c toldCollector) Collect(to chan<- prometheus.Metric) {
	way, sinks := c.counts()
	x := sender{to}
	x.sendQueue(&way, wayToAll)
	for i := range sinks {
		s := &sinks[i]
		x.sendQueue(&s.QueueCounts, s.Name)
		x.count(descNotes, s.Sent, s.Name, "sent")
		x.count(descNotes, s.Refused, s.Name, "refused")
		x.count(descRetries, s.Retried, s.Name)
	}
}

func (x sender) sendQueue(q *notify.QueueCounts, name string) {
	x.count(descNotes, q.Lost, name, "lost")
	x.count(descNotes, q.Folded, name, "folded")
	x.gauge(descWaiting, float64(q.Waiting), name)
}

// The metrics of the rules that are loaded.
var (
	descLoaded      = desc("rules_loaded", "1 if rules of qsniff (table inet qsniff of nftables, or chains QSNIFF of iptables) are loaded on this machine; there is none while that is unknown.")
	descLoadedSince = desc("rules_loaded_timestamp_seconds", "When these rules were loaded; there is none while that is unknown.")
	descRuled       = desc("rules_packets_total", "Packets to a server that these rules looked at, by what became of them: dropped or passed. It begins anew with other rules.", "server", "transport", "verdict")
)

// rulesCollector is a collector of what rules count.
type rulesCollector struct{ latest func() *loaded.State }

// NewRulesCollector returns a collector of what a loaded.Reader reads.
func NewRulesCollector(latest func() *loaded.State) prometheus.Collector {
	return rulesCollector{latest}
}

func (c rulesCollector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{descLoaded, descLoadedSince, descRuled} {
		to <- d
	}
}

func (c rulesCollector) Collect(to chan<- prometheus.Metric) {
	s, x := c.latest(), sender{to}
	if s == nil || s.Problem != "" {
		return
	}
	x.gauge(descLoaded, map[bool]float64{true: 1}[s.IsLoaded])
	if s.Since != 0 {
		x.gauge(descLoadedSince, float64(s.Since))
	}
	sent := map[string]bool{}
	for _, t := range s.Targets {
		if sent[t.Target] { // rules for one target that look at different packets: the first counts
			continue
		}
		sent[t.Target] = true
		transport, server, isOfPort := strings.Cut(t.Target, "/")
		if !isOfPort {
			transport, server = "udp", t.Target // the rules for a host alone are against replies
		}
		x.count(descRuled, t.Dropped, server, transport, "dropped")
		x.count(descRuled, t.Looked-t.Dropped, server, transport, "passed")
	}
}

// limit: scrapesAtOnce is how many scrapes are answered at a time. Chosen: two Prometheus servers, and a
// curl.
const scrapesAtOnce = 4
