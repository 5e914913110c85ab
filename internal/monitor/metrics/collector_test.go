package metrics

import (
	"bytes"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"qsniff/dissect"
	"qsniff/internal/flood"
	"qsniff/internal/flood/rules/loaded"
	"qsniff/internal/monitor"
	"qsniff/internal/monitor/serve"
	"qsniff/internal/render/counters"
	"qsniff/internal/test/protos"
	"qsniff/internal/track"
)

var update = flag.Bool("update", false, "rewrite testdata/metrics.txt")

const (
	server  = "198.51.100.7:27015"
	clients = "203.0.113." // what no figure may have
)

// newMeter returns a meter that has counted a bit of everything, and how to count on.
func newMeter(t *testing.T) (m *monitor.Meter, poll func()) {
	t.Helper()
	reg := protos.Registry(t)
	types := map[string]*dissect.Type{}
	for _, p := range reg.Protos() {
		for _, x := range p.Types {
			types[x.Name] = x
		}
	}
	now := int64(0)
	m = monitor.New(reg.Protos(), monitor.Options{Servers: []netip.AddrPort{netip.MustParseAddrPort(server)}, MaxServers: 4, Scale: 1,
		Clock: func() int64 { now += int64(time.Minute); return now }})
	age := int64(1_700_000_000e9)
	frame := uint64(0)
	packet := func(what track.PacketType, from, to, message string) {
		frame++
		a, b := netip.MustParseAddrPort(from), netip.MustParseAddrPort(to)
		s := &track.Sighting{Frame: frame, Age: age, Nanos: age, Src: track.HostOf(a), SrcPort: a.Port(), Dst: track.HostOf(b), DstPort: b.Port(), What: what, Wire: 53}
		if x := types[message]; x != nil {
			s.Type, s.Asks = x, x.Asks
		}
		s.FillHashes(7)
		m.Sight(s)
	}
	n := 0
	poll = func() {
		n++
		client := fmt.Sprint(clients, 1+n%200, ":40000")
		for i, to := range []string{server, "198.51.100.8:27015"} {
			packet(track.IsRequest, client, to, "A2S_INFO")
			age += int64(1+i+n%50) * int64(time.Millisecond)
			packet(track.IsReply, to, client, "S2A_INFO_SRC")
			p := track.NoProfile()
			p.Name.Set([]byte("a name"))
			p.Players, p.Max, p.Queue = int32(n%30), 32, 2
			m.AddProfile(nil, &p)
		}
		packet(track.IsRequest, client, "198.51.100.9:27015", "A2S_RULES") // nobody answers
		packet(track.IsJunk, client, server, "")
		age += int64(time.Second)
		m.Tick(age, age)
	}
	poll()
	m.AddIncident(&flood.Incident{ID: 1, Kind: flood.FloodSpoofed, Level: flood.Alert}, flood.Begins)
	m.AddIncident(&flood.Incident{ID: 2, Kind: flood.Scan, Level: flood.Alert}, flood.Begins)
	m.AddIncident(&flood.Incident{ID: 2, Kind: flood.Survey, Level: flood.Info}, flood.Changes)
	m.AddIncident(&flood.Incident{ID: 2, Kind: flood.Survey, Level: flood.Info}, flood.Ends)
	return m, poll
}

// newRegistry registers all that qsniff monitor does besides the figures of Go.
func newRegistry(t *testing.T, m *monitor.Meter) *prometheus.Registry {
	t.Helper()
	reg := prometheus.NewPedanticRegistry()
	stats := func() serve.Stats { return serve.Stats{Open: 1, Requests: 2, BadHost: 3} }
	live := func() serve.LiveStats { return serve.LiveStats{Viewers: 1, Refused: 4, Stalled: 5} }
	rules := func() *loaded.State {
		return &loaded.State{Table: loaded.Table{IsLoaded: true, Since: 1_700_000_100, Targets: []loaded.Target{
			{Target: "udp/" + server, Looked: 100, Dropped: 96}, {Target: "udp/" + server, Looked: 7}, {Target: "198.51.100.9", Looked: 5}}}}
	}
	for _, c := range []prometheus.Collector{NewCollector(m), NewServerCollector(stats, live), NewRulesCollector(rules), NewBuildInfo("v1", "abc", "go1")} {
		if err := reg.Register(c); err != nil {
			t.Fatal(err)
		}
	}
	return reg
}

// scrape gathers all metrics while the meter is at work.
func scrape(t *testing.T, m *monitor.Meter, reg *prometheus.Registry) []*dto.MetricFamily {
	t.Helper()
	done := make(chan []*dto.MetricFamily)
	go func() {
		all, err := reg.Gather()
		if err != nil {
			t.Error(err)
		}
		done <- all
	}()
	for {
		m.Publish(func(r *counters.Result) {
			r.Run.Packets, r.Live.Kernel = 12, 3
			r.Live.Interruptions, r.Live.Away = 2, 1
			r.Files.Ring.Present, r.Files.Ring.PresentBytes, r.Files.Ring.Removed, r.Files.Ring.Expired = 4, 1<<20, 3, 1
		})
		select {
		case all := <-done:
			return all
		default:
			runtime.Gosched()
		}
	}
}

// write returns metrics as a scraper gets them.
func write(t *testing.T, all []*dto.MetricFamily, f expfmt.Format) string {
	t.Helper()
	var b bytes.Buffer
	enc := expfmt.NewEncoder(&b, f)
	for _, x := range all {
		if err := enc.Encode(x); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

// TestGolden: what a scraper gets.
func TestGolden(t *testing.T) {
	m, _ := newMeter(t)
	got := write(t, scrape(t, m, newRegistry(t, m)), expfmt.NewFormat(expfmt.TypeTextPlain))
	const path = "testdata/metrics.txt"
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("want -, got +\n%s", diff)
	}
}

// TestLint: names, units and help are as Prometheus wants them.
func TestLint(t *testing.T) {
	m, _ := newMeter(t)
	text := write(t, scrape(t, m, newRegistry(t, m)), expfmt.NewFormat(expfmt.TypeTextPlain))
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	if problems, err := testutil.CollectAndLint(NewServerCollector(func() serve.Stats { return serve.Stats{} }, func() serve.LiveStats { return serve.LiveStats{} })); err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
}

// TestNoClients: no figure names a client, nor what comes from the network.
func TestNoClients(t *testing.T) {
	m, _ := newMeter(t)
	text := write(t, scrape(t, m, newRegistry(t, m)), expfmt.NewFormat(expfmt.TypeTextPlain))
	for _, word := range []string{clients, "a name"} {
		if strings.Contains(text, word) {
			t.Errorf("%q is in the figures", word)
		}
	}
}

// TestOpenMetrics: the other format has the same metrics, with packets that stand for response times,
// and ends as it should.
func TestOpenMetrics(t *testing.T) {
	m, _ := newMeter(t)
	var b bytes.Buffer
	enc := expfmt.NewEncoder(&b, expfmt.NewFormat(expfmt.TypeOpenMetrics))
	for _, x := range scrape(t, m, newRegistry(t, m)) {
		if err := enc.Encode(x); err != nil {
			t.Fatal(err)
		}
	}
	if want := `le="0.0025"} 1 # {frame="2"} 0.002 1.7`; !strings.Contains(b.String(), want) {
		t.Errorf("no %s in\n%s", want, b.String()[strings.Index(b.String(), "_response_seconds_bucket"):])
	}
	if err := enc.(expfmt.Closer).Close(); err != nil || !strings.HasSuffix(b.String(), "# EOF\n") {
		t.Errorf("%v, %q", err, b.String()[max(b.Len()-40, 0):])
	}
}

// TestManyScrapes: an hour of scrapes, one a second (five minutes in make test), has a constant number of series, and counters
// that never go back.
func TestManyScrapes(t *testing.T) {
	m, poll := newMeter(t)
	reg := prometheus.NewRegistry()
	reg.MustRegister(NewCollector(m))
	poll() // the second server has its own counters by now
	poll()
	want := series(scrape(t, m, reg))
	scrapes := 3600
	if testing.Short() {
		scrapes = 300
	}
	for range scrapes {
		poll()
		got := series(scrape(t, m, reg))
		if len(got) != len(want) {
			t.Fatalf("%d series, then %d", len(want), len(got))
		}
		for name, x := range got {
			if before, ok := want[name]; !ok || x.isCounter && x.value < before.value {
				t.Fatalf("%s: %v after %v (%v)", name, x.value, before.value, ok)
			}
		}
		want = got
	}
	if n := len(want); n < 250 || n > 320 {
		t.Errorf("%d series of two servers and all others", n)
	}
}

type sample struct {
	value     float64
	isCounter bool
}

// series lists all series by name and labels.
func series(all []*dto.MetricFamily) map[string]sample {
	found := map[string]sample{}
	for _, f := range all {
		for _, x := range f.Metric {
			name := f.GetName() + fmt.Sprint(x.Label)
			switch {
			case x.Counter != nil:
				found[name] = sample{x.Counter.GetValue(), true}
			case x.Gauge != nil:
				found[name] = sample{x.Gauge.GetValue(), false}
			case x.Histogram != nil:
				for _, b := range x.Histogram.Bucket {
					found[fmt.Sprint(name, b.GetUpperBound())] = sample{float64(b.GetCumulativeCount()), true}
				}
				found[name] = sample{float64(x.Histogram.GetSampleCount()), true}
			}
		}
	}
	return found
}

// TestHistogram: both forms of buckets count the same times, each in its place.
func TestHistogram(t *testing.T) {
	m, poll := newMeter(t)
	for range 500 {
		poll()
	}
	for _, f := range scrape(t, m, newRegistry(t, m)) {
		if f.GetName() != "qsniff_server_response_seconds" {
			continue
		}
		for _, x := range f.Metric {
			checkHistogram(t, x.Histogram)
		}
		return
	}
	t.Error("no histogram")
}

func checkHistogram(t *testing.T, h *dto.Histogram) {
	t.Helper()
	n, count, at := h.GetZeroCount(), int64(0), int32(0)
	below := map[int32]uint64{} // by the index of a bucket: how many are in it and before it
	i := 0
	for _, s := range h.PositiveSpan {
		at += s.GetOffset()
		for range s.GetLength() {
			count += h.PositiveDelta[i]
			n += uint64(count)
			below[at] = n
			at++
			i++
		}
	}
	if n != h.GetSampleCount() || i != len(h.PositiveDelta) {
		t.Errorf("%d in fine buckets, %d times", n, h.GetSampleCount())
	}
	last := h.Bucket[len(h.Bucket)-1]
	if last.GetCumulativeCount() > h.GetSampleCount() {
		t.Errorf("%d up to %v s, %d times", last.GetCumulativeCount(), last.GetUpperBound(), h.GetSampleCount())
	}
	for _, b := range h.Bucket { // 2^(i/8) seconds, where that is a round limit, too
		if b.GetUpperBound() == 1 || b.GetUpperBound() == .5 {
			most := uint64(0)
			for at, n := range below {
				if (b.GetUpperBound() == 1 && at <= 0) || at <= -8 {
					most = max(most, n)
				}
			}
			if most != b.GetCumulativeCount() {
				t.Errorf("up to %v s: %d in fine buckets, %d in round ones", b.GetUpperBound(), most, b.GetCumulativeCount())
			}
		}
	}
}
