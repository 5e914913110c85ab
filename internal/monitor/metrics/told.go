package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"qsniff/internal/monitor/notify"
)

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
