//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"qsniff/internal/test/freeport"
	"qsniff/internal/test/testpcap"
	"qsniff/internal/test/timing"
)

// TestMonitorPrometheus: a real Prometheus scrapes the figures of half a day, and rates, quantiles and
// outcomes that it computes from them are those of the traffic.
func TestMonitorPrometheus(t *testing.T) {
	if os.Getenv("QSNIFF_MONITOR") == "" {
		t.Skip("takes a minute (make test-monitor)")
	}
	prometheus, err := exec.LookPath("prometheus")
	if err != nil {
		t.Skip("prometheus is not installed")
	}
	for name, queries := range map[string]map[string]float64{"native": {
		`histogram_count(sum(increase(qsniff_server_response_seconds[20s]))) > bool 10000`:      1,
		`histogram_quantile(0.5, sum(rate(qsniff_server_response_seconds[30s]))) < bool 0.0205`: 1,
		`histogram_quantile(0.5, sum(rate(qsniff_server_response_seconds[30s]))) > bool 0.0180`: 1,
	}, "classic": {
		`sum(increase(qsniff_server_response_seconds_count[20s])) > bool 10000`:                                    1,
		`histogram_quantile(0.5, sum by (le) (rate(qsniff_server_response_seconds_bucket[30s]))) < bool 0.0250001`: 1,
		`histogram_quantile(0.5, sum by (le) (rate(qsniff_server_response_seconds_bucket[30s]))) > bool 0.01`:      1,
	}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			scrapeDay(t, prometheus, name == "native", queries)
		})
	}
}

// scrapeDay has Prometheus scrape the figures of half a day, and asks it for more than queries.
func scrapeDay(t *testing.T, prometheus string, native bool, queries map[string]float64) {
	w := watchPipe(t, "--servers", watchedServer)
	dir := t.TempDir()
	config := "scrape_configs: [{job_name: q, scrape_interval: 1s, scrape_timeout: 1s, static_configs: [{targets: ['" + w.url[len("http://"):] + "']}]}]\n"
	if err := os.WriteFile(filepath.Join(dir, "p.yml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	at := freeport.Addr(t)
	cmd := exec.Command(prometheus, "--config.file="+filepath.Join(dir, "p.yml"), "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+at)
	if native {
		cmd.Args = append(cmd.Args, "--enable-feature=native-histograms")
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it has ended, unless the test failed
		_ = cmd.Wait()
	})
	server := netip.MustParseAddrPort(watchedServer)
	n := 0
	for range 40 { // a second of the clock is twenty minutes of packets
		for range 1200 {
			w.poll(t, uint32(n), server)
			w.at += 980 * time.Millisecond
			n += 2
		}
		w.flush(t)
		time.Sleep(time.Second)
	}
	w.awaitPackets(t, n)
	time.Sleep(3 * time.Second) // the last scrape
	maps.Copy(queries, map[string]float64{
		`count({__name__=~"qsniff_.*"}) > bool 100`: 1,
		`max(up)`: 1,
		`qsniff_server_packets_total{server="` + watchedServer + `",direction="in"}`:                         float64(n / 2),
		`qsniff_server_requests_total{message="A2S_INFO",outcome="answered"}`:                                float64(n / 2),
		`sum(qsniff_server_requests_total{outcome!="answered"})`:                                             0,
		`qsniff_server_players{server="` + watchedServer + `"}`:                                              7,
		`max_over_time(qsniff_capture_standing_still[1m])`:                                                   0,
		`changes(count({__name__=~"qsniff_.*"})[20s:1s])`:                                                    0,
		`rate(process_cpu_seconds_total[20s]) > bool 0`:                                                      1,
		`process_resident_memory_bytes < bool 100e6`:                                                         1,
		`qsniff_capture_last_packet_timestamp_seconds - ` + fmt.Sprint(testpcap.Start/1e9) + ` > bool 47000`: 1,
	})
	for query, want := range queries {
		if got, ok := queryValue(t, "http://"+at, query); !ok || got != want {
			t.Errorf("%s: got %v (%v), want %v", query, got, ok, want)
		}
	}
	if status := w.end(t); status != exitOK {
		t.Errorf("status %d", status)
	}
}

// queryValue returns the value of a query, and whether it has one.
func queryValue(t *testing.T, at, query string) (float64, bool) {
	t.Helper()
	c := http.Client{Timeout: timing.Patience}
	r, err := c.Get(at + "/api/v1/query?query=" + url.QueryEscape(query))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	var got struct {
		Data struct{ Result []struct{ Value [2]any } }
	}
	if err := json.NewDecoder(r.Body).Decode(&got); err != nil || len(got.Data.Result) != 1 {
		return 0, false
	}
	var n float64
	_, err = fmt.Sscan(fmt.Sprint(got.Data.Result[0].Value[1]), &n)
	return n, err == nil
}
