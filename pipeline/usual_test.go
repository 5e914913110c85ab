package pipeline

import (
	"context"
	"fmt"
	"io"
	"net/netip"
	"testing"

	"qsniff/render/jsonl"
	"qsniff/render/tally"
	"qsniff/track"
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
		cfg.Source, cfg.Registry, cfg.Out, cfg.Listener = open(t, data), registry(t), io.Discard, l
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
	counted, err := Run(context.Background(), Config{Jobs: 2, Source: open(t, data), Registry: registry(t), Out: io.Discard})
	if err != nil || fmt.Sprint(counted.Types, counted.Messages) != fmt.Sprint(sum.Types, sum.Messages) {
		t.Errorf("counted only: %v\ngot  %v\nwant %v", err, counted.Types, sum.Types)
	}
}

// TestUsualRequests: most requests of the shipped captures take the short way, so TestShortWay is
// about them.
func TestUsualRequests(t *testing.T) {
	parts := partitionsOf(&Config{Registry: registry(t), Listener: &learned{}})
	briefs, spans := 0, 0
	for _, b := range prepare(t, mixed(t, 1)) {
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
