package web

import (
	"bytes"
	_ "embed"
	"html/template"
	"net/http"
	"slices"
	"strconv"

	"qsniff/internal/base/digits"
	"qsniff/internal/fleet/campaign"
	"qsniff/internal/fleet/hub"
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

// verdict returns the first line of the page: whether a campaign goes on, or a sensor is silent.
func verdict(v *hub.View) (word string, isCalm bool) {
	switch n := uint64(len(v.Open)); {
	case v.ID == "":
		return "Nothing is read yet", true
	case n > 0:
		return digits.Counted(n, "campaign") + digits.Noun(n, " goes on", " go on"), false
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
