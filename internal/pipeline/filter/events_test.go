package filter_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"qsniff/capture/file"
	"qsniff/dissect"
	"qsniff/internal/pipeline"
	"qsniff/internal/pipeline/filter"
	"qsniff/internal/render"
	"qsniff/internal/test/protos"
)

// compile compiles an expression that must be right.
func compile(t testing.TB, text string, o filter.Options) *filter.Program {
	t.Helper()
	p, err := filter.Compile(text, protos.Registry(t), o)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return p
}

// keeper is a renderer that keeps what it is given.
type keeper struct {
	events  []*render.Event
	records []*render.Record
}

func (k *keeper) Append(dst []byte, e *render.Event) []byte {
	c := *e
	c.Msg = new(dissect.Message)
	e.Msg.Clone(c.Msg)
	c.Frames, c.Ways, c.Comments = slices.Clone(e.Frames), slices.Clone(e.Ways), slices.Clone(e.Comments)
	if e.Split != nil {
		s := *e.Split
		c.Split = &s
	}
	k.events = append(k.events, &c)
	return dst
}

func (k *keeper) AppendRecord(dst []byte, r *render.Record) []byte {
	c := *r
	expert := *r.Expert
	c.Expert, c.Frames = &expert, slices.Clone(r.Frames)
	k.records = append(k.records, &c)
	return dst
}

// readCapture returns the messages and records of a file.
func readCapture(t testing.TB, reg *dissect.Registry, name string) *keeper {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	src, err := file.NewReader(f, name)
	if err != nil {
		return &keeper{} // a damaged capture
	}
	k := new(keeper)
	if _, err := pipeline.Run(context.Background(), pipeline.Config{Source: src, Registry: reg, Renderer: k, Out: discard{}, Jobs: 1}); err != nil {
		t.Logf("%s: %v", name, err)
	}
	return k
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }

// sample is the registry and what all captures of the repository hold.
type sample struct {
	reg *dissect.Registry
	keeper
}

var (
	once   sync.Once
	shared sample
)

// captures returns what the captures of the repository hold, but for floods, which are the
// same messages thousands of times.
func captures(t testing.TB) *sample {
	once.Do(func() {
		shared.reg = protos.Registry(t)
		names, err := filepath.Glob("../../../pcapfiles/*/*.pcap")
		if err != nil || len(names) < 100 {
			t.Fatalf("%d captures, %v", len(names), err)
		}
		for _, name := range names {
			if filepath.Base(filepath.Dir(name)) == "floods" {
				continue
			}
			k := readCapture(t, shared.reg, name)
			shared.events, shared.records = append(shared.events, k.events...), append(shared.records, k.records...)
		}
	})
	if len(shared.events) < 500 {
		t.Fatalf("%d messages", len(shared.events))
	}
	return &shared
}
