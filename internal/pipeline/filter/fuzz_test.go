package filter_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"qsniff/dissect"
	"qsniff/dissect/finding"
	"qsniff/internal/flood"
	"qsniff/internal/pipeline/filter"
	"qsniff/internal/render"
	"qsniff/internal/render/jsonl"
	"qsniff/internal/test/dissecttest"
	"qsniff/internal/test/protos"
)

// FuzzParse: what parses is written in a form that parses to the same; what does not has its
// error in the text; and whatever compiles matches without a panic.
func FuzzParse(f *testing.F) {
	for _, text := range steady {
		f.Add(text)
	}
	for _, tc := range wrong {
		f.Add(tc.text)
	}
	for _, tc := range wireshark {
		f.Add(tc.text)
	}
	f.Add("000\xf0\xf0(0)") // a function whose name is longer in UTF-8
	reg := protos.Registry(f)
	k := readCapture(f, reg, "../../../pcapfiles/a2s/full-poll.pcap")
	f.Fuzz(func(t *testing.T, text string) {
		checkErrors(t, reg, text)
		written, err := filter.Parse(text)
		if err != nil {
			return
		}
		again, err := filter.Parse(written)
		if err != nil || again != written {
			t.Fatalf("%q is written as %q, and that as %q, %v", text, written, again, err)
		}
		p, compileErr := filter.Compile(text, reg, filter.Options{})
		q, writtenErr := filter.Compile(written, reg, filter.Options{})
		if (compileErr == nil) != (writtenErr == nil) {
			t.Fatalf("%q: %v; %q: %v", text, compileErr, written, writtenErr)
		}
		if compileErr != nil {
			return
		}
		m, n := p.Matcher(), q.Matcher()
		for _, e := range k.events {
			if a, b := m.Match(e), n.Match(e); a != b {
				t.Fatalf("%q gives %x, %q gives %x", text, a, written, b)
			}
		}
		m.MatchRecord(&render.Record{Expert: &finding.Expert{Code: &dissect.Deprecated}})
		m.MatchIncident(&render.IncidentEvent{Incident: new(flood.Incident)})
	})
}

// checkErrors fails t where the error of an expression is not in its text.
func checkErrors(t *testing.T, reg *dissect.Registry, text string) {
	t.Helper()
	_, err := filter.Compile(text, reg, filter.Options{})
	if err == nil {
		return
	}
	var e *filter.Error
	if !errors.As(err, &e) || e.Text != text || e.From < 0 || e.From > e.To || e.To > len(text) || e.Message == "" {
		t.Fatalf("%q: %+v", text, e)
	}
	if lines := strings.Split(e.Page(), "\n"); len(lines) != 3 {
		t.Errorf("%q: %q", text, lines)
	}
}

// FuzzComplete: what is proposed begins with what was typed.
func FuzzComplete(f *testing.F) {
	f.Add("a2s.info.pl")
	f.Add("players > 3 and message == S2A")
	f.Add(`via in {"IP in`)
	reg := protos.Registry(f)
	f.Fuzz(func(t *testing.T, prefix string) {
		for _, c := range filter.Complete(prefix, reg, filter.Options{}) {
			if len(c) < len(prefix) || !strings.EqualFold(c[:len(prefix)], prefix) {
				t.Fatalf("%q does not begin with %q", c, prefix)
			}
		}
	})
}

// FuzzMatch: random expressions give for whatever is decoded of fuzzed bytes what the naive
// evaluator makes of its JSON.
func FuzzMatch(f *testing.F) {
	reg := protos.Registry(f)
	defs := kindsOf(reg)
	for i, e := range readCapture(f, reg, "../../../pcapfiles/a2s/full-poll.pcap").events {
		f.Add(uint64(i), e.Msg.Data, e.Reply)
	}
	f.Add(uint64(9), []byte("\xff\xff\xff\xffrcon 12 \"secret\" status\n\x00"), false)
	f.Add(uint64(10), []byte("EYE1\x05mta\x0622003\x05abc\x01\x01\x01\x010\x022\x01"), true)
	client, server := dissecttest.Client, dissecttest.Server
	f.Fuzz(func(t *testing.T, seed uint64, data []byte, isReply bool) {
		c := &dissect.Context{Src: client, Dst: server, Wire: len(data)}
		if isReply {
			c.Src, c.Dst = server, client
		}
		v := reg.Pick(c, data)
		if v.Dissector == nil {
			return
		}
		m := new(dissect.Message)
		m.Reset(v.Dissector.Proto(), data)
		v.Dissector.Dissect(c, v.Type, data, m)
		e := &render.Event{Frame: 7, File: -1, Iface: -1, Src: c.Src, Dst: c.Dst, Reply: isReply, Msg: m, Exchange: render.Exchange{RTT: -1, ChallengeRTT: -1}}
		d := read(t, defs, e)
		if d.isLossy() {
			return
		}
		g := &generator{Rand: rand.New(rand.NewPCG(seed, 1)), values: map[string][]any{}}
		for name, all := range d.values {
			if all = slices.DeleteFunc(slices.Clone(all), isLong); len(all) > 0 {
				g.values[name], g.names = all, append(g.names, name)
			}
		}
		slices.Sort(g.names)
		for range 10 {
			x := g.junction(g.IntN(4))
			p, err := filter.Compile(x.text, reg, filter.Options{})
			if err != nil {
				t.Fatalf("%s: %v", x.text, err)
			}
			got, want := p.Matcher().Match(e), x.eval(d)
			if (got == filter.All) != want || want && !(p.CanMatch(m.Proto, m.Type) && p.Matcher().MayMatch(m)) {
				t.Fatalf("%s\ngot %x, want %v for %s", x.text, got, want, jsonl.New(jsonl.Options{Layout: true}).Append(nil, e))
			}
		}
	})
}
