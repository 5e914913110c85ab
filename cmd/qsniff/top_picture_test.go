//go:build !js

package main

import (
	"context"
	"io"
	"net/netip"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"qsniff/capture"
	"qsniff/capture/file"
	"qsniff/capture/play"
	"qsniff/capture/recent"
	"qsniff/dissect/protocols"
	"qsniff/internal/app/top"
	"qsniff/internal/flood"
	"qsniff/internal/flood/advice"
	"qsniff/internal/monitor"
	"qsniff/internal/pipeline"
	"qsniff/internal/render/tally"
	"qsniff/internal/tools/shot"
)

// topFrames are the recording of qsniff top in the README: how far into the capture it is, the
// keys that are pressed then, and how long what they show is seen.
var topFrames = []struct {
	at      time.Duration
	keys    []rune
	seconds int
}{
	{35 * time.Second, nil, 3},
	{42 * time.Second, nil, 4},
	{0, []rune{'i'}, 5},
	{time.Minute, []rune{tea.KeyEnter}, 4},
	{0, []rune{tea.KeyEnter, tea.KeyTab, tea.KeyDown, tea.KeyDown, tea.KeyDown, tea.KeyDown, tea.KeyDown, tea.KeyDown}, 4},
}

// untilSource is a source that ends before a time.
type untilSource struct {
	capture.Source
	end int64
}

func (s *untilSource) Read(b *capture.Batch) error {
	err := s.Source.Read(b)
	for i := range b.Packets {
		if b.Packets[i].Nanos > s.end {
			b.Packets = b.Packets[:i]
			return io.EOF
		}
	}
	return err
}

// stillTop is a top.Source of one state.
type stillTop struct{ state *top.State }

func (s *stillTop) Take(context.Context) *top.State { return s.state }
func (s *stillTop) Open(netip.AddrPort)             {}

// readTop returns what top shows of a capture until a time after its begin, and its packets.
func readTop(t *testing.T, name string, after time.Duration) (*top.State, *recent.Store, pipeline.Config) {
	t.Helper()
	r, err := file.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	reg := protocols.NewRegistry()
	const begin = 1_700_000_000e9 // of all captures of this repository
	cfg := pipeline.Config{Source: &untilSource{r, begin + int64(after)}, Registry: reg, Out: io.Discard, Jobs: 1}
	store := recent.NewStore()
	feed := top.NewFeed(&cfg, monitor.Options{MaxServers: 16, Scale: 1, Clock: monotonic}, readDefaults().newDetector(reg, flood.Defaults(), advice.DefaultExpiry), nil, store)
	run, err := pipeline.Run(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	now, cancel := context.WithCancel(context.Background())
	cancel() // there is nothing to wait for
	feed.Meter.Snapshot(now)
	cfg.Progress(r.Stats(), func() tally.Run { return run })
	state := feed.Take(now)
	state.Play = &play.State{First: run.First, Position: state.Nanos, Speed: 1}
	return state, store, cfg
}

// topMovie records screens of top.
func topMovie(t *testing.T) []byte {
	t.Helper()
	var frames []shot.Frame
	var m *top.Model
	for _, f := range topFrames {
		if f.at > 0 {
			state, store, cfg := readTop(t, "pcapfiles/floods/spoofed.pcap", f.at)
			m = top.New(top.Options{Source: &stillTop{state}, Decoder: &top.Decoder{Registry: cfg.Registry, Store: store}, Input: "spoofed.pcap", Settings: top.DefaultSettings(),
				UTC: true, Limits: flood.Defaults(), Expiry: advice.DefaultExpiry, Rules: (&topRun{opts: new(topOptions)}).rules})
			m.Update(tea.WindowSizeMsg{Width: 110, Height: 26})
			runCommand(m, m.Init())
		}
		for _, k := range f.keys {
			_, cmd := m.Update(tea.KeyPressMsg{Code: k})
			runCommand(m, cmd)
		}
		frames = append(frames, shot.Frame{Output: []byte(m.View().Content), Seconds: f.seconds})
	}
	svg, err := shot.Movie("qsniff top: a flood begins, what to do about it, the server that it is on, and an exchange with its bytes", frames)
	if err != nil {
		t.Fatal(err)
	}
	return svg
}

// runCommand runs a command of a model, and gives the model what that brings. What waits for the
// time of day is left out.
func runCommand(m *top.Model, cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	msg := cmd()
	if all, ok := msg.(tea.BatchMsg); ok { // of a state: what is looked at next, and a tick
		if len(all) > 0 {
			runCommand(m, all[0])
		}
		return
	}
	if msg != nil {
		_, next := m.Update(msg)
		runCommand(m, next)
	}
}
