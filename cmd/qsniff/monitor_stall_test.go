//go:build !js

package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"qsniff/capture"
	"qsniff/dissect/protocols"
	"qsniff/internal/monitor/serve"
	"qsniff/internal/pipeline"
	"qsniff/internal/test/timing"
)

// stuckSource brings nothing, and hangs where the test wants it to.
type stuckSource struct{ hang chan chan struct{} }

func (s *stuckSource) Read(b *capture.Batch) error {
	b.Reset()
	select {
	case until := <-s.hang:
		if until == nil {
			return io.EOF
		}
		<-until
	case <-time.After(time.Millisecond):
	}
	return nil
}

func (s *stuckSource) Stats() capture.Stats { return capture.Stats{} }
func (s *stuckSource) Close() error         { return nil }

// stuckMonitor is a monitor whose capture stands still when the test wants it to.
type stuckMonitor struct {
	*monitorRun
	src   *stuckSource
	addr  string
	ended chan error
}

// startStuck starts one. A token is wanted if it is not empty.
func startStuck(t *testing.T, token string) *stuckMonitor {
	t.Helper()
	m := newMonitorRun(stuckOptions(token), streams{io.Discard, io.Discard})
	m.stall = 100 * time.Millisecond
	l, err := serve.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := m.addServer(l); err != nil {
		t.Fatal(err)
	}
	reg := protocols.NewRegistry()
	src := &stuckSource{make(chan chan struct{})}
	m.in = &monitored{cfg: pipeline.Config{Source: src, Registry: reg, Jobs: 1, Clock: monotonic}, ctx: context.WithoutCancel(t.Context()),
		stop: func() {}, close: func() error { return nil }}
	if err := m.addStages(); err != nil {
		t.Fatal(err)
	}
	failed, ended := make(chan error, 1), make(chan error)
	go func() { failed <- m.server.Serve() }()
	go func() { ended <- m.run(t.Context(), failed) }()
	return &stuckMonitor{m, src, l.Addr().String(), ended}
}

// stuckOptions are the options of a monitor that may want a token.
func stuckOptions(token string) *monitorOptions {
	opts := newMonitorOptions()
	opts.register(&cobra.Command{})
	opts.token = []byte(token)
	return opts
}

// end ends the capture.
func (m *stuckMonitor) end(t *testing.T) {
	t.Helper()
	m.src.hang <- nil
	if err := <-m.ended; err != nil {
		t.Error(err)
	}
}

// TestReloadStalled: while a capture stands still, nothing is reloaded.
func TestReloadStalled(t *testing.T) {
	t.Parallel()
	const before, after = "0123456789abcdef-before", "0123456789abcdef-after"
	m := startStuck(t, before)
	defer m.server.Close()
	status := func(token string) int {
		got, _ := fetch(t, "http://"+m.addr+"/metrics", token)
		return got
	}
	next := stuckOptions(after)
	m.patience = 50 * time.Millisecond
	until := make(chan struct{})
	m.src.hang <- until
	if err := m.applyReload(next); !errors.Is(err, errStandsStill) || status(before) != 200 || status(after) != 401 {
		t.Errorf("got  %v, and the token of before %d, that of after %d\nwant %v, 200, 401", err, status(before), status(after), errStandsStill)
	}
	close(until)
	m.patience = timing.Patience
	if err := m.applyReload(next); err != nil || status(before) != 401 || status(after) != 200 {
		t.Errorf("got  %v, and the token of before %d, that of after %d\nwant nothing, 401, 200", err, status(before), status(after))
	}
	m.end(t)
}

// TestMonitorStalled: while a capture stands still, the program is not well, and says so; figures are
// those from before. Then all is as it was.
func TestMonitorStalled(t *testing.T) {
	t.Parallel()
	m := startStuck(t, "")
	defer m.server.Close()
	url, src := "http://"+m.addr, m.src
	is := func(path string, want int, word string) func() bool {
		return func() bool {
			status, body := fetch(t, url+path, "")
			return status == want && strings.Contains(body, word)
		}
	}
	timing.Await(t, "readiness", is("/readyz", 200, "ok"))
	for range 2 {
		until := make(chan struct{})
		src.hang <- until
		timing.Await(t, "bad health", is("/healthz", 503, "the capture stands still"))
		timing.Await(t, "no readiness", is("/readyz", 503, "the capture stands still"))
		timing.Await(t, "old figures", is("/metrics", 200, "\nqsniff_capture_standing_still 1\n"))
		close(until)
		timing.Await(t, "good health", is("/healthz", 200, "ok"))
		timing.Await(t, "figures", is("/metrics", 200, "\nqsniff_capture_standing_still 0\n"))
	}
	m.end(t)
	if !is("/readyz", 503, "not yet")() {
		t.Error("ready after the end")
	}
}

// fetch returns the status and the body of a page, which may want a token.
func fetch(t *testing.T, url, token string) (int, string) {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		q.Header.Set("Authorization", "Bearer "+token)
	}
	c := http.Client{Timeout: timing.Patience}
	r, err := c.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(b)
}
