package web

import (
	"github.com/prometheus/client_golang/prometheus"

	"qsniff/internal/fleet"
	"qsniff/internal/fleet/campaign"
	"qsniff/internal/fleet/hub"
	"qsniff/internal/flood"
)

// Collector is a prometheus.Collector of what a hub shows. Labels have values of closed sets, and names
// of sensors, which the broker's credentials give.
type Collector struct {
	view func() *hub.View
	free func() (uint64, error)
}

// NewCollector returns a collector of the views of a hub, and of the bytes that are free on the disk of its streams; free
// is nil where these are elsewhere.
func NewCollector(view func() *hub.View, free func() (uint64, error)) *Collector {
	return &Collector{view, free}
}

// metric is one that has no labels.
type metric struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	get  func(v *hub.View) float64
}

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("qsniff_hub_"+name, help, labels, nil)
}

func count(name, help string, get func(v *hub.View) uint64) metric {
	return metric{desc(name, help), prometheus.CounterValue, func(v *hub.View) float64 { return float64(get(v)) }}
}

func gauge(name, help string, get func(v *hub.View) float64) metric {
	return metric{desc(name, help), prometheus.GaugeValue, get}
}

var plain = []metric{
	gauge("leads", "1: this hub leads; 0: it stands by.", func(v *hub.View) float64 { return map[bool]float64{true: 1}[v.Leads] }),
	gauge("unread_messages", "Messages in the streams that were not read yet.", func(v *hub.View) float64 { return float64(v.Unread) }),
	gauge("read_timestamp_seconds", "Time up to which messages were read.", func(v *hub.View) float64 { return float64(v.At) / 1e9 }),
	count("messages_total", "Messages read from the streams, since the state began.", func(v *hub.View) uint64 { return v.Totals.Messages }),
	count("messages_lost_total", "Messages that the streams dropped before they were read.", func(v *hub.View) uint64 { return v.Totals.Lost }),
	count("messages_duplicate_total", "Messages that had come before.", func(v *hub.View) uint64 { return v.Counters.Duplicates }),
	count("messages_unsent_total", "Messages that sensors made and that never came.", func(v *hub.View) uint64 { return v.Counters.Lost }),
	count("windows_total", "Windows of ten seconds that were judged.", func(v *hub.View) uint64 { return v.Counters.Windows }),
	count("events_total", "Events of campaigns and sensors.", func(v *hub.View) uint64 { return v.Totals.Events }),
	count("events_told_total", "Events that were passed on to who is told.", func(v *hub.View) uint64 { return v.Totals.Told }),
	count("events_uncertain_total", "Events that a hub may have told or not before it ended; they are not told again.", func(v *hub.View) uint64 { return v.Totals.Uncertain }),
	count("states_aside_total", "States of the hub that could not be read, and were kept aside.", func(v *hub.View) uint64 { return v.Totals.Aside }),
	count("events_let_go_total", "Events that were told, and let go before they were known to be delivered.", func(v *hub.View) uint64 { return v.Totals.LetGo }),
	gauge("events_pending", "Events that are not told completely.", func(v *hub.View) float64 { return float64(v.Pending) }),
	gauge("sensors", "Sensors that are known.", func(v *hub.View) float64 { return float64(v.Counters.Sensors) }),
	count("clock_steps_total", "How often the clock of the broker was set by more than a minute.", func(v *hub.View) uint64 { return v.Counters.ClockSteps }),
	gauge("sensors_silent", "Sensors without a word for a minute.", func(v *hub.View) float64 { return float64(v.Counters.Silent) }),
	gauge("sensors_skewed", "Sensors whose clock is off by more than two seconds.", func(v *hub.View) float64 { return float64(v.Counters.Skewed) }),
	gauge("servers", "Servers that are known.", func(v *hub.View) float64 { return float64(v.Counters.Servers) }),
	gauge("servers_unheard", "Servers without a message, of sensors that speak.", func(v *hub.View) float64 { return float64(v.Counters.Unheard) }),
	gauge("incidents", "Incidents of hosts that are compared with each other.", func(v *hub.View) float64 { return float64(v.Counters.Incidents) }),
	gauge("window_sources", "Different hosts that sent queries to any server, in the last window.", func(v *hub.View) float64 { return v.Last().Sources }),
	gauge("window_servers_raised", "Servers that got much more than usual, in the last window.", func(v *hub.View) float64 { return float64(v.Last().Raised) }),
}

// limits are the counters of the bounds of the engine.
var limits = []struct {
	name string
	get  func(c *campaign.Counters) uint64
}{
	{"too_early", func(c *campaign.Counters) uint64 { return c.TooEarly }},
	{"too_late", func(c *campaign.Counters) uint64 { return c.TooLate }},
	{"repeated", func(c *campaign.Counters) uint64 { return c.Repeated }},
	{"corrected", func(c *campaign.Counters) uint64 { return c.Corrected }},
	{"sensors_refused", func(c *campaign.Counters) uint64 { return c.SensorsRefused }},
	{"sensors_evicted", func(c *campaign.Counters) uint64 { return c.SensorsEvicted }},
	{"servers_refused", func(c *campaign.Counters) uint64 { return c.ServersRefused }},
	{"servers_evicted", func(c *campaign.Counters) uint64 { return c.ServersEvicted }},
	{"records_refused", func(c *campaign.Counters) uint64 { return c.RecordsRefused }},
	{"windows_hurried", func(c *campaign.Counters) uint64 { return c.WindowsHurried }},
	{"incidents_refused", func(c *campaign.Counters) uint64 { return c.IncidentsRefused }},
	{"pairs_uncompared", func(c *campaign.Counters) uint64 { return c.Uncompared }},
	{"campaigns_refused", func(c *campaign.Counters) uint64 { return c.CampaignsRefused }},
	{"members_refused", func(c *campaign.Counters) uint64 { return c.MembersRefused }},
}

var (
	descRefused   = desc("messages_refused_total", "Messages that were refused since this hub began: their subject is none of a sensor (subject), they are too long (size), no JSON of their kind (form), of a newer program (version), say that they are of another sensor (sender), or have no number or time (head).", "reason")
	descLimits    = desc("limits_total", "What the bounds of the engine refused or evicted, by the bound.", "limit")
	descCampaigns = desc("campaigns_open", "Campaigns that go on.", "how", "level")
	descPackets   = desc("window_packets", "Packets of queries (in) and of what answers them (out), at all servers in the last window of ten seconds.", "direction")
	descBytes     = desc("window_bytes", "Bytes of these packets, with the headers of IP and UDP.", "direction")
	descStored    = desc("stream_messages", "Messages in a stream.", "stream")
	descStoredB   = desc("stream_bytes", "Bytes of a stream.", "stream")
	descFree      = desc("store_free_bytes", "Bytes that are free on the disk of the broker's streams, where the broker is within the hub.")
	descHeard     = desc("sensor_last_message_timestamp_seconds", "When the broker got the last message of a sensor.", "sensor")
	descSilent    = desc("sensor_silent", "1: a sensor is silent.", "sensor")
	descSkew      = desc("sensor_skew_seconds", "How far the clock of a sensor is after that of the broker.", "sensor")
	descMissing   = desc("sensor_messages_unsent_total", "Messages of a sensor that never came.", "sensor")
	labelled      = []*prometheus.Desc{descRefused, descLimits, descCampaigns, descPackets, descBytes, descStored, descStoredB, descFree, descHeard, descSilent, descSkew, descMissing}
)

// hows has the ways of campaigns, in the order of Describe.
var hows = []campaign.How{campaign.Carpet, campaign.SameSources, campaign.Walk, campaign.Reflectors, campaign.SameShape}

// Describe sends all descriptions.
func (c *Collector) Describe(to chan<- *prometheus.Desc) {
	for i := range plain {
		to <- plain[i].desc
	}
	for _, d := range labelled {
		to <- d
	}
}

// sender sends metrics.
type sender struct{ to chan<- prometheus.Metric }

func (x sender) send(d *prometheus.Desc, kind prometheus.ValueType, v float64, labels ...string) {
	x.to <- prometheus.MustNewConstMetric(d, kind, v, labels...)
}

// Collect sends the metrics of one view.
func (c *Collector) Collect(to chan<- prometheus.Metric) {
	v, x := c.view(), sender{to}
	for i := range plain {
		x.send(plain[i].desc, plain[i].kind, plain[i].get(v))
	}
	for i := range limits {
		x.send(descLimits, prometheus.CounterValue, float64(limits[i].get(&v.Counters)), limits[i].name)
	}
	refused := map[fleet.Reason]uint64{}
	for _, r := range v.Refused {
		refused[r.Why] += r.Count
	}
	for _, why := range fleet.Reasons {
		x.send(descRefused, prometheus.CounterValue, float64(refused[why]), string(why))
	}
	x.sendCampaigns(v)
	if c.free != nil {
		if n, err := c.free(); err == nil {
			x.send(descFree, prometheus.GaugeValue, float64(n))
		}
	}
	w := v.Last()
	x.send(descPackets, prometheus.GaugeValue, float64(w.PacketsIn), "in")
	x.send(descPackets, prometheus.GaugeValue, float64(w.PacketsOut), "out")
	x.send(descBytes, prometheus.GaugeValue, float64(w.BytesIn), "in")
	x.send(descBytes, prometheus.GaugeValue, float64(w.BytesOut), "out")
	for _, s := range v.Streams {
		x.send(descStored, prometheus.GaugeValue, float64(s.Messages), s.Name)
		x.send(descStoredB, prometheus.GaugeValue, float64(s.Bytes), s.Name)
	}
	for i := range v.Sensors[:min(len(v.Sensors), sensorSeries)] {
		s := &v.Sensors[i]
		x.send(descHeard, prometheus.GaugeValue, float64(s.Heard)/1e9, s.Name)
		x.send(descSilent, prometheus.GaugeValue, map[bool]float64{true: 1}[s.Silent], s.Name)
		x.send(descSkew, prometheus.GaugeValue, float64(s.Skew)/1e9, s.Name)
		x.send(descMissing, prometheus.CounterValue, float64(s.Lost), s.Name)
	}
}

// sendCampaigns sends how many campaigns are open.
func (x sender) sendCampaigns(v *hub.View) {
	type sort struct {
		how   campaign.How
		level string
	}
	open := map[sort]int{}
	for i := range v.Open {
		open[sort{v.Open[i].How, v.Open[i].Level}]++
	}
	for _, how := range hows {
		for l := flood.Info; l <= flood.Alert; l++ {
			x.send(descCampaigns, prometheus.GaugeValue, float64(open[sort{how, l.String()}]), string(how), l.String())
		}
	}
}

// limit: sensorSeries is how many sensors have metrics of their own, the first by name; the sums have all.
// Chosen: four series each.
const sensorSeries = 1000
