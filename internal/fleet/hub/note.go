package hub

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"qsniff/internal/base/digits"
	"qsniff/internal/base/display"
	"qsniff/internal/fleet"
	"qsniff/internal/fleet/campaign"
	"qsniff/internal/flood"
	"qsniff/internal/monitor/notify"
)

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
