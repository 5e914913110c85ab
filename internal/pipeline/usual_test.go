package pipeline

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"testing"

	"qsniff/capture"
	"qsniff/internal/render"
	"qsniff/internal/render/jsonl"
	"qsniff/internal/render/tally"
	"qsniff/internal/test/protos"
	"qsniff/internal/track"
)

// learned is what a run tells a listener, a line each.
type learned struct{ lines []string }

func (l *learned) AddFact(f *track.Fact, found []track.Found, info *track.ServerInfo) {
	l.lines = append(l.lines, fmt.Sprintf("%+v, %+v, server reports: %v", *f, found, info != nil))
}

func (l *learned) AddFinding(frame uint64, nanos int64, server, client netip.AddrPort, found track.Found) {
	l.lines = append(l.lines, fmt.Sprint(frame, nanos, server, client, found))
}

// TestShortWay: requests of the usual forms give the same facts, findings and counts where they are
// rendered, which takes the long way. Twice the captures are more than a batch, and repeat requests.
func TestShortWay(t *testing.T) {
	data := mixed(t, 2)
	run := func(cfg Config) ([]string, tally.Run) {
		l := &learned{}
		cfg.Source, cfg.Registry, cfg.Out, cfg.Listener = open(t, data), protos.Registry(t), io.Discard, l
		sum, err := Run(context.Background(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		return l.lines, sum
	}
	want, sum := run(Config{Jobs: 1, Renderer: jsonl.New(jsonl.Options{})})
	for _, jobs := range []int{1, 2, 3} {
		got, of := run(Config{Jobs: jobs})
		if len(got) != len(want) || fmt.Sprint(of) != fmt.Sprint(sum) {
			t.Errorf("%d jobs\ngot  %d facts, %+v\nwant %d, %+v", jobs, len(got), of, len(want), sum)
		}
		for i := range min(len(got), len(want)) {
			if got[i] != want[i] {
				t.Fatalf("%d jobs, fact %d\ngot  %s\nwant %s", jobs, i, got[i], want[i])
			}
		}
	}
	counted, err := Run(context.Background(), Config{Jobs: 2, Source: open(t, data), Registry: protos.Registry(t), Out: io.Discard})
	if err != nil || fmt.Sprint(counted.Types, counted.Messages) != fmt.Sprint(sum.Types, sum.Messages) {
		t.Errorf("counted only: %v\ngot  %v\nwant %v", err, counted.Types, sum.Types)
	}
}

// TestShortWayFiltered: where a filter chooses no requests of the usual forms, or not all, everything
// is as where all messages are read for a sink of packets.
func TestShortWayFiltered(t *testing.T) {
	data := mixed(t, 1, "floods", "stories")
	run := func(text string, cfg Config) (string, []string, tally.Run) {
		var out bytes.Buffer
		l := &learned{}
		cfg.Source, cfg.Registry, cfg.Out = open(t, data), protos.Registry(t), &out
		cfg.Filter = &Filter{Program: compile(t, text)}
		if cfg.Renderer == nil {
			cfg.Listener = l
		}
		sum, err := Run(context.Background(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		return out.String(), l.lines, sum
	}
	for i, text := range []string{
		"a2s.info.players > 2", "a2s.info.players > 300", "not a2s", "a2s.challenge", "message == A2S_INFO", "message != A2S_INFO", "!a2s.info.players",
		"finding", "exchange.answered", "rtt > 1ms", "frame.number in {7..900} and a2s.info.players", "count(a2s.rules.rules.name) > 3",
		"goldsource.print.text_secret", "rcon.id > 3", `payload contains "rcon"`, "split.part",
	} {
		if testing.Short() && i%4 != 0 { // these compare with facts, fields, exchanges and hidden text
			continue
		}
		for _, r := range []render.Renderer{nil, jsonl.New(jsonl.Options{})} {
			out, facts, sum := run(text, Config{Jobs: 2, Renderer: r})
			want, wantFacts, wantSum := run(text, Config{Jobs: 1, Renderer: r, Packets: noPackets{}})
			if out != want || !slices.Equal(facts, wantFacts) || fmt.Sprint(sum) != fmt.Sprint(wantSum) {
				t.Errorf("%s, rendered: %v\ngot  %d bytes, %d facts, %+v\nwant %d, %d, %+v", text, r != nil, len(out), len(facts), sum, len(want), len(wantFacts), wantSum)
			}
		}
	}
}

// noPackets is a PacketSink that wants none.
type noPackets struct{}

func (noPackets) AppendNote(dst []byte, _ *render.Event, _ bool) ([]byte, bool) { return dst, false }
func (noPackets) AddMessage(*Pick)                                              {}
func (noPackets) AddPackets(*capture.Batch) error                               { return nil }

// TestUsualRequests: most requests of the shipped captures take the short way, also where a filter
// chooses none of them but findings, so the tests above are about them.
func TestUsualRequests(t *testing.T) {
	batches := prepare(t, mixed(t, 1))
	for _, f := range []*Filter{nil, {Program: compile(t, "record == finding and not a2s")}} {
		testUsualRequests(t, batches, &Config{Registry: protos.Registry(t), Listener: &learned{}, Filter: f})
	}
}

func testUsualRequests(t *testing.T, batches []*batch, cfg *Config) {
	parts, briefs, spans := partitionsOf(cfg), 0, 0
	for _, b := range batches {
		for _, p := range parts {
			p.begin(b)
			seg := new(segment)
			for i := range b.items {
				if it := &b.items[i]; it.part == p.now.part || it.part == allPartitions {
					p.process(int32(i), it, seg)
				}
			}
			briefs += len(seg.briefs)
			for i := range seg.spans {
				if x := &seg.spans[i]; x.isMessage && !x.fact.Reply && !x.fact.TCP {
					spans++
				}
			}
		}
	}
	if briefs < spans {
		t.Errorf("got  %d briefs and %d spans of requests\nwant more briefs", briefs, spans)
	}
}
