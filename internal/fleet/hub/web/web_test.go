package web

import (
	"encoding/json"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"qsniff/internal/fleet"
	"qsniff/internal/fleet/campaign"
	"qsniff/internal/fleet/hub"
	"qsniff/internal/flood"
)

// hostile is what the network, or a sensor that was taken over, may have put into a text.
const hostile = `"><script>alert(1)</script>`

// exampleView returns a view with something in every list.
func exampleView() *hub.View {
	const now = int64(1_700_000_000e9)
	c := func(how campaign.How, level string, end int64) hub.Shown {
		return hub.Shown{Campaign: &campaign.Campaign{ID: "5f0c", Number: 2, Event: "update", How: how, Category: "flood_distributed", Level: level, Protocol: "a2s",
			Start: now - 95e9, Detected: now - 70e9, End: end, Sensors: 12, Servers: 48, Peak: 5230, Baseline: 310, Requests: 412345, Sources: 18321, SourcesError: .03, Confidence: .86,
			Members: []campaign.Member{{Sensor: "ams-1", Server: netip.MustParseAddrPort("198.51.100.7:27015"), Peak: 140, Requests: 9000},
				{Sensor: "fra-1", Target: hostile, Peak: 120, Requests: 8000}},
			Evidence: []string{"48 servers of 12 hosts got 17 times what is usual, each below what is conspicuous alone", hostile},
			Advice:   "Load the rules that qsniff floods -o nft prints on all hosts."},
			Top: []hub.ShownNetwork{{Prefix: "203.0.113.0/24", Queries: 9120}, {Prefix: "2001:db8:1:2::/64", Queries: 830}}}
	}
	return &hub.View{ID: "a1", Leads: true, Leader: hub.Holder{ID: "a1", Host: "hub-1"}, At: now,
		Sensors: []campaign.Sensor{{Name: "ams-1", Program: "v1.2.0", Input: "eth0", Heard: now - 2e9, LastHost: now - 2e9, Servers: 14, Packets: 1 << 30},
			{Name: "fra-1", Program: "v1.2.0", Input: hostile, Heard: now - 90e9, LastHost: now - 90e9, Silent: true, Servers: 9, Lost: 12},
			{Name: "lon-1", Program: "v1.2.0", Input: "eth1", Heard: now - 1e9, Skew: -4_200_000_000, HasSkew: true, Servers: 25}},
		Open:     []hub.Shown{c(campaign.Carpet, "alert", 0), c(campaign.Walk, "warn", 0)},
		Closed:   []hub.Shown{c(campaign.SameSources, "alert", now-10e9)},
		Windows:  []campaign.Totals{{End: now, Sensors: 3, Servers: 48, Raised: 31, PacketsIn: 52300, BytesIn: 2 << 20, PacketsOut: 41000, BytesOut: 19 << 20, Sources: 18321}},
		Top:      []hub.ShownNetwork{{Prefix: "203.0.113.0/24", Queries: 9120}, {Queries: 10}},
		Counters: campaign.Counters{Sensors: 3, Servers: 48, Silent: 1, Skewed: 1, Duplicates: 5}, Totals: hub.Totals{Messages: 123456, Refused: 3, Events: 9, Told: 8, Uncertain: 1, Aside: 1},
		Refused: []hub.Refused{{Sensor: "fra-1", Why: fleet.BadVersion, Count: 2}, {Why: fleet.BadSubject, Count: 1}},
		Streams: []hub.StreamState{{Name: "QSNIFF_COUNTS", Messages: 120000, Bytes: 800 << 20}}}
}

func newPages(t *testing.T, v *hub.View) *Pages {
	t.Helper()
	p, err := New(func() *hub.View { return v }, "v1.2.0")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func get(p *Pages) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	p.Page(w, httptest.NewRequest("GET", "/", nil))
	return w
}

// TestPage: the answer comes first, text from the network is text, and the page may load nothing.
// With QSNIFF_SHOW the page is written to that file, for who wants to look at it.
func TestPage(t *testing.T) {
	w := get(newPages(t, exampleView()))
	text := w.Body.String()
	for _, want := range []string{"<h1 class=\"bad\">2 campaigns go on</h1>", "203.0.113.0/24", "sealed with another secret", "silent", "clock is off", "-4.2 s", "412,345", "5,230/s", "one host after the other", "&lt;script&gt;", "86 %", "1 state of hubs could not be read and was kept aside"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not on the page", want)
		}
	}
	if strings.Contains(text, "<script") || strings.Contains(text, "style=") || strings.Contains(text, "http://") || strings.Contains(text, "https://") {
		t.Error("the page runs or loads something")
	}
	if policy := w.Header().Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'none'; style-src 'self';") {
		t.Errorf("policy: %s", policy)
	}
	if file := os.Getenv("QSNIFF_SHOW"); file != "" {
		page := strings.Replace(text, `<link rel="stylesheet" href="/hub.css">`, "<style>"+string(style)+"</style>", 1)
		if err := os.WriteFile(file, []byte(page), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestVerdict: what the first line says.
func TestVerdict(t *testing.T) {
	for _, tc := range []struct {
		v    hub.View
		want string
	}{
		{hub.View{}, "Nothing is read yet"},
		{hub.View{ID: "a"}, "No campaign"},
		{hub.View{ID: "a", Incidents: []campaign.OpenIncident{{Sensor: "web1", Target: "udp/198.51.100.17:27015", Kind: flood.FloodSpoofed}},
			Counters: campaign.Counters{Silent: 1}}, "Attack at web1: flood spoofed on udp/198.51.100.17:27015"},
		{hub.View{ID: "a", Incidents: []campaign.OpenIncident{{Sensor: "web1", Target: "198.51.100.9", Kind: flood.Scan}, {}}}, "Warning at web1: scan on 198.51.100.9, and 1 more"},
		{hub.View{ID: "a", Counters: campaign.Counters{Silent: 1}}, "No campaign; 1 sensor is silent"},
		{hub.View{ID: "a", Counters: campaign.Counters{Silent: 2}}, "No campaign; 2 sensors are silent"},
		{hub.View{ID: "a", Open: make([]hub.Shown, 1)}, "1 campaign goes on"},
	} {
		if got, _ := verdict(&tc.v); got != tc.want {
			t.Errorf("got %q, want %q", got, tc.want)
		}
	}
	if w := get(newPages(t, &hub.View{})); !strings.Contains(w.Body.String(), "Nothing is read yet") {
		t.Error("a hub that has read nothing has no page")
	}
}

// TestBounds: of a large fleet the page lists those with something wrong, and says how many others there are.
func TestBounds(t *testing.T) {
	v := exampleView()
	for range 3 * sensorRows {
		v.Sensors = append(v.Sensors, campaign.Sensor{Name: "calm"})
	}
	text := get(newPages(t, v)).Body.String()
	if n := strings.Count(text, `<th scope="row">`); n != sensorRows || strings.Index(text, `"row">fra-1`) > strings.Index(text, `"row">calm`) || !strings.Contains(text, "1,003 more") {
		t.Errorf("%d rows", n)
	}
}

// TestDocuments: the same for programs.
func TestDocuments(t *testing.T) {
	p := newPages(t, exampleView())
	w := httptest.NewRecorder()
	p.Campaigns(w, nil)
	var c struct {
		Schema int
		Leads  bool
		Open   []struct {
			ID  string                    `json:"campaign"`
			Top []struct{ Prefix string } `json:"top_networks"`
		}
	}
	if err := json.Unmarshal(w.Body.Bytes(), &c); err != nil || c.Schema != 1 || !c.Leads || len(c.Open) != 2 || c.Open[0].Top[0].Prefix != "203.0.113.0/24" {
		t.Errorf("%v: %+v", err, c)
	}
	w = httptest.NewRecorder()
	p.Sensors(w, nil)
	var s struct {
		Sensors []campaign.Sensor
		Refused []hub.Refused
	}
	if err := json.Unmarshal(w.Body.Bytes(), &s); err != nil || len(s.Sensors) != 3 || len(s.Refused) != 2 {
		t.Errorf("%v: %+v", err, s)
	}
}

// TestMetrics: promlint finds nothing, labels are of closed sets, and no text of the network is one.
func TestMetrics(t *testing.T) {
	v := exampleView()
	c := NewCollector(func() *hub.View { return v }, nil)
	if problems, err := testutil.CollectAndLint(c); err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
	reg := prometheus.NewPedanticRegistry()
	reg.MustRegister(c)
	before, err := testutil.GatherAndCount(reg)
	if err != nil {
		t.Fatal(err)
	}
	v.Open[0].Category, v.Open[0].Level, v.Refused[0].Sensor = hostile, hostile, hostile
	for range 2 * sensorSeries {
		v.Refused = append(v.Refused, hub.Refused{Sensor: hostile, Why: fleet.BadForm, Count: 1})
	}
	if after, err := testutil.GatherAndCount(reg); err != nil || after != before {
		t.Errorf("%d series, %d before: %v", after, before, err)
	}
	for i := range 3 * sensorSeries {
		v.Sensors = append(v.Sensors, campaign.Sensor{Name: "s" + strings.Repeat("x", i)})
	}
	if after, err := testutil.GatherAndCount(reg); err != nil || after != before+4*(sensorSeries-3) {
		t.Errorf("%d series of many sensors, %d before: %v", after, before, err)
	}
	if err := testutil.CollectAndCompare(c, strings.NewReader(`
# HELP qsniff_hub_messages_refused_total Messages that were refused since this hub began: their subject is none of a sensor (subject), they are too long (size), no JSON of their kind (form), of a newer program (version), say that they are of another sensor (sender), or have no number or time (head).
# TYPE qsniff_hub_messages_refused_total counter
qsniff_hub_messages_refused_total{reason="form"} 2000
qsniff_hub_messages_refused_total{reason="head"} 0
qsniff_hub_messages_refused_total{reason="sender"} 0
qsniff_hub_messages_refused_total{reason="size"} 0
qsniff_hub_messages_refused_total{reason="subject"} 1
qsniff_hub_messages_refused_total{reason="version"} 2
`), "qsniff_hub_messages_refused_total"); err != nil {
		t.Error(err)
	}
}
