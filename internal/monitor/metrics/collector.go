// Package metrics gives the snapshots of package monitor to Prometheus. It counts nothing
// itself: each scrape reads one snapshot, and makes constant metrics of it. /servers.json is for
// programs that want what servers say of themselves.
//
// Names begin with qsniff_, units are base units. Labels have values of closed sets: servers
// that have counters of their own (and other), kinds of messages that protocols declare,
// outcomes, kinds and levels of incidents. No address of a client is in any. The number of
// series changes only when a server, or a kind of message at one, is there for the first time.
package metrics

import (
	"context"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/types/known/timestamppb"

	"qsniff/internal/flood"
	"qsniff/internal/monitor"
)

// Collector is a prometheus.Collector of the snapshots of a meter.
type Collector struct {
	snapshot func() (*monitor.Snapshot, bool)
}

// NewCollector returns a collector of what a meter counts.
func NewCollector(m *monitor.Meter) *Collector {
	return &Collector{func() (*monitor.Snapshot, bool) { return m.Snapshot(context.Background()) }}
}

// desc describes a metric; its name begins with qsniff_.
func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("qsniff_"+name, help, labels, nil)
}

// The metrics of servers.
var (
	descMessages = desc("server_messages_total", "Messages of query protocols to and from a server, by kind. The parts of a reply count once, as other: no packet says of what they are.",
		"server", "protocol", "message", "direction")
	descOutcomes = desc("server_requests_total", "What became of requests: answered; challenged (answered with a token to bring back); late (after 3 s); unanswered (for 5 s); refused (a login); unreachable (an ICMP error came back); undecided (evicted from a full table before). A request that still waits is in none.",
		"server", "protocol", "message", "outcome")
	descProven = desc("server_proven_requests_total", "Requests of clients that proved their address by bringing back a challenge of the server: served (they got what they asked for) or not. A flood of forged addresses is in neither.",
		"server", "protocol", "message", "outcome")
	descPackets    = desc("server_packets_total", "Packets of queries (in) and of what answers them (out).", "server", "direction")
	descBytes      = desc("server_bytes_total", "Bytes of these packets, with the headers of IP and UDP.", "server", "direction")
	descJunk       = desc("server_junk_packets_total", "Packets to a server that begin like a query and are nothing known.", "server")
	descJunkBytes  = desc("server_junk_bytes_total", "Bytes of these packets, with the headers of IP and UDP.", "server")
	descUnasked    = desc("server_unasked_replies_total", "Replies of a server that nobody is known to have asked for.", "server")
	descUnproven   = desc("server_unproven_reply_bytes_total", "Bytes of replies to requests without a token: whoever forges an address can have them sent there.", "server")
	descTimes      = desc("server_response_seconds", "Time from a request to the first packet of its answer, where only one waited.", "server")
	descLastSeen   = desc("server_last_request_timestamp_seconds", "When the last query to a server was captured; 0: never.", "server")
	descLastAnswer = desc("server_last_reply_timestamp_seconds", "When the last packet of a reply of a server was captured; 0: never.", "server")
	descPlayers    = desc("server_players", "Players on a server, as it last reported.", "server")
	descSlots      = desc("server_player_slots", "Players that a server has room for, as it last reported.", "server")
	descBots       = desc("server_bots", "How many of the players are bots, as it last reported.", "server")
	descQueue      = desc("server_queued_players", "Players who wait for a slot, as it last reported.", "server")
)

// The other metrics.
var (
	descOpen     = desc("incidents_open", "Incidents that go on.", "kind", "level")
	descEnded    = desc("incidents_ended_total", "Incidents that are over, by what they were at last.", "kind", "level")
	descUsed     = desc("table_entries", "Entries of a table of fixed size.", "table")
	descCap      = desc("table_capacity_entries", "How many entries a table has room for; a full one evicts its oldest.", "table")
	descKept     = desc("kept_present_files", "Files of packets that are finished and there.")
	descKeptSize = desc("kept_present_bytes", "Bytes of the files of packets that are finished and there.")
	descEvicted  = desc("servers_evicted_total", "Servers whose counters were given to others, because they were silent and all were taken.")
	descLast     = desc("capture_last_packet_timestamp_seconds", "Time of the last packet; 0: there was none.")
	descAway     = desc("capture_interfaces_away", "Interfaces that went down or vanished, and are waited for.")
	descStandsBy = desc("capture_standing_still", "1 if the packets at hand are not being read: the figures are old then.")
)

// fixed are all descriptions that do not come from internal/render/counters.
var fixed = []*prometheus.Desc{descMessages, descOutcomes, descProven, descPackets, descBytes, descJunk, descJunkBytes, descUnasked, descUnproven,
	descTimes, descLastSeen, descLastAnswer, descPlayers, descSlots, descBots, descQueue, descOpen, descEnded, descUsed, descCap, descKept, descKeptSize, descEvicted, descLast, descAway, descStandsBy}

// Describe sends all descriptions.
func (c *Collector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range fixed {
		to <- d
	}
	for i := range counted {
		to <- counted[i].desc
	}
}

// Collect sends the metrics of one snapshot.
func (c *Collector) Collect(to chan<- prometheus.Metric) {
	s, isNew := c.snapshot()
	x := sender{to}
	for i := range s.Servers {
		x.sendServer(&s.Servers[i])
	}
	x.sendServer(&s.Other)
	for k := flood.NoKind + 1; k < flood.NumKinds; k++ {
		for l := flood.Info; l <= flood.Alert; l++ {
			n := &s.Incidents[k][l]
			x.gauge(descOpen, float64(n.Open), k.String(), l.String())
			x.count(descEnded, n.Ended, k.String(), l.String())
		}
	}
	for _, t := range s.Tables {
		x.gauge(descUsed, float64(t.Used), t.Name)
		x.gauge(descCap, float64(t.Cap), t.Name)
	}
	x.gauge(descKept, float64(s.Counters.Files.Ring.Present))
	x.gauge(descKeptSize, float64(s.Counters.Files.Ring.PresentBytes))
	x.count(descEvicted, s.ServersEvicted)
	x.gauge(descLast, seconds(s.LastPacket))
	x.gauge(descAway, float64(s.Counters.Live.Away))
	x.gauge(descStandsBy, map[bool]float64{false: 1}[isNew])
	for i := range counted {
		x.count(counted[i].desc, counted[i].Get(&s.Counters))
	}
}

// seconds returns Unix nanoseconds in seconds.
func seconds(nanos int64) float64 { return float64(nanos) / 1e9 }

// sender sends metrics.
type sender struct{ to chan<- prometheus.Metric }

func (x sender) count(d *prometheus.Desc, n uint64, labels ...string) {
	x.to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), labels...)
}

func (x sender) gauge(d *prometheus.Desc, v float64, labels ...string) {
	x.to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}

// sendServer sends the metrics of a server.
func (x sender) sendServer(s *monitor.Server) {
	name := s.Label()
	for i := range s.Messages {
		m := &s.Messages[i]
		direction := "in"
		if m.IsReply {
			direction = "out"
		}
		x.count(descMessages, m.Count, name, m.Protocol, m.Name, direction)
		if !m.HasOutcomes {
			continue
		}
		for o := range monitor.NumOutcomes {
			x.count(descOutcomes, m.Outcomes[o], name, m.Protocol, m.Name, o.String())
		}
		x.count(descProven, m.Served, name, m.Protocol, m.Name, "served")
		x.count(descProven, m.Proven-m.Served, name, m.Protocol, m.Name, "not_served")
	}
	x.count(descPackets, s.In.Packets, name, "in")
	x.count(descPackets, s.Out.Packets, name, "out")
	x.count(descBytes, s.In.Bytes, name, "in")
	x.count(descBytes, s.Out.Bytes, name, "out")
	x.count(descJunk, s.Junk.Packets, name)
	x.count(descJunkBytes, s.Junk.Bytes, name)
	x.count(descUnasked, s.Unasked, name)
	x.count(descUnproven, s.Unproven, name)
	x.to <- newHistogram(descTimes, &s.Times, name)
	if !s.Addr.IsValid() {
		return
	}
	x.gauge(descLastSeen, seconds(s.LastSeen), name)
	x.gauge(descLastAnswer, seconds(s.LastAnswer), name)
	x.report(descPlayers, s.Profile.Players, name)
	x.report(descSlots, s.Profile.Max, name)
	x.report(descBots, s.Profile.Bots, name)
	x.report(descQueue, s.Profile.Queue, name)
}

// report sends what a server reports of itself, unless it does not (-1).
func (x sender) report(d *prometheus.Desc, n int32, server string) {
	if n >= 0 {
		x.gauge(d, float64(n), server)
	}
}

// histogram is a distribution of times in both forms of buckets: a scraper takes the one that it
// supports. The library makes constant ones of either form only.
type histogram struct {
	desc   *prometheus.Desc
	labels []*dto.LabelPair
	times  *monitor.Times
}

func newHistogram(d *prometheus.Desc, t *monitor.Times, labels ...string) prometheus.Metric {
	return &histogram{d, prometheus.MakeLabelPairs(d, labels), t}
}

// Desc returns the description.
func (h *histogram) Desc() *prometheus.Desc { return h.desc }

// Write fills in m.
func (h *histogram) Write(m *dto.Metric) error {
	t := h.times
	sum, schema, zero := float64(t.Nanos)/1e9, int32(monitor.FineSchema), float64(monitor.FineZero)
	x := &dto.Histogram{SampleCount: &t.Count, SampleSum: &sum, Schema: &schema, ZeroThreshold: &zero, ZeroCount: &t.Below}
	n := uint64(0)
	for i := range monitor.RoundLimits {
		n += t.Round[i]
		upTo := n
		x.Bucket = append(x.Bucket, &dto.Bucket{CumulativeCount: &upTo, UpperBound: &monitor.RoundLimits[i], Exemplar: newExemplar(&t.Last[i])})
	}
	addFine(x, t)
	m.Label, m.Histogram = h.labels, x
	return nil
}

// frameLabel is the label of exemplars.
var frameLabel = "frame"

// newExemplar returns the packet that stands for a bucket, nil if there is none. Only OpenMetrics has
// exemplars.
func newExemplar(e *monitor.Example) *dto.Exemplar {
	if e.Frame == 0 {
		return nil
	}
	frame, took := strconv.FormatUint(e.Frame, 10), float64(e.Took)/1e9
	return &dto.Exemplar{Label: []*dto.LabelPair{{Name: &frameLabel, Value: &frame}}, Value: &took, Timestamp: timestamppb.New(time.Unix(0, e.Nanos))}
}

// addFine adds the fine buckets: spans of those that are not empty, each count as its difference
// to the one before. A histogram without any has an empty span, by which it is known as a native one.
func addFine(x *dto.Histogram, t *monitor.Times) {
	last, gap := int64(0), int32(monitor.FirstFine)
	var span *dto.BucketSpan
	for _, n := range t.Fine {
		if n == 0 {
			gap++
			span = nil
			continue
		}
		if span == nil {
			offset, length := gap, uint32(0)
			span = &dto.BucketSpan{Offset: &offset, Length: &length}
			x.PositiveSpan = append(x.PositiveSpan, span)
		}
		*span.Length++
		x.PositiveDelta = append(x.PositiveDelta, int64(n)-last)
		last, gap = int64(n), 0
	}
	if len(x.PositiveSpan) == 0 {
		x.PositiveSpan = []*dto.BucketSpan{{Offset: new(int32), Length: new(uint32)}}
	}
}
