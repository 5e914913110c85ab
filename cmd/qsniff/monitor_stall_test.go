//go:build !js

package main

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"qsniff/capture"
	"qsniff/internal/test/timing"
	"qsniff/monitor/serve"
	"qsniff/pipeline"
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

// TestMonitorStalled: while a capture stands still, the program is not well, and says so; figures are
// those from before. Then all is as it was.
func TestMonitorStalled(t *testing.T) {
	t.Parallel()
	opts := newMonitorOptions()
	opts.register(&cobra.Command{})
	m := newMonitorRun(opts, streams{io.Discard, io.Discard})
	m.stall = 100 * time.Millisecond
	l, err := serve.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := m.addServer(l); err != nil {
		t.Fatal(err)
	}
	reg, err := newRegistry()
	if err != nil {
		t.Fatal(err)
	}
	src := &stuckSource{make(chan chan struct{})}
	m.in = &monitored{cfg: pipeline.Config{Source: src, Registry: reg, Jobs: 1, Clock: monotonic}, ctx: context.WithoutCancel(t.Context()),
		stop: func() {}, close: func() error { return nil }}
	if err := m.addStages(); err != nil {
		t.Fatal(err)
	}
	failed, ended := make(chan error, 1), make(chan error)
	go func() { failed <- m.server.Serve() }()
	go func() { ended <- m.run(t.Context(), failed) }()
	url := "http://" + l.Addr().String()
	is := func(path string, want int, word string) func() bool {
		return func() bool {
			status, body := fetch(t, url+path)
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
	src.hang <- nil
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if !is("/readyz", 503, "not yet")() {
		t.Error("ready after the end")
	}
	m.server.Close()
}

// fetch returns the status and the body of a page.
func fetch(t *testing.T, url string) (int, string) {
	t.Helper()
	c := http.Client{Timeout: timing.Patience}
	r, err := c.Get(url)
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
