package export

import (
	"math"
	"net/netip"
	"time"

	"qsniff/internal/fleet"
	"qsniff/internal/fleet/campaign"
	"qsniff/internal/flood/measure"
)

// Head begins all rows of sensors' messages.
type Head struct {
	Time   time.Time `json:"time" parquet:"time,timestamp(nanosecond)"`     // by the packets
	Broker time.Time `json:"broker" parquet:"broker,timestamp(nanosecond)"` // when the broker got it
	Sensor string    `json:"sensor" parquet:"sensor,dict"`
	Run    string    `json:"run" parquet:"run,dict"`
	Seq    uint64    `json:"seq" parquet:"seq"`
}

// ServerRow is a fleet.Server.
type ServerRow struct {
	Head
	Server     string             `json:"server" parquet:"server,dict"`
	PacketsIn  uint64             `json:"packets_in" parquet:"packets_in"`
	BytesIn    uint64             `json:"bytes_in" parquet:"bytes_in"`
	PacketsOut uint64             `json:"packets_out" parquet:"packets_out"`
	BytesOut   uint64             `json:"bytes_out" parquet:"bytes_out"`
	Junk       uint64             `json:"junk" parquet:"junk"`
	Unasked    uint64             `json:"unasked" parquet:"unasked"`
	Unproven   uint64             `json:"unproven_bytes" parquet:"unproven_bytes"`
	Asked      []AskedRow         `json:"messages" parquet:"messages,list"`
	Times      []uint64           `json:"times" parquet:"times,list"`
	TimesSum   float64            `json:"times_seconds" parquet:"times_seconds"`
	IsMeasured bool               `json:"measured" parquet:"measured"`
	Features   map[string]float64 `json:"features" parquet:"features"` // without those that are unknown
	Sources    float64            `json:"source_count" parquet:"source_count"`
	Sites      float64            `json:"site_count" parquet:"site_count"`
	Top        []NetworkRow       `json:"top_networks" parquet:"top_networks,list"`
	Forms      []FormRow          `json:"forms" parquet:"forms,list"`
}

// AskedRow is a fleet.Asked.
type AskedRow struct {
	Protocol string            `json:"protocol" parquet:"protocol,dict"`
	Message  string            `json:"message" parquet:"message,dict"`
	Count    uint64            `json:"count" parquet:"count"`
	Outcomes map[string]uint64 `json:"outcomes" parquet:"outcomes"`
}

// NetworkRow is a fleet.Network. Prefix is empty without the secret.
type NetworkRow struct {
	Prefix  string `json:"prefix" parquet:"prefix,dict"`
	Sealed  string `json:"sealed" parquet:"sealed,dict"`
	Queries uint32 `json:"queries" parquet:"queries"`
}

// FormRow is a fleet.Form.
type FormRow struct {
	Protocol string `json:"protocol" parquet:"protocol,dict"`
	Message  string `json:"message" parquet:"message,dict"`
	HasKey   bool   `json:"challenge" parquet:"challenge"`
	Min      uint32 `json:"min" parquet:"min"`
	Max      uint32 `json:"max" parquet:"max"`
	Packets  uint64 `json:"packets" parquet:"packets"`
}

// HostRow is a fleet.Host.
type HostRow struct {
	Head
	Program    string    `json:"program" parquet:"program,dict"`
	Input      string    `json:"input" parquet:"input,dict"`
	Started    time.Time `json:"started" parquet:"started,timestamp(nanosecond)"`
	Servers    int64     `json:"servers" parquet:"servers"`
	Unlisted   int64     `json:"servers_unlisted" parquet:"servers_unlisted"`
	Packets    uint64    `json:"packets" parquet:"packets"`
	Dropped    uint64    `json:"dropped" parquet:"dropped"`
	Open       int64     `json:"incidents_open" parquet:"incidents_open"`
	Unsent     uint64    `json:"unsent" parquet:"unsent"`
	PacketsIn  uint64    `json:"others_packets_in" parquet:"others_packets_in"`
	BytesIn    uint64    `json:"others_bytes_in" parquet:"others_bytes_in"`
	PacketsOut uint64    `json:"others_packets_out" parquet:"others_packets_out"`
	BytesOut   uint64    `json:"others_bytes_out" parquet:"others_bytes_out"`
	Junk       uint64    `json:"others_junk" parquet:"others_junk"`
}

// IncidentRow is a fleet.Incident.
type IncidentRow struct {
	Head
	ID         uint64       `json:"incident" parquet:"incident"`
	Event      string       `json:"event" parquet:"event,dict"`
	Category   string       `json:"category" parquet:"category,dict"`
	Level      string       `json:"level" parquet:"level,dict"`
	Protocol   string       `json:"protocol" parquet:"protocol,dict"`
	Target     string       `json:"target" parquet:"target,dict"`
	Source     string       `json:"source" parquet:"source,dict"` // the target where that is a client: empty without the secret
	Servers    int64        `json:"servers" parquet:"servers"`
	Targets    []string     `json:"targets" parquet:"targets,list"`
	Start      time.Time    `json:"start" parquet:"start,timestamp(nanosecond)"`
	Detected   time.Time    `json:"detected" parquet:"detected,timestamp(nanosecond)"`
	End        *time.Time   `json:"end" parquet:"end,optional,timestamp(nanosecond)"`
	Peak       float64      `json:"peak" parquet:"peak"`
	Mean       float64      `json:"mean" parquet:"mean"`
	Baseline   float64      `json:"baseline" parquet:"baseline"`
	Requests   uint64       `json:"requests" parquet:"requests"`
	Replies    uint64       `json:"replies" parquet:"replies"`
	BytesIn    uint64       `json:"bytes_in" parquet:"bytes_in"`
	BytesOut   uint64       `json:"bytes_out" parquet:"bytes_out"`
	Confidence float64      `json:"confidence" parquet:"confidence"`
	Sources    float64      `json:"source_count" parquet:"source_count"`
	Top        []NetworkRow `json:"top_sources" parquet:"top_sources,list"`
	Networks   []NetworkRow `json:"top_networks" parquet:"top_networks,list"`
	Forms      []FormRow    `json:"forms" parquet:"forms,list"`
	Line       string       `json:"line" parquet:"line"` // as floods -o json prints it, where the sensor was asked for it
}

// FindingRow is a fleet.Finding.
type FindingRow struct {
	Head
	Code     string `json:"id" parquet:"id,dict"`
	Severity string `json:"severity" parquet:"severity,dict"`
	Server   string `json:"server" parquet:"server,dict"`
	Count    uint64 `json:"count" parquet:"count"`
}

// InventoryRow is a fleet.Inventory. Texts are from the network.
type InventoryRow struct {
	Head
	Server     string `json:"server" parquet:"server,dict"`
	Protocol   string `json:"protocol" parquet:"protocol,dict"`
	Name       string `json:"name" parquet:"name"`
	Map        string `json:"map" parquet:"map"`
	Game       string `json:"game" parquet:"game"`
	Build      string `json:"version" parquet:"version"`
	Players    int64  `json:"players" parquet:"players"`
	MaxPlayers int64  `json:"max_players" parquet:"max_players"`
	Bots       int64  `json:"bots" parquet:"bots"`
}

// CampaignRow is an event of a campaign.Campaign.
type CampaignRow struct {
	Broker      time.Time    `json:"broker" parquet:"broker,timestamp(nanosecond)"`
	ID          string       `json:"campaign" parquet:"campaign,dict"`
	Number      uint64       `json:"event_number" parquet:"event_number"`
	Event       string       `json:"event" parquet:"event,dict"`
	How         string       `json:"how" parquet:"how,dict"`
	Category    string       `json:"category" parquet:"category,dict"`
	Level       string       `json:"level" parquet:"level,dict"`
	Protocol    string       `json:"protocol" parquet:"protocol,dict"`
	Start       time.Time    `json:"start" parquet:"start,timestamp(nanosecond)"`
	Detected    time.Time    `json:"detected" parquet:"detected,timestamp(nanosecond)"`
	End         *time.Time   `json:"end" parquet:"end,optional,timestamp(nanosecond)"`
	Sensors     int64        `json:"sensors" parquet:"sensors"`
	Servers     int64        `json:"servers" parquet:"servers"`
	Members     []MemberRow  `json:"members" parquet:"members,list"`
	Peak        float64      `json:"peak" parquet:"peak"`
	Baseline    float64      `json:"baseline" parquet:"baseline"`
	Requests    uint64       `json:"requests" parquet:"requests"`
	Sources     float64      `json:"source_count" parquet:"source_count"`
	SourceError float64      `json:"source_count_error" parquet:"source_count_error"`
	Confidence  float64      `json:"confidence" parquet:"confidence"`
	Top         []NetworkRow `json:"top_networks" parquet:"top_networks,list"`
	TopOf       uint64       `json:"top_networks_of" parquet:"top_networks_of"`
	Evidence    []string     `json:"evidence" parquet:"evidence,list"`
	Advice      string       `json:"advice" parquet:"advice"`
}

// MemberRow is a campaign.Member.
type MemberRow struct {
	Sensor   string     `json:"sensor" parquet:"sensor,dict"`
	Server   string     `json:"server" parquet:"server,dict"`
	Target   string     `json:"target" parquet:"target,dict"`
	Run      string     `json:"run" parquet:"run,dict"`
	Incident uint64     `json:"incident" parquet:"incident"`
	Start    time.Time  `json:"start" parquet:"start,timestamp(nanosecond)"`
	End      *time.Time `json:"end" parquet:"end,optional,timestamp(nanosecond)"`
	Peak     float64    `json:"peak" parquet:"peak"`
	Requests uint64     `json:"requests" parquet:"requests"`
}

// maker makes rows. Its secret opens networks; nil: they stay sealed.
type maker struct{ secret *fleet.Secret }

func (mk maker) head(h *fleet.Head, broker int64) Head {
	return Head{moment(h.Time), moment(broker), h.Sensor, h.Run, h.Seq}
}

func (mk maker) server(m *fleet.Server, broker int64) ServerRow {
	r := ServerRow{Head: mk.head(&m.Head, broker), Server: m.Addr.String(), PacketsIn: m.PacketsIn, BytesIn: m.BytesIn, PacketsOut: m.PacketsOut,
		BytesOut: m.BytesOut, Junk: m.Junk, Unasked: m.Unasked, Unproven: m.Unproven, Asked: []AskedRow{}, Times: append([]uint64{}, m.Times...),
		TimesSum: float64(m.TimesNanos) / 1e9, IsMeasured: m.IsMeasured, Features: map[string]float64{}, Top: mk.networks(m.Top), Forms: forms(m.Forms)}
	for _, a := range m.Asked {
		outcomes := a.Outcomes
		if outcomes == nil {
			outcomes = map[string]uint64{}
		}
		r.Asked = append(r.Asked, AskedRow{a.Protocol, a.Message, a.Count, outcomes})
	}
	if m.IsMeasured {
		r.Sources, r.Sites = m.Measured.Sources.Count(), m.Measured.Sites.Count()
		for f := range measure.NumFeatures {
			if v := m.Features[f]; !math.IsNaN(v) && !math.IsInf(v, 0) {
				r.Features[f.Name()] = v
			}
		}
	}
	return r
}

func (mk maker) host(m *fleet.Host, broker int64) HostRow {
	o := &m.Others
	return HostRow{mk.head(&m.Head, broker), m.Program, m.Input, moment(m.Started), int64(m.Servers), int64(m.Unlisted), m.Packets, m.Dropped, int64(m.Open), m.Unsent,
		o.PacketsIn, o.BytesIn, o.PacketsOut, o.BytesOut, o.Junk}
}

func (mk maker) incident(m *fleet.Incident, broker int64) IncidentRow {
	r := IncidentRow{Head: mk.head(&m.Head, broker), ID: m.ID, Event: m.Event, Category: m.Category, Level: m.Level, Protocol: m.Protocol, Target: m.Target,
		Servers: int64(m.Servers), Targets: []string{}, Start: moment(m.Start), Detected: moment(m.Detected), End: momentOrNone(m.End), Peak: m.Peak, Mean: m.Mean,
		Baseline: m.Baseline, Requests: m.Requests, Replies: m.Replies, BytesIn: m.BytesIn, BytesOut: m.BytesOut, Confidence: m.Confidence,
		Sources: m.Distinct, Top: mk.hosts(m.Top), Networks: mk.networks(m.Networks), Forms: forms(m.Forms), Line: string(m.Line)}
	if mk.secret != nil && !m.Source.IsZero() {
		r.Source = mk.secret.OpenHost(m.Source).String()
	}
	for _, t := range m.Targets {
		r.Targets = append(r.Targets, t.String())
	}
	return r
}

func (mk maker) finding(m *fleet.Finding, broker int64) FindingRow {
	return FindingRow{mk.head(&m.Head, broker), m.Code, m.Severity, end(m.Addr), m.Count}
}

func (mk maker) inventory(m *fleet.Inventory, broker int64) InventoryRow {
	return InventoryRow{mk.head(&m.Head, broker), m.Addr.String(), m.Protocol, m.Name, m.Map, m.Game, m.Build, int64(m.Players), int64(m.MaxPlayers), int64(m.Bots)}
}

func (mk maker) campaign(c *campaign.Campaign, broker int64) CampaignRow {
	r := CampaignRow{Broker: moment(broker), ID: c.ID, Number: c.Number, Event: c.Event, How: string(c.How), Category: c.Category, Level: c.Level, Protocol: c.Protocol,
		Start: moment(c.Start), Detected: moment(c.Detected), End: momentOrNone(c.End), Sensors: int64(c.Sensors), Servers: int64(c.Servers), Members: []MemberRow{},
		Peak: c.Peak, Baseline: c.Baseline, Requests: c.Requests, Sources: c.Sources, SourceError: c.SourcesError, Confidence: c.Confidence,
		Top: mk.networks(c.Top), TopOf: c.TopOf, Evidence: append([]string{}, c.Evidence...), Advice: c.Advice}
	for i := range c.Members {
		m := &c.Members[i]
		r.Members = append(r.Members, MemberRow{m.Sensor, end(m.Server), m.Target, m.Run, m.Incident, moment(m.Start), momentOrNone(m.End), m.Peak, m.Requests})
	}
	return r
}

func (mk maker) networks(list []fleet.Network) []NetworkRow {
	return mk.open(list, func(x fleet.Sealed) string {
		if p := mk.secret.OpenNetwork(x); p.IsValid() {
			return p.String()
		}
		return ""
	})
}

func (mk maker) hosts(list []fleet.Network) []NetworkRow {
	return mk.open(list, func(x fleet.Sealed) string { return mk.secret.OpenHost(x).String() })
}

func (mk maker) open(list []fleet.Network, open func(fleet.Sealed) string) []NetworkRow {
	all := make([]NetworkRow, len(list))
	for i, n := range list {
		all[i] = NetworkRow{Sealed: n.Prefix.String(), Queries: n.Queries}
		if mk.secret != nil {
			all[i].Prefix = open(n.Prefix)
		}
	}
	return all
}

func forms(list []fleet.Form) []FormRow {
	all := make([]FormRow, len(list))
	for i, f := range list {
		all[i] = FormRow(f)
	}
	return all
}

// end returns the text of an address, empty for none.
func end(a netip.AddrPort) string {
	if !a.IsValid() {
		return ""
	}
	return a.String()
}

func moment(nanos int64) time.Time { return time.Unix(0, nanos).UTC() }

func momentOrNone(nanos int64) *time.Time {
	if nanos == 0 {
		return nil
	}
	t := moment(nanos)
	return &t
}
