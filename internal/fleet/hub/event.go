package hub

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"qsniff/internal/base/digits"
	"qsniff/internal/base/display"
	"qsniff/internal/fleet"
	"qsniff/internal/fleet/campaign"
	"qsniff/internal/flood"
	"qsniff/internal/monitor/notify"
)

// keyMarks begins the keys of marks: the hub that makes the mark of an event reports it.
const keyMarks = "told."

// tell publishes the events that are pending, and passes their Notes on to the messenger. The events are in
// the state already: if this hub dies in between, the next one goes on.
func (x *leader) tell(ctx context.Context) error {
	for i := range x.state.Pending {
		e := &x.state.Pending[i]
		if !e.IsPublished {
			if err := x.publish(ctx, e); err != nil {
				return err
			}
		}
		if e.wanted == nil {
			if err := x.passOn(ctx, e); err != nil {
				return err
			}
		}
	}
	x.settle()
	return nil
}

// publish puts an event into the stream, right after the last message that is known there. If there
// are others, one of them may be this one.
func (x *leader) publish(ctx context.Context, e *event) error {
	for {
		ack, err := x.js.PublishMsg(ctx, &nats.Msg{Subject: subjectOf(x.opt.Prefix, e.Kind), Data: e.Data},
			jetstream.WithMsgID(e.ID), jetstream.WithExpectLastSequence(x.state.Campaigns))
		if err == nil {
			x.state.Campaigns = max(x.state.Campaigns, ack.Sequence)
			e.IsPublished = true
			return nil
		}
		var api *jetstream.APIError
		if !errors.As(err, &api) || api.ErrorCode != jetstream.JSErrCodeStreamWrongLastSequence && api.ErrorCode != jetstream.JSErrCodeStreamWrongLastSequenceConstant {
			return fmt.Errorf("publishing an event: %w", err)
		}
		before := x.state.Campaigns
		if err := x.readPublished(ctx); err != nil {
			return err
		}
		if e.IsPublished {
			return nil
		}
		if x.state.Campaigns == before {
			return fmt.Errorf("publishing an event: %w", err)
		}
	}
}

// readPublished reads the events that were published since the last that is known, and notes which of
// the pending ones are among them.
func (x *leader) readPublished(ctx context.Context) error {
	r := &reader{stream: x.campaigns, next: x.state.Campaigns + 1}
	defer r.close()
	if _, err := r.look(ctx); err != nil {
		return err
	}
	for {
		m, err := r.peek(ctx)
		if err != nil {
			return err
		}
		if m == nil {
			x.state.Campaigns = r.next - 1
			return nil
		}
		for i := range x.state.Pending {
			if e := &x.state.Pending[i]; e.ID == m.id {
				e.IsPublished = true
			}
		}
		r.take()
	}
}

// passOn marks an event, and passes its Note on. An event that another hub has marked is uncertain: that hub
// ended before it was known to be delivered.
func (x *leader) passOn(ctx context.Context, e *event) error {
	e.wanted = map[string]uint64{}
	if x.opt.Messenger == nil {
		return nil
	}
	key := keyMarks + base64.RawURLEncoding.EncodeToString([]byte(e.ID))
	_, err := x.bucket.Create(ctx, key, []byte(x.id), jetstream.KeyTTL(markTime))
	switch {
	case errors.Is(err, jetstream.ErrKeyExists):
		if by, err := x.bucket.Get(ctx, key); err == nil && string(by.Value()) == x.id {
			return nil // by this hub, when it led before
		}
		x.state.Totals.Uncertain++
		x.dirty = true
		x.opt.Log.Warn("another hub ended while it told of an event, which may have been told or not", "event", e.ID)
		return nil
	case err != nil:
		e.wanted = nil
		return fmt.Errorf("marking an event: %w", err)
	}
	n, err := x.noteOf(e)
	if err != nil {
		return err
	}
	x.state.Totals.Told++
	e.wanted = x.told.put(x.opt.Messenger, n)
	return nil
}

// settle removes the events whose Notes are delivered, and the oldest beyond mostPending.
func (x *leader) settle() {
	before := len(x.state.Pending)
	var counted map[string]uint64
	if x.opt.Messenger != nil && before > 0 {
		counted = countsOf(x.opt.Messenger)
	}
	x.state.Pending = slices.DeleteFunc(x.state.Pending, func(e event) bool {
		return e.IsPublished && e.wanted != nil && isDelivered(e.wanted, counted)
	})
	for len(x.state.Pending) > mostPending && x.state.Pending[0].wanted != nil {
		x.state.Pending = slices.Delete(x.state.Pending, 0, 1)
		x.state.Totals.LetGo++
	}
	x.dirty = x.dirty || len(x.state.Pending) != before
}

// deliveries follow what sinks count.
type deliveries struct {
	expected map[string]uint64 // by the name of the sink: with all notes that were put
}

// countsOf returns how many notes each sink has done with, whatever became of them.
func countsOf(m Messenger) map[string]uint64 {
	_, sinks := m.Counts()
	done := map[string]uint64{}
	for i := range sinks {
		s := &sinks[i]
		done[s.Name] = s.Sent + s.Refused + s.Lost + s.Folded
	}
	return done
}

// put passes a note on, and returns what the sinks must have counted until all are done with it.
func (d *deliveries) put(m Messenger, n *notify.Note) map[string]uint64 {
	if d.expected == nil {
		d.expected = map[string]uint64{}
	}
	wanted := map[string]uint64{}
	for name, now := range countsOf(m) {
		d.expected[name] = max(d.expected[name], now) + 1
		wanted[name] = d.expected[name]
	}
	m.Put(n)
	return wanted
}

// isDelivered reports whether all sinks that are still there have counted so much.
func isDelivered(wanted, counted map[string]uint64) bool {
	for name, n := range wanted {
		if now, isThere := counted[name]; isThere && now < n {
			return false
		}
	}
	return true
}

// The kinds of events: the last words of the subjects under which hubs publish.
const (
	eventCampaign = "campaign"
	eventSensor   = "sensor" // one fell silent, or speaks again
)

// event is what a hub publishes, and makes a Note of.
type event struct {
	ID   string          `json:"id"` // that of the message
	Kind string          `json:"kind"`
	Data json.RawMessage `json:"data"` // with sealed networks, as it is published
	// IsPublished is set once it is known to be in the stream.
	IsPublished bool `json:"published,omitempty"`
	// wanted is what the sinks must have counted until it was delivered; nil: it is not passed on yet.
	wanted map[string]uint64
}

// addCampaign is called by the engine.
func (x *leader) addCampaign(c *campaign.Campaign) {
	x.add(eventCampaign, c.ID+"/"+strconv.FormatUint(c.Number, 10), struct {
		Kind string `json:"kind"`
		*campaign.Campaign
	}{eventCampaign, c})
}

// addSensor is called by the engine.
func (x *leader) addSensor(s *campaign.Sensor) {
	x.add(eventSensor, s.Name+"/"+s.Run+"/"+strconv.FormatUint(s.Number, 10), struct {
		Kind string `json:"kind"`
		*campaign.Sensor
	}{eventSensor, s})
}

// add appends an event to those that wait until their Notes are delivered.
func (x *leader) add(kind, id string, v any) {
	data, err := json.Marshal(v)
	if err != nil { // a figure that is none
		x.opt.Log.Error("an event cannot be encoded", "event", id, "why", err)
		return
	}
	x.state.Totals.Events++
	x.state.Pending = append(x.state.Pending, event{ID: kind + "/" + id, Kind: kind, Data: data})
	x.dirty = true
}

// Shown is a campaign as people and programs beyond the broker get it: with the networks, which are
// sealed on their way.
type Shown struct {
	*campaign.Campaign
	Top []ShownNetwork `json:"top_networks"`
}

// ShownNetwork is a network that was opened with the secret.
type ShownNetwork struct {
	Prefix  string `json:"prefix"` // empty: sealed with another secret
	Queries uint32 `json:"queries"`
}

// Show opens the networks of a campaign.
func Show(s *fleet.Secret, c *campaign.Campaign) Shown {
	return Shown{c, ShowNetworks(s, c.Top)}
}

// ShowNetworks opens networks.
func ShowNetworks(s *fleet.Secret, list []fleet.Network) []ShownNetwork {
	all := make([]ShownNetwork, len(list))
	for i, n := range list {
		all[i].Queries = n.Queries
		if p := s.OpenNetwork(n.Prefix); p.IsValid() {
			all[i].Prefix = p.String()
		}
	}
	return all
}

// line is a note as programs get it.
type line struct {
	Schema int          `json:"schema"`
	Record string       `json:"record"`
	Event  notify.Event `json:"event"`
	Thread string       `json:"thread"`
	Body   any          `json:"body"`
}

// noteOf makes a note of an event.
func (x *leader) noteOf(e *event) (*notify.Note, error) {
	n, body := &notify.Note{}, any(nil)
	if e.Kind == eventSensor {
		s := new(campaign.Sensor)
		if err := json.Unmarshal(e.Data, s); err != nil {
			return nil, err
		}
		body = s
		describeSensor(n, s)
	} else {
		c := new(campaign.Campaign)
		if err := json.Unmarshal(e.Data, c); err != nil {
			return nil, err
		}
		shown := Show(x.opt.Secret, c)
		body = shown
		describeCampaign(n, &shown)
	}
	var err error
	n.Line, err = json.Marshal(line{1, n.Record, n.Event, n.Thread, body})
	return n, err
}

// describeSensor fills the note of a sensor that fell silent, or speaks again.
func describeSensor(n *notify.Note, s *campaign.Sensor) {
	n.Record, n.Kind, n.Level = eventSensor, "sensor_silent", flood.Warn.String()
	n.Thread = "sensor-" + s.Name + "-" + s.Run
	n.Event, n.Target, n.Nanos = notify.Begins, s.Name, s.Heard
	n.Text = fmt.Sprintf("no word of the sensor %s since %s UTC: of its host's servers nothing is known", s.Name, clockTime(s.LastHost))
	n.Advice = "Look whether qsniff monitor runs there, and reaches the broker: its metrics and its log say what waits."
	if !s.Silent {
		n.Event, n.Text = notify.Ends, fmt.Sprintf("the sensor %s speaks again", s.Name)
	}
	n.Facts = []notify.Fact{{Name: "servers", Value: digits.Grouped(int64(s.Servers))}, {Name: "lost", Value: digits.Grouped(int64(s.Lost))}}
}

// howWords are the words for what joins the members of a campaign.
var howWords = map[campaign.How]string{
	campaign.Carpet:      "spread over servers that each get little",
	campaign.SameSources: "from the same sources",
	campaign.Walk:        "one host after the other",
	campaign.Reflectors:  "by the same reflectors",
	campaign.SameShape:   "in the same shape at the same time",
}

// HowWords returns in words what joins the members.
func HowWords(h campaign.How) string { return howWords[h] }

// describeCampaign fills the note of a campaign.
func describeCampaign(n *notify.Note, c *Shown) {
	n.Record, n.Kind, n.Level = eventCampaign, visible(c.Category), visible(c.Level)
	n.Thread, n.Event, n.Nanos = "campaign-"+c.ID, notify.Event(c.Event), c.Detected
	n.Target = digits.Counted(uint64(c.Sensors), "host")
	what := strings.ReplaceAll(visible(c.Category), "_", " ")
	n.Text = fmt.Sprintf("%s at %s of %s, %s: %s/s at most, %s/s are usual", what, digits.Counted(uint64(c.Servers), "server"),
		digits.Counted(uint64(c.Sensors), "host"), howWords[c.How], digits.Short(c.Peak), digits.Short(c.Baseline))
	for _, e := range c.Evidence {
		n.Text += "; " + visible(e)
	}
	n.Text = notify.Cut(n.Text, mostText)
	n.Advice = visible(c.Advice)
	until := c.Detected
	if c.End != 0 {
		until = c.End
	}
	n.Facts = []notify.Fact{
		{Name: "peak", Value: digits.Short(c.Peak) + "/s"},
		{Name: "count", Value: digits.Counted(c.Requests, "packet")},
		{Name: "lasted", Value: digits.Span(time.Duration(max(0, until-c.Start)).Round(time.Second))},
		{Name: "confidence", Value: flood.ConfidenceWord(c.Confidence)},
	}
	if c.Sources > 0 {
		n.Facts = append(n.Facts, notify.Fact{Name: "sources", Value: digits.Grouped(int64(c.Sources + 0.5))})
	}
	if len(c.Top) > 0 && c.Top[0].Prefix != "" {
		n.Facts = append(n.Facts, notify.Fact{Name: "busiest network", Value: c.Top[0].Prefix})
	}
}

// visible returns text without control characters.
func visible(s string) string { return string(display.AppendVisible(nil, []byte(s))) }

// clockTime returns a time of day.
func clockTime(nanos int64) string { return time.Unix(0, nanos).UTC().Format(time.TimeOnly) }
