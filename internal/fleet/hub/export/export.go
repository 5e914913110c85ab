// Package export writes what is in the streams of a fleet as rows, JSON lines or Parquet: sketches as the
// counts that they estimate, features by their names, networks opened where the secret is at hand.
// It reads as anybody may who has the right to, beside a hub and without one.
package export

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/netip"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/parquet-go/parquet-go"

	"qsniff/internal/fleet"
	"qsniff/internal/fleet/campaign"
	"qsniff/internal/fleet/hub"
	"qsniff/internal/flood/measure"
)

// KindCampaign is the kind of what hubs publish about campaigns, besides fleet.Kinds.
const KindCampaign fleet.Kind = "campaign"

// Kinds lists what can be exported.
func Kinds() []string {
	all := []string{string(KindCampaign)}
	for _, k := range fleet.Kinds {
		all = append(all, string(k))
	}
	slices.Sort(all)
	return all
}

// Forms are the forms of output.
var Forms = []string{"jsonl", "parquet"}

// Options are what is exported.
type Options struct {
	Prefix string
	Kind   fleet.Kind
	Form   string
	// Since and Until bound when the broker got it; zero: no bound.
	Since, Until time.Time
	Secret       *fleet.Secret // opens networks; nil: they stay sealed
}

// Counts are what a run came to.
type Counts struct{ Rows, Refused uint64 }

// rowsAtOnce is how many rows of Parquet are together. Chosen: 50 MB of servers before they are packed.
const rowsAtOnce = 50_000

// Write writes the messages of a kind to w, in the order in which the broker got them, up to the last
// that is there when it begins.
func Write(ctx context.Context, js jetstream.JetStream, w io.Writer, o Options) (Counts, error) {
	x := &run{options: o, mk: maker{o.Secret}}
	switch o.Kind {
	case fleet.KindServer:
		return write(ctx, js, w, x, ofMessage(x, x.mk.server))
	case fleet.KindHost:
		return write(ctx, js, w, x, ofMessage(x, x.mk.host))
	case fleet.KindIncident:
		return write(ctx, js, w, x, ofMessage(x, x.mk.incident))
	case fleet.KindFinding:
		return write(ctx, js, w, x, ofMessage(x, x.mk.finding))
	case fleet.KindInventory:
		return write(ctx, js, w, x, ofMessage(x, x.mk.inventory))
	case KindCampaign:
		return write(ctx, js, w, x, func(m jetstream.Msg, at int64) (CampaignRow, error) {
			c := new(campaign.Campaign)
			err := json.Unmarshal(m.Data(), c)
			return x.mk.campaign(c, at), err
		})
	}
	return Counts{}, fmt.Errorf("%q is no kind of message", o.Kind)
}

// run is one call of Write.
type run struct {
	options Options
	mk      maker
	counts  Counts
}

// ofMessage returns what makes a row of a sensor's message.
func ofMessage[M fleet.Message, R any](x *run, row func(M, int64) R) func(jetstream.Msg, int64) (R, error) {
	return func(m jetstream.Msg, at int64) (r R, err error) {
		sensor, kind, err := fleet.ParseSubject(x.options.Prefix, m.Subject())
		if err != nil {
			return r, err
		}
		parsed, err := fleet.Parse(sensor, kind, m.Data())
		if err != nil {
			return r, err
		}
		return row(parsed.(M), at), nil
	}
}

// write writes all rows in a form.
func write[R any](ctx context.Context, js jetstream.JetStream, w io.Writer, x *run, row func(jetstream.Msg, int64) (R, error)) (Counts, error) {
	if x.options.Form == "parquet" {
		p := parquet.NewGenericWriter[R](w, parquet.Compression(&parquet.Zstd), parquet.MaxRowsPerRowGroup(rowsAtOnce))
		err := x.read(ctx, js, func(m jetstream.Msg, at int64) error {
			r, err := row(m, at)
			if err != nil {
				x.counts.Refused++
				return nil
			}
			x.counts.Rows++
			_, err = p.Write([]R{r})
			return err
		})
		if err != nil {
			return x.counts, err
		}
		return x.counts, p.Close()
	}
	lines := json.NewEncoder(w)
	lines.SetEscapeHTML(false)
	return x.counts, x.read(ctx, js, func(m jetstream.Msg, at int64) error {
		r, err := row(m, at)
		if err != nil {
			x.counts.Refused++
			return nil
		}
		x.counts.Rows++
		return lines.Encode(r)
	})
}

// requestTime is how long the broker may take to answer, messageWait how long a message may take that
// it lists.
const (
	requestTime = 5 * time.Second
	messageWait = 10 * time.Second
)

// read passes on the messages, with the broker's time.
func (x *run) read(ctx context.Context, js jetstream.JetStream, pass func(jetstream.Msg, int64) error) error {
	names := hub.NamesOf(x.options.Prefix)
	name, subject := names.StreamOf(x.options.Kind), fleet.Subject(x.options.Prefix, "*", x.options.Kind)
	if x.options.Kind == KindCampaign {
		name, subject = names.Campaigns, fleet.Subject(x.options.Prefix, fleet.HubName, KindCampaign)
	}
	asking, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	stream, err := js.Stream(asking, name)
	if err != nil {
		return fmt.Errorf("the stream %s: %w", name, err)
	}
	config := jetstream.OrderedConsumerConfig{FilterSubjects: []string{subject}, DeliverPolicy: jetstream.DeliverAllPolicy}
	if !x.options.Since.IsZero() {
		config.DeliverPolicy, config.OptStartTime = jetstream.DeliverByStartTimePolicy, &x.options.Since
	}
	c, err := stream.OrderedConsumer(asking, config)
	if err != nil {
		return err
	}
	info, err := c.Info(asking)
	if err != nil || info.NumPending == 0 {
		return err
	}
	it, err := c.Messages()
	if err != nil {
		return err
	}
	defer it.Stop()
	last := stream.CachedInfo().State.LastSeq
	for {
		m, err := next(ctx, it)
		if err != nil {
			return fmt.Errorf("reading %s: %w", name, err)
		}
		meta, err := m.Metadata()
		if err != nil {
			return err
		}
		isAfter := meta.Sequence.Stream > last || !x.options.Until.IsZero() && !meta.Timestamp.Before(x.options.Until)
		if isAfter {
			return nil
		}
		if err := pass(m, meta.Timestamp.UnixNano()); err != nil {
			return err
		}
		if meta.NumPending == 0 || meta.Sequence.Stream == last {
			return nil
		}
	}
}

func next(ctx context.Context, it jetstream.MessagesContext) (jetstream.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, messageWait)
	defer cancel()
	return it.Next(jetstream.NextContext(ctx))
}

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
