package web

import (
	"encoding/json"
	"net/http"
	"time"

	"qsniff/internal/fleet/campaign"
	"qsniff/internal/fleet/hub"
)

// answer writes an object. A reader that is gone does not want it.
func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

// about is what both documents begin with.
type about struct {
	Schema int        `json:"schema"`
	Hub    string     `json:"hub"`
	Leader string     `json:"leader"`
	Leads  bool       `json:"leads"`
	At     *time.Time `json:"at"` // up to which messages were read
}

func aboutOf(v *hub.View) about {
	a := about{Schema: 1, Hub: v.ID, Leader: v.Leader.ID, Leads: v.Leads}
	if v.At != 0 {
		at := time.Unix(0, v.At).UTC()
		a.At = &at
	}
	return a
}

// Campaigns answers /campaigns.json: those that go on, and the last ones that are over.
func (p *Pages) Campaigns(w http.ResponseWriter, _ *http.Request) {
	v := p.view()
	answer(w, struct {
		about
		Open   []hub.Shown `json:"open"`
		Closed []hub.Shown `json:"closed"`
	}{aboutOf(v), v.Open, v.Closed})
}

// Sensors answers /sensors.json: all sensors, and what was refused.
func (p *Pages) Sensors(w http.ResponseWriter, _ *http.Request) {
	v := p.view()
	answer(w, struct {
		about
		Counters campaign.Counters `json:"counters"`
		Totals   hub.Totals        `json:"totals"`
		Refused  []hub.Refused     `json:"refused"`
		Sensors  []campaign.Sensor `json:"sensors"`
	}{aboutOf(v), v.Counters, v.Totals, v.Refused, v.Sensors})
}
