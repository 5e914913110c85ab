//go:build !js

package main

import (
	"context"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"qsniff/capture/file"
	"qsniff/dissect/protocols"
	"qsniff/internal/fleet"
	"qsniff/internal/monitor/serve"
	"qsniff/internal/pipeline"
	"qsniff/internal/track"
)

// TestMonitorFleet: a monitor makes messages of what it reads: of windows, incidents and findings,
// with the hashes of the fleet, and without addresses of clients unless it is asked for them.
func TestMonitorFleet(t *testing.T) {
	t.Parallel()
	secret, err := fleet.NewSecret([]byte("of all sensors and hubs"))
	if err != nil {
		t.Fatal(err)
	}
	for _, addresses := range []bool{false, true} {
		opts := newMonitorOptions()
		opts.register(&cobra.Command{})
		opts.findings, opts.fleet = "warn", fleetOptions{name: "ams-1", secret: secret, addresses: addresses}
		m := newMonitorRun(opts, streams{io.Discard, io.Discard})
		l, err := serve.Listen(t.Context(), "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		if err := m.addServer(l); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { m.server.Close() })
		reg := protocols.NewRegistry()
		name := filepath.Join(pcapfiles, "floods", "spoofed.pcap")
		src, err := file.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		m.in = &monitored{cfg: pipeline.Config{Source: src, Registry: reg, Jobs: 1, Out: io.Discard}, ctx: context.WithoutCancel(t.Context()), what: name}
		counts, text := map[fleet.Kind]int{}, ""
		m.toFleet = func(x fleet.Message) {
			data, err := fleet.Encode(x)
			if err != nil {
				t.Error(err)
			}
			counts[fleet.HeadOf(x).Kind]++
			text += string(data) + "\n"
			if s, ok := x.(*fleet.Server); ok && !s.IsMeasured {
				t.Errorf("not measured: %s", data)
			}
		}
		if err := m.addStages(); err != nil {
			t.Fatal(err)
		}
		if m.in.cfg.Seed != secret.Seed() || !slices.Contains(m.in.cfg.Watchers[1:], track.Watcher(m.meter)) {
			t.Error("the hashes are not those of the fleet, or the sensor is not the first watcher")
		}
		if _, err := pipeline.Run(t.Context(), m.in.cfg); err != nil {
			t.Fatal(err)
		}
		t.Log(counts)
		if counts[fleet.KindServer] == 0 || counts[fleet.KindHost] == 0 || counts[fleet.KindIncident] < 2 {
			t.Errorf("messages: %v", counts)
		}
		if has := strings.Contains(text, `"top_sources":[{"address"`); has != addresses {
			t.Errorf("messages have addresses: %t", has)
		}
		if !strings.Contains(text, `"input":"spoofed.pcap"`) {
			t.Error("messages do not name the capture")
		}
	}
}
