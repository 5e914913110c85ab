package subset

import (
	"bytes"
	"context"
	"errors"
	"net/netip"
	"path/filepath"
	"testing"

	"qsniff/capture"
	"qsniff/capture/file"
	"qsniff/capture/packet"
	"qsniff/internal/pipeline"
	"qsniff/internal/pipeline/filter"
	"qsniff/internal/render/tally"
	"qsniff/internal/render/text"
	"qsniff/internal/test/protos"
)

// run runs the pipeline over a capture with a sink, for the messages that match an expression; all,
// if it is empty.
func run(t *testing.T, name string, sink pipeline.PacketSink, expr string) {
	t.Helper()
	src, err := file.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	reg := protos.Registry(t)
	cfg := pipeline.Config{Source: src, Registry: reg, Jobs: 2, Packets: sink}
	if expr != "" {
		p, err := filter.Compile(expr, reg, filter.Options{})
		if err != nil {
			t.Fatal(err)
		}
		cfg.Filter = &pipeline.Filter{Program: p}
	}
	if _, err := pipeline.Run(context.Background(), cfg); err != nil {
		t.Fatal(err)
	}
}

// TestFilter: the packets of the messages that a filter chooses are written, with all
// their parts and no others, whether the capture is read twice or held back.
func TestFilter(t *testing.T) {
	const name = "../../../pcapfiles/split/source-old-two-parts.pcap"
	const isJoined = "split.total > 1"
	comment := text.NewComment(text.Options{})
	written := func(plan *Plan) ([]byte, tally.Subset) {
		var b bytes.Buffer
		out := file.NewWriter(&b, "test", file.WriteOptions{})
		w := NewWriter(Options{Out: out, Plan: plan, Comment: comment})
		run(t, name, w, isJoined)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if err := out.Close(); err != nil {
			t.Fatal(err)
		}
		return b.Bytes(), w.Stats()
	}
	planned := func(near int) *Plan {
		plan := NewPlan()
		plan.near = near
		run(t, name, plan.Collector(&Options{Comment: comment}), isJoined)
		return plan
	}
	twice, n := written(planned(nearBytes))
	if want := (tally.Subset{Messages: 1, Packets: 2}); n != want {
		t.Errorf("counts are %+v, want %+v", n, want)
	}
	if !bytes.Contains(twice, []byte("part of frame")) || !bytes.Contains(twice, []byte("S2A_RULES")) {
		t.Error("comments are missing")
	}
	if far, n := written(planned(0)); !bytes.Equal(far, twice) {
		t.Errorf("with a plan for all, it is another file: %+v", n)
	}
	if held, n := written(nil); !bytes.Equal(held, twice) {
		t.Errorf("what was held back is not what was read twice: %+v", n)
	}
}

// TestPlan: what is written does not depend on how much of it the plan has, with everything
// that is overwritten.
func TestPlan(t *testing.T) {
	names, err := filepath.Glob("../../../pcapfiles/*/*.pcap*")
	if err != nil || len(names) < 100 {
		t.Fatalf("%d captures, %v", len(names), err)
	}
	planned := 0
	for i, name := range names {
		if testing.Short() && i%8 != 0 {
			continue
		}
		written := func(near int) ([]byte, tally.Subset) {
			var b bytes.Buffer
			var w *Writer
			o := Options{Plan: NewPlan(), Comment: text.NewComment(text.Options{}), Edits: Mask{}}
			o.Plan.near = near
			run(t, name, o.Plan.Collector(&o), "")
			planned += int(o.Plan.memos.next - 1)
			o.Out = file.NewWriter(&b, "test", file.WriteOptions{Mask: func(p *capture.Packet, b []byte) { w.Edit(p, b) }})
			w = NewWriter(o)
			run(t, name, w, "")
			if err := errors.Join(w.Close(), o.Out.Close()); err != nil {
				t.Fatal(err)
			}
			return b.Bytes(), w.Stats()
		}
		far, n := written(0)
		near, m := written(nearBytes)
		if !bytes.Equal(far, near) || n != m {
			t.Errorf("%s: %+v is not %+v", name, n, m)
		}
	}
	if planned == 0 {
		t.Error("no plan has anything")
	}
}

// TestStretchTouched: a packet is part of a stretch if one byte of it is.
func TestStretchTouched(t *testing.T) {
	s := newStretches()
	src, dst := netip.MustParseAddrPort("198.18.0.1:27015"), netip.MustParseAddrPort("10.64.0.1:4000")
	s.push(&stretch{of: connDir{src, dst}, seq: 100, n: 10, frame: 9})
	for _, tt := range []struct {
		seq       uint32
		wire      int
		isTouched bool
	}{{90, 10, false}, {90, 11, true}, {109, 5, true}, {110, 5, false}} {
		x := &packet.Packet{Src: src, Dst: dst, Wire: tt.wire}
		x.TCP.Seq = tt.seq
		if got := len(s.appendTo(nil, 5, x)) > 0; got != tt.isTouched {
			t.Errorf("%d bytes at %d\ngot  %t\nwant %t", tt.wire, tt.seq, got, tt.isTouched)
		}
	}
}
