// Package web shows what a hub has: a page for people, which loads nothing and runs nothing in their
// browsers, the same as JSON, and metrics. It changes nothing.
package web

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"qsniff/internal/base/digits"
	"qsniff/internal/fleet/campaign"
	"qsniff/internal/fleet/hub"
	"qsniff/internal/flood"
	"qsniff/internal/monitor/serve"
)

// policy lets the page load its own style, and nothing else.
const policy = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

//go:embed page.html
var pageText string

//go:embed hub.css
var style []byte

// Pages answers requests for what a hub shows.
type Pages struct {
	view    func() *hub.View
	version string
	page    *template.Template
}

// New returns the pages of a hub.
func New(view func() *hub.View, version string) (*Pages, error) {
	t, err := template.New("page").Funcs(template.FuncMap{
		"short": digits.Short, "grouped": func(n any) string { return grouped(n) }, "bytes": func(n uint64) string { return digits.Bytes(float64(n)) },
		"clock": clock, "iso": iso, "span": span, "how": hub.HowWords, "signed": signed, "plainKind": plainKind, "rate": rate,
		"percent": func(f float64) string { return strconv.Itoa(int(100*f+0.5)) + " %" },
	}).Parse(pageText)
	if err != nil {
		return nil, err
	}
	return &Pages{view: view, version: version, page: t}, nil
}

// Register adds the pages to a server.
func (p *Pages) Register(s *serve.Server) error {
	css, err := serve.Page("/hub.css", "text/css; charset=utf-8", policy, style)
	if err != nil {
		return err
	}
	s.Handle("/hub.css", css)
	s.Handle("/campaigns.json", http.HandlerFunc(p.Campaigns))
	s.Handle("/sensors.json", http.HandlerFunc(p.Sensors))
	s.Handle("/{$}", http.HandlerFunc(p.Page))
	return nil
}

// row is a sensor on the page.
type row struct {
	*campaign.Sensor
	State, Class string
}

// shown is what the page is made of.
type shown struct {
	*hub.View
	Version string
	Word    string // the answer in one line
	IsCalm  bool
	Open    []hub.Shown
	Closed  []hub.Shown
	Rows    []row
	Left    int // sensors that are not listed
	Last    campaign.Totals
}

// Page answers /.
func (p *Pages) Page(w http.ResponseWriter, _ *http.Request) {
	var b bytes.Buffer
	if err := p.page.Execute(&b, p.shownOf(p.view())); err != nil {
		http.Error(w, "the page cannot be made", http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Frame-Options", "DENY")
	_, _ = w.Write(b.Bytes()) // who does not read it does not want it
}

func (p *Pages) shownOf(v *hub.View) *shown {
	s := &shown{View: v, Version: p.version, Last: v.Last()}
	s.Open, s.Closed = cut(v.Open), cut(v.Closed[:min(len(v.Closed), closedRows)])
	for i := range v.Sensors {
		s.Rows = append(s.Rows, rowOf(&v.Sensors[i]))
	}
	slices.SortStableFunc(s.Rows, func(a, b row) int { return rank(b.Class) - rank(a.Class) })
	if n := len(s.Rows) - sensorRows; n > 0 {
		s.Rows, s.Left = s.Rows[:sensorRows], n
	}
	s.Word, s.IsCalm = verdict(v)
	return s
}

// cut returns campaigns with as many members as are listed.
func cut(list []hub.Shown) []hub.Shown {
	all := slices.Clone(list)
	for i := range all {
		c := *all[i].Campaign
		c.Members = c.Members[:min(len(c.Members), memberRows)]
		all[i].Campaign = &c
	}
	return all
}

// verdict returns the first line of the page, the worst that goes on: a campaign, an incident of a host, or a sensor
// that is silent.
func verdict(v *hub.View) (word string, isCalm bool) {
	switch n := uint64(len(v.Open)); {
	case v.ID == "":
		return "Nothing is read yet", true
	case n > 0:
		return digits.Counted(n, "campaign") + digits.Noun(n, " goes on", " go on"), false
	case len(v.Incidents) > 0:
		x := &v.Incidents[0]
		word = "Warning"
		if x.Kind.Level() == flood.Alert {
			word = "Attack"
		}
		word += fmt.Sprintf(" at %s: %s on %s", x.Sensor, plainKind(x.Kind.String()), x.Target)
		if more := len(v.Incidents) - 1; more > 0 {
			word += fmt.Sprintf(", and %d more", more)
		}
		return word, false
	case v.Counters.Silent > 0:
		n := uint64(v.Counters.Silent)
		return "No campaign; " + digits.Counted(n, "sensor") + digits.Noun(n, " is silent", " are silent"), false
	}
	return "No campaign", true
}

// rowOf returns the row of a sensor, with what is wrong with it.
func rowOf(s *campaign.Sensor) row {
	switch {
	case s.Silent:
		return row{s, "silent", "bad"}
	case s.Dropped > 0 && s.Packets > 0 && s.Dropped*100 > s.Packets:
		return row{s, "drops packets", "warn"}
	case s.Lost > 0:
		return row{s, "lost messages", "warn"}
	case s.HasSkew:
		return row{s, "clock is off", "warn"}
	case s.Unheard > 0:
		return row{s, "servers unheard", "warn"}
	}
	return row{s, "well", "good"}
}

func rank(class string) int { return slices.Index([]string{"good", "warn", "bad"}, class) }

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

// clock returns a time in UTC for people, empty for none.
func clock(nanos int64) string {
	if nanos == 0 {
		return ""
	}
	return time.Unix(0, nanos).UTC().Format("Jan 2 15:04:05")
}

// iso returns a time for programs.
func iso(nanos int64) string { return time.Unix(0, nanos).UTC().Format(time.RFC3339) }

// span returns the time from one moment to another.
func span(from, to int64) string {
	return digits.Span(time.Duration(max(0, to-from)).Round(time.Second))
}

// grouped returns a number with its thousands apart.
func grouped(n any) string {
	switch n := n.(type) {
	case int:
		return digits.Grouped(int64(n))
	case int64:
		return digits.Grouped(n)
	case uint32:
		return digits.Grouped(int64(n))
	case uint64:
		return digits.Grouped(int64(n))
	case float64:
		return digits.Grouped(int64(n + 0.5))
	}
	return fmt.Sprint(n)
}

// signed returns a time in seconds, with its sign.
func signed(nanos int64) string { return fmt.Sprintf("%+.1f s", float64(nanos)/1e9) }

// plainKind returns the name of a kind of flood as words.
func plainKind(s string) string { return strings.ReplaceAll(s, "_", " ") }

// rate returns how many a second a window's count is.
func rate(n uint64) string { return digits.Short(float64(n) / windowSeconds) }

// windowSeconds is the length of a window.
const windowSeconds = 10

const (
	// limit: sensorRows is how many sensors the page lists, those with something wrong first; /sensors.json
	// has all. Chosen: 200 KiB.
	sensorRows = 500

	// limit: closedRows is how many campaigns that are over the page lists.
	closedRows = 20

	// limit: memberRows is how many members of a campaign it lists.
	memberRows = 12
)
