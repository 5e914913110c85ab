package contrib

import (
	"encoding/json"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.yaml.in/yaml/v3"

	"qsniff/internal/fleet/campaign"
	"qsniff/internal/fleet/hub"
	"qsniff/internal/fleet/hub/web"
)

// query is an expression of Prometheus, and where it stands.
type query struct {
	where, expr string
	// legend has labels of the result in it, in {{}}.
	legend string
}

// panel is a panel of the dashboard, or a row.
type panel struct {
	Type, Title string
	Targets     []struct{ Expr, LegendFormat string }
}

// dashboardQueries returns the expressions of a dashboard.
func dashboardQueries(t *testing.T, name string) (all []query) {
	t.Helper()
	var board struct {
		Panels      []panel
		Annotations struct {
			List []struct{ Name, Expr, TitleFormat string }
		}
		Templating struct{ List []struct{ Name, Type string } }
	}
	if err := json.Unmarshal([]byte(read(t, "grafana/"+name)), &board); err != nil {
		t.Fatal(err)
	}
	for _, p := range board.Panels {
		if p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("panel %q asks for nothing", p.Title)
		}
		for _, x := range p.Targets {
			all = append(all, query{p.Title, x.Expr, x.LegendFormat})
		}
	}
	for _, a := range board.Annotations.List {
		all = append(all, query{a.Name, a.Expr, a.TitleFormat})
	}
	for i := range all {
		for _, v := range regexp.MustCompile(`\$(\w+)`).FindAllStringSubmatch(all[i].expr, -1) {
			isKnown := v[1] == "__rate_interval" // Grafana's own
			for _, x := range board.Templating.List {
				isKnown = isKnown || x.Name == v[1]
			}
			if !isKnown {
				t.Errorf("%s: there is no variable %s", all[i].where, v[0])
			}
		}
		all[i].expr = strings.NewReplacer("$__rate_interval", "1m", "$instance", ".*", "$server", ".*").Replace(all[i].expr)
	}
	return all
}

// ruleQueries returns the expressions of rules.
func ruleQueries(t *testing.T, name string) (all []query) {
	t.Helper()
	var file struct {
		Groups []struct {
			Rules []struct {
				Alert, Expr string
				Annotations map[string]string
			}
		}
	}
	if err := yaml.Unmarshal([]byte(read(t, "prometheus/"+name)), &file); err != nil {
		t.Fatal(err)
	}
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			all = append(all, query{r.Alert, r.Expr, strings.ReplaceAll(r.Annotations["summary"], "$labels.", "")})
		}
	}
	return all
}

// series are the labels of a metric, each with the values that the file of expected metrics has.
type series map[string]map[string]bool

// expectedMetrics returns what qsniff monitor gives out, from the expected output of its tests.
func expectedMetrics(t *testing.T) map[string]series {
	t.Helper()
	text, err := os.ReadFile(root + "/internal/monitor/metrics/testdata/metrics.txt")
	if err != nil {
		t.Fatal(err)
	}
	return parseMetrics(string(text))
}

// parseMetrics returns the metrics of a text in Prometheus' form.
func parseMetrics(text string) map[string]series {
	all := map[string]series{}
	for line := range strings.Lines(text) {
		m := regexp.MustCompile(`^(\w+)(?:\{(.*)\})? `).FindStringSubmatch(line)
		if m == nil { // a comment
			continue
		}
		s := all[m[1]]
		if s == nil {
			s = series{"instance": nil, "job": nil} // Prometheus adds these
			all[m[1]] = s
		}
		for _, l := range regexp.MustCompile(`(\w+)="([^"]*)"`).FindAllStringSubmatch(m[2], -1) {
			if s[l[1]] == nil {
				s[l[1]] = map[string]bool{}
			}
			s[l[1]][l[2]] = true
		}
	}
	// Prometheus makes the first one, the others are of the library for programs in Go.
	for _, name := range []string{"up", "process_resident_memory_bytes", "process_cpu_seconds_total"} {
		all[name] = series{"instance": nil, "job": nil}
	}
	return all
}

// words are the tokens of an expression that matter: texts, names, signs.
var words = regexp.MustCompile(`"[^"]*"|[a-zA-Z_:][a-zA-Z0-9_:]*|[0-9.]+[a-z]*|[=!]~|!=|[^\s]`)

// Names in an expression that are no metrics.
var (
	listsLabels = []string{"by", "without", "on", "ignoring", "group_left", "group_right"}
	operators   = []string{"and", "or", "unless", "bool", "offset"}
)

// check reports names in an expression that qsniff monitor does not have.
func (q *query) check(t *testing.T, all map[string]series) {
	t.Helper()
	w := append(words.FindAllString(q.expr, -1), "")
	var grouped []string
	labels := series{}
	for i := 0; i < len(w)-1; i++ {
		isName := regexp.MustCompile(`^[a-zA-Z_]`).MatchString(w[i])
		switch {
		case slices.Contains(listsLabels, w[i]):
			for i++; w[i] != ")"; i++ {
				if w[i] != "(" && w[i] != "," {
					grouped = append(grouped, w[i])
				}
			}
		case !isName || w[i+1] == "(" || slices.Contains(listsLabels, w[i+1]) || slices.Contains(operators, w[i]): // no metric, but a sign, a number, a function
		case all[w[i]] == nil:
			t.Errorf("%s: there is no metric %s", q.where, w[i])
		default:
			s := all[w[i]]
			for name := range s {
				labels[name] = nil
			}
			if w[i+1] == "{" {
				i += q.checkMatchers(t, w[i], s, w[i+2:]) + 2
			}
		}
	}
	for _, l := range regexp.MustCompile(`\{\{ ?(\w+) ?\}\}`).FindAllStringSubmatch(q.legend, -1) {
		grouped = append(grouped, l[1])
	}
	for _, name := range grouped {
		if _, ok := labels[name]; !ok {
			t.Errorf("%s: no metric of it has a label %s", q.where, name)
		}
	}
}

// checkMatchers reports what a metric does not have of the labels, and the values, that follow it. It
// returns how many words these are.
func (q *query) checkMatchers(t *testing.T, metric string, s series, w []string) int {
	t.Helper()
	i := 0
	for ; w[i] != "}"; i += 3 {
		if w[i] == "," {
			i++
		}
		values, ok := s[w[i]]
		if !ok {
			t.Errorf("%s: %s has no label %s", q.where, metric, w[i])
		}
		for _, v := range strings.Split(strings.Trim(w[i+2], `"`), "|") {
			if values != nil && v != ".*" && !values[v] {
				t.Errorf("%s: %s never has %s=%q", q.where, metric, w[i], v)
			}
		}
	}
	return i
}

// TestNames: dashboard and alerts use what there is: metrics, labels, and values of labels.
func TestNames(t *testing.T) {
	all := expectedMetrics(t)
	queries := append(dashboardQueries(t, "dashboard.json"), ruleQueries(t, "qsniff.rules.yml")...)
	if len(queries) < 40 {
		t.Errorf("%d expressions were found", len(queries))
	}
	for _, q := range queries {
		q.check(t, all)
	}
}

// TestHubNames is TestNames of what there is for the hub of a fleet.
func TestHubNames(t *testing.T) {
	view := &hub.View{Sensors: []campaign.Sensor{{Name: "ams-1"}}, Streams: []hub.StreamState{{Name: "QSNIFF_COUNTS"}}}
	reg := prometheus.NewRegistry()
	reg.MustRegister(web.NewCollector(func() *hub.View { return view }, func() (uint64, error) { return 1, nil }))
	answer := httptest.NewRecorder()
	promhttp.HandlerFor(reg, promhttp.HandlerOpts{}).ServeHTTP(answer, httptest.NewRequest("GET", "/metrics", nil))
	all := parseMetrics(answer.Body.String())
	queries := append(dashboardQueries(t, "fleet.json"), ruleQueries(t, "hub.rules.yml")...)
	if len(queries) < 30 {
		t.Errorf("%d expressions were found", len(queries))
	}
	for _, q := range queries {
		q.check(t, all)
	}
}

// TestRules: each alert fires when it should, and not before.
func TestRules(t *testing.T) {
	promtool := tool(t, "promtool", "prometheus")
	run(t, promtool, "check", "config", folder+"/prometheus/prometheus.yml")
	for _, name := range []string{"qsniff", "hub"} {
		run(t, promtool, "check", "rules", folder+"/prometheus/"+name+".rules.yml")
		run(t, promtool, "test", "rules", folder+"/prometheus/"+name+".rules.test.yml")
		text := read(t, "prometheus/"+name+".rules.test.yml")
		for _, q := range ruleQueries(t, name+".rules.yml") {
			if !strings.Contains(text, "alertname: "+q.where) {
				t.Errorf("no test of %s", q.where)
			}
		}
	}
}

// TestDashboardLayout: panels have numbers of their own and lie beside each other on Grafana's 24 columns.
func TestDashboardLayout(t *testing.T) {
	for _, name := range []string{"dashboard.json", "fleet.json"} {
		t.Run(name, func(t *testing.T) { checkLayout(t, name) })
	}
}

func checkLayout(t *testing.T, name string) {
	t.Helper()
	var board struct {
		Panels []struct {
			ID      int
			Title   string
			GridPos struct{ X, Y, W, H int }
		}
	}
	if err := json.Unmarshal([]byte(read(t, "grafana/"+name)), &board); err != nil {
		t.Fatal(err)
	}
	for i, p := range board.Panels {
		a := p.GridPos
		if a.X < 0 || a.W < 1 || a.H < 1 || a.X+a.W > 24 {
			t.Errorf("%s: %+v", p.Title, a)
		}
		for _, q := range board.Panels[:i] {
			b := q.GridPos
			if p.ID == q.ID || a.X < b.X+b.W && b.X < a.X+a.W && a.Y < b.Y+b.H && b.Y < a.Y+a.H {
				t.Errorf("%s and %s have the same number, or are in the same place: %+v, %+v", p.Title, q.Title, a, b)
			}
		}
	}
}
