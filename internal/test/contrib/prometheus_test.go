package contrib

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"qsniff/internal/test/binary"
	"qsniff/internal/test/freeport"
	"qsniff/internal/test/testpcap"
	"qsniff/internal/test/timing"
)

// withoutData are alerts that a day in a pipe has no cause for; TestRules has.
var withoutData = map[string]bool{"QsniffStandsStill": true, "QsniffDrops": true, "QsniffInterfaceAway": true, "QsniffNotWritten": true}

// TestPrometheus: a Prometheus with the configuration of the folder scrapes a day, in which there is a
// flood, a server that falls silent and a table that is full. It answers every expression of dashboard
// and alerts, with data; 3,600 scrapes have as many figures each.
func TestPrometheus(t *testing.T) {
	if os.Getenv("QSNIFF_MONITOR") == "" {
		t.Skip("takes three minutes (make test-monitor)")
	}
	prometheus := tool(t, "prometheus", "prometheus")
	d := startDay(t, binary.Path(t))
	api := startPrometheus(t, prometheus, d.addr)
	begin := time.Now()
	awaitData(t, api, "count_over_time(qsniff_capture_packets_total[1m]) > 3", begin) // before the first packet
	series := 0
	for hour := range 24 {
		d.playHour(t, hour)
		for range 150 {
			n := strings.Count(d.scrape(t), "\nqsniff_")
			if hour == 1 {
				series = n
			}
			if hour > 1 && n != series {
				t.Fatalf("hour %d: %d figures, and %d in the second one", hour, n, series)
			}
		}
	}
	d.end(t)
	awaitData(t, api, "up == 0", begin)
	for _, q := range append(dashboardQueries(t, "dashboard.json"), ruleQueries(t, "qsniff.rules.yml")...) {
		if got := queryRange(t, api, q.expr, begin); len(got) == 0 && !withoutData[q.where] {
			t.Errorf("%s: no data for %s", q.where, q.expr)
		}
	}
	checkAlerts(t, api, begin)
	checkRules(t, api)
}

// checkAlerts looks at which alerts fired in a day.
func checkAlerts(t *testing.T, api string, begin time.Time) {
	t.Helper()
	fired := map[string]bool{}
	for _, s := range queryRange(t, api, "ALERTS", begin) {
		fired[s.Metric["alertname"]+" "+s.Metric["alertstate"]+" "+s.Metric["kind"]+s.Metric["server"]+s.Metric["table"]] = true
	}
	for _, want := range []string{"QsniffFlood firing flood_spoofed", "QsniffServerSilent pending " + silent.String(),
		"QsniffAnswersFall pending " + silent.String(), "QsniffTableFull pending servers"} {
		if !fired[want] {
			t.Errorf("never: %s; there were %v", want, fired)
		}
	}
}

// day is a qsniff monitor that reads a capture from the test.
type day struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	buf  *bufio.Writer
	out  *testpcap.Writer
	at   time.Duration // since testpcap.Start
	n    int           // packets
	addr string
}

// link is how packets are framed: not at all.
var link = testpcap.Link{Type: testpcap.LinkRaw}

// The servers of the day, and what is said.
var (
	calm   = netip.MustParseAddrPort("198.51.100.7:27015")
	target = netip.MustParseAddrPort("198.51.100.8:27015")
	silent = netip.MustParseAddrPort("198.51.100.9:27015")
)

const (
	challenge = "\xff\xff\xff\xffA\x01\x02\x03\x04"
	// rust is the answer of a game that reports who waits for a slot.
	rust = "\xff\xff\xff\xffI\x11Live\x00Procedural Map\x00rust\x00Rust\x00\x00\x00\x63\x64\x00dl\x00\x01" + "2336\x00" +
		"\xb1\x87\x69\x01\x02\x03\x04\x05\x06\x07\x08mp100,cp99,qp17,v2336,h994ea700,gmrust\x00\x4a\xda\x03\x00\x00\x00\x00\x00"
)

// startDay starts the program, and waits until it answers.
func startDay(t *testing.T, program string) *day {
	t.Helper()
	d := &day{cmd: exec.Command(program, "monitor", "-", "--listen", "127.0.0.1:0", "--max-servers", "3")}
	errs, err := d.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if d.in, err = d.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	d.buf = bufio.NewWriterSize(d.in, 1<<16)
	if d.out, err = testpcap.NewWriter(d.buf, testpcap.Format{Link: link.Type, SnapLen: 65535, Nano: true}); err != nil {
		t.Fatal(err)
	}
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.cmd.Process.Kill(); _ = d.cmd.Wait() }) // it has ended, unless the test failed
	if err := d.buf.Flush(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(errs)
	for lines.Scan() && d.addr == "" {
		_, rest, _ := strings.Cut(lines.Text(), " listen=")
		d.addr, _, _ = strings.Cut(rest, " ")
	}
	go func() { _, _ = io.Copy(io.Discard, errs) }()
	if d.addr == "" {
		t.Fatal("it does not say where it listens")
	}
	return d
}

// packet writes a datagram.
func (d *day) packet(t *testing.T, src, dst netip.AddrPort, payload string) {
	t.Helper()
	frame := testpcap.Datagram{Src: src, Dst: dst, TTL: 64, Payload: []byte(payload)}.Frame(link)
	if err := d.out.WritePacket(testpcap.Start+int64(d.at), frame); err != nil {
		t.Fatal(err)
	}
	d.n++
}

// client returns one of many clients.
func (d *day) client() netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(d.n >> 16), byte(d.n >> 8), byte(d.n)}), 40000)
}

// playHour writes an hour of packets, in four seconds.
func (d *day) playHour(t *testing.T, hour int) {
	t.Helper()
	for slice := range 40 {
		for range 9 { // every ten seconds
			for _, s := range []netip.AddrPort{calm, target, silent} {
				c := d.client()
				d.packet(t, c, s, question)
				if s == silent && hour >= 12 {
					continue
				}
				d.at += 20 * time.Millisecond
				d.packet(t, s, c, challenge)
				d.at += 30 * time.Millisecond
				d.packet(t, c, s, question+challenge[5:])
				d.at += 25 * time.Millisecond
				d.packet(t, s, c, rust)
			}
			d.packet(t, d.client(), calm, "\xff\xff\xff\xffjunk")
			d.at += 10 * time.Second
		}
		if hour == 6 && slice == 0 {
			d.flood(t)
		}
		if err := d.buf.Flush(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// flood writes ten seconds of requests from forged addresses, none of which is answered; they take a
// scrape or two.
func (d *day) flood(t *testing.T) {
	t.Helper()
	for i := range 10_000 {
		if i == 8000 {
			if err := d.buf.Flush(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(3 * time.Second)
		}
		c := netip.AddrPortFrom(netip.AddrFrom4([4]byte{byte(11 + d.n*7%180), byte(d.n * 31), byte(d.n * 57), byte(d.n * 91)}), uint16(1024+d.n*13%60000))
		d.packet(t, c, target, question)
		d.at += time.Millisecond
	}
}

// scrape returns the figures.
func (d *day) scrape(t *testing.T) string {
	t.Helper()
	r, err := http.Get("http://" + d.addr + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		t.Fatalf("%s: %v %s", r.Status, err, text)
	}
	return string(text)
}

// end ends the capture, and with it the program, which must have read all of it.
func (d *day) end(t *testing.T) {
	t.Helper()
	want := fmt.Sprintf("qsniff_capture_packets_total %v\n", float64(d.n))
	timing.Await(t, "all packets", func() bool { return strings.Contains(d.scrape(t), want) })
	time.Sleep(2 * time.Second) // a scrape
	d.in.Close()
	if err := d.cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// startPrometheus starts Prometheus with the configuration and the alerts of the folder, but for the
// interval and the target, and returns where its API is.
func startPrometheus(t *testing.T, program, target string) string {
	t.Helper()
	dir := t.TempDir()
	config := strings.NewReplacer("interval: 15s", "interval: 1s", "127.0.0.1:9477", target).Replace(read(t, "prometheus/prometheus.yml"))
	write(t, filepath.Join(dir, "prometheus.yml"), config)
	write(t, filepath.Join(dir, "qsniff.rules.yml"), read(t, "prometheus/qsniff.rules.yml"))
	addr := freeport.Addr(t)
	c := exec.Command(program, "--config.file="+filepath.Join(dir, "prometheus.yml"), "--storage.tsdb.path="+filepath.Join(dir, "data"),
		"--web.listen-address="+addr, "--log.level=warn")
	c.Stderr = os.Stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() }) // it runs until it is killed
	return "http://" + addr + "/api/v1/"
}

// result is a series that Prometheus answers with.
type result struct{ Metric map[string]string }

// queryRange returns what an expression was in each second from begin until now. An error of Prometheus
// fails t.
func queryRange(t *testing.T, api, expr string, begin time.Time) []result {
	t.Helper()
	var answer struct {
		Status, Error string
		Data          struct{ Result []result }
	}
	form := url.Values{"query": {expr}, "start": {fmt.Sprint(begin.Unix())}, "end": {fmt.Sprint(time.Now().Unix())}, "step": {"1"}}
	r, err := http.PostForm(api+"query_range", form)
	if err != nil {
		return nil // it begins
	}
	defer r.Body.Close()
	if err := json.NewDecoder(r.Body).Decode(&answer); err != nil || answer.Status != "success" {
		if r.StatusCode != http.StatusServiceUnavailable { // it begins
			t.Errorf("%s: %v %s", expr, err, answer.Error)
		}
	}
	return answer.Data.Result
}

// awaitData waits until an expression has data.
func awaitData(t *testing.T, api, expr string, begin time.Time) {
	t.Helper()
	timing.Await(t, expr, func() bool { return len(queryRange(t, api, expr, begin)) > 0 })
}

// checkRules holds the alerts that Prometheus has to be without errors.
func checkRules(t *testing.T, api string) {
	t.Helper()
	r, err := http.Get(api + "rules")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	var answer struct {
		Data struct {
			Groups []struct {
				Rules []struct{ Name, Health, LastError string }
			}
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&answer); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, g := range answer.Data.Groups {
		for _, x := range g.Rules {
			if n++; x.Health != "ok" {
				t.Errorf("alert %s: %s %s", x.Name, x.Health, x.LastError)
			}
		}
	}
	if want := len(ruleQueries(t, "qsniff.rules.yml")); n != want {
		t.Errorf("%d alerts are loaded, want %d", n, want)
	}
}
