package messenger

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"qsniff/internal/monitor/notify"
	"qsniff/internal/test/timing"
)

// served is Serve at work on pipes.
type served struct {
	orders  *json.Encoder
	in      io.Closer
	reports chan notify.Report // closed at the end
}

// serve starts Serve with a configuration.
func serve(t *testing.T, c *notify.Config, o Options) *served {
	t.Helper()
	in, orders := io.Pipe()
	reports, out := io.Pipe()
	c.NoSandbox = true
	s := &served{json.NewEncoder(orders), orders, make(chan notify.Report, 1000)}
	go func() {
		if err := Serve(in, out, o); err != nil {
			t.Error(err)
		}
		out.Close()
	}()
	go func() {
		defer close(s.reports)
		for d := json.NewDecoder(reports); ; {
			var r notify.Report
			if d.Decode(&r) != nil {
				return
			}
			s.reports <- r
		}
	}()
	s.order(t, notify.Order{Config: c})
	return s
}

func (s *served) order(t *testing.T, o notify.Order) {
	t.Helper()
	if err := s.orders.Encode(o); err != nil {
		t.Fatal(err)
	}
}

// end closes the orders, and returns the last counts and all lines of the log.
func (s *served) end() (sinks []notify.SinkCounts, log string) {
	s.in.Close()
	for r := range s.reports {
		if r.Sinks != nil {
			sinks = r.Sinks
		}
		if r.Log != "" {
			log += r.Log + "\n"
		}
	}
	return sinks, log
}

// TestServe: a note reaches all sinks; what was lost on the way counts at each.
func TestServe(t *testing.T) {
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { asked.Add(1) }))
	defer server.Close()
	path := filepath.Join(t.TempDir(), "a.jsonl")
	s := serve(t, &notify.Config{File: path, Every: 1, Hooks: []notify.Hook{{Service: "slack", URL: server.URL}}}, Options{clock: patientClock{newFakeClock()}})
	first := <-s.reports
	if !first.Ready || first.Sandbox != "none (--no-sandbox)" || len(first.Sinks) != 2 || first.Sinks[1].Name != "slack at 127.0.0.1" {
		t.Errorf("%+v", first)
	}
	for i := range 10 {
		s.order(t, notify.Order{Note: note(i, notify.Begins)})
	}
	s.order(t, notify.Order{Note: note(10, notify.Begins), Lost: 5})
	sinks, log := s.end()
	for _, c := range sinks {
		if c.Sent != 11 || c.Lost != 5 || c.Waiting != 0 {
			t.Errorf("%+v", c)
		}
	}
	checkRun(t, "file", idsIn(t, path), 0, 11)
	b, _ := os.ReadFile(path)
	if !strings.Contains(string(b), "{\"schema\":1,\"record\":\"lost\",\"count\":5}\n") || asked.Load() != 11 || strings.Count(log, ": 5 were not delivered\n") != 2 {
		t.Errorf("%d requests, log %s, file\n%s", asked.Load(), log, b)
	}
}

// TestServeReopens: SIGHUP of the run arrives at the file.
func TestServeReopens(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.jsonl")
	s := serve(t, &notify.Config{File: path}, Options{})
	s.order(t, notify.Order{Note: note(1, notify.Begins)})
	timing.Await(t, "the first line", func() bool { b, _ := os.ReadFile(path); return len(b) > 0 })
	if err := os.Rename(path, path+".old"); err != nil {
		t.Fatal(err)
	}
	s.order(t, notify.Order{Reopen: true})
	s.order(t, notify.Order{Note: note(2, notify.Begins)})
	s.end()
	checkRun(t, "old", idsIn(t, path+".old"), 1, 1)
	checkRun(t, "new", idsIn(t, path), 2, 1)
}

// TestServeFails: what cannot be opened is told at once.
func TestServeFails(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []*notify.Config{
		{File: filepath.Join(dir, "nowhere", "a")}, {Exec: filepath.Join(dir, "nowhere")}, {Syslog: filepath.Join(dir, "log")}, {Journal: filepath.Join(dir, "log")},
	} {
		s := serve(t, c, Options{})
		if r := <-s.reports; r.Ready || !strings.Contains(r.Failed, dir) {
			t.Errorf("%+v: %+v", c, r)
		}
		s.end()
	}
}

// TestLastWords: what is not delivered within a time after the run ended is dropped, and counted; a
// sink that stalls keeps no other from its notes.
func TestLastWords(t *testing.T) {
	over := make(chan struct{})
	asked := make(chan struct{}, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { asked <- struct{}{}; <-over }))
	defer server.Close()
	defer close(over)
	path := filepath.Join(t.TempDir(), "a.jsonl")
	s := serve(t, &notify.Config{File: path, Every: 1, Hooks: []notify.Hook{{Service: "slack", URL: server.URL}}}, Options{clock: newFakeClock()})
	for i := range 10 {
		s.order(t, notify.Order{Note: note(i, notify.Begins)})
	}
	<-asked
	timing.Await(t, "all lines in the file", func() bool { b, _ := os.ReadFile(path); return strings.Count(string(b), "\n") == 10 })
	sinks, log := s.end()
	if c := sinks[1]; c.Sent != 0 || c.Lost+c.Refused != 10 || c.Waiting != 0 {
		t.Errorf("%+v", c)
	}
	if !strings.Contains(log, "slack at 127.0.0.1: 10 were not delivered\n") {
		t.Errorf("log %s", log)
	}
}

// TestErrorsAfterTheRun: once nobody reads reports, what is lost goes to standard error.
func TestErrorsAfterTheRun(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(404) }))
	defer server.Close()
	orders := new(strings.Builder)
	for _, o := range []notify.Order{{Config: &notify.Config{NoSandbox: true, Hooks: []notify.Hook{{Service: "slack", URL: server.URL}}}}, {Note: note(1, notify.Begins)}} {
		b, _ := json.Marshal(o)
		fmt.Fprintf(orders, "%s\n", b)
	}
	reports, out := io.Pipe()
	reports.Close()
	errs := new(strings.Builder)
	if err := Serve(strings.NewReader(orders.String()), out, Options{Errors: errs, clock: patientClock{newFakeClock()}}); err != nil {
		t.Fatal(err)
	}
	if want := "qsniff: slack at 127.0.0.1: it answers 404 Not Found\nqsniff: slack at 127.0.0.1: 1 were not delivered\n"; errs.String() != want {
		t.Errorf("got  %s\nwant %s", errs, want)
	}
}
