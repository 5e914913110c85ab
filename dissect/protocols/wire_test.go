package protocols

import (
	"bytes"
	"reflect"
	"slices"
	"testing"

	"qsniff/dissect"
	"qsniff/dissect/finding"
	"qsniff/reassembly/wire"
)

// TestWire: every type of message in datagrams says what it looks like, and each
// datagram of the captures that is one looks so.
func TestWire(t *testing.T) {
	reg := registry(t)
	seen := map[*dissect.Type]bool{}
	foreign := 0
	all := datagrams(t, groups(t)...)
	for _, d := range all {
		b := d.Payload
		c := &dissect.Context{Src: d.Src, Dst: d.Dst, Wire: len(b)}
		v := reg.Pick(c, b)
		if v.Dissector == nil || !reg.Believe(c, &v) {
			for _, p := range overUDP() {
				foreign += len(matching(p.Proto(), b, false))
			}
			continue
		}
		seen[v.Type] = true
		if !v.Type.Matches(b, len(b)) {
			t.Errorf("%s: no pattern of it fits % x", v.Type.Name, b[:min(len(b), 32)])
		}
	}
	for _, d := range overUDP() {
		for _, typ := range d.Proto().Types {
			if len(typ.Wire) == 0 {
				t.Errorf("%s %s does not say what it looks like", d.Proto().Name, typ.Name)
			}
		}
	}
	t.Logf("%d datagrams, %d types in them; patterns that are not for ports only fit what is nobody's %d times",
		len(all), len(seen), foreign)
	if len(seen) < 30 {
		t.Errorf("only %d types were seen", len(seen))
	}
}

// matching lists the types of p that b looks like, with the patterns for ports only
// or without them.
func matching(p *dissect.Proto, b []byte, ports bool) (all []*dissect.Type) {
	for _, typ := range p.Types {
		for i := range typ.Wire {
			if w := &typ.Wire[i]; (ports || w.AtPort == "") && w.Match(b, len(b)) {
				all = append(all, typ)
				break
			}
		}
	}
	return all
}

// TestPatterns: a pattern is one that a filter can be made of.
func TestPatterns(t *testing.T) {
	for _, d := range overUDP() {
		proto := d.Proto()
		for _, typ := range proto.Types {
			checkPatterns(t, typ.Name, typ.Wire)
			if typ.Token != nil {
				checkPatterns(t, typ.Name, typ.Token.Plain)
			}
		}
		checkPatterns(t, proto.Name, proto.Neighbours)
		for _, p := range proto.Neighbours {
			if p.Offset != 0 || !bytes.HasPrefix(p.Value, proto.Mark) {
				t.Errorf("%s: a neighbour without the mark: % x", proto.Name, p.Value)
			}
		}
	}
}

func checkPatterns(t *testing.T, name string, patterns []dissect.Pattern) {
	t.Helper()
	const most = 36 // what a rule of iptables has room for, in bytes, with a bit to spare
	for _, p := range patterns {
		switch {
		case len(p.Value) == 0 || len(p.Value) > most || p.Mask != nil && len(p.Mask) != len(p.Value):
			t.Errorf("%s: %d bytes, a mask of %d", name, len(p.Value), len(p.Mask))
		case p.MinLen < p.Offset+len(p.Value) || p.MaxLen > 0 && p.MaxLen < p.MinLen:
			t.Errorf("%s: %d bytes in payloads of %d to %d", name, p.Offset+len(p.Value), p.MinLen, p.MaxLen)
		}
		for i := range p.Mask {
			if p.Value[i]&^p.Mask[i] != 0 {
				t.Errorf("%s: byte %d of its value has bits outside the mask", name, i)
			}
		}
	}
}

// TestTokens: where a type says that its token is, the message has its key, and what
// it says of requests without one has none. Who pairs messages knows a reply that gives a
// token by its role.
func TestTokens(t *testing.T) {
	reg := registry(t)
	for _, p := range reg.Protos() {
		for _, typ := range p.Types {
			if typ.GivesToken() && !typ.Asks.Has(dissect.AskChallenge) {
				t.Errorf("%s gives a token, and is no answer to AskChallenge", typ.Name)
			}
		}
	}
	keyed, plain := 0, 0
	for _, d := range datagrams(t, groups(t)...) {
		b := d.Payload
		c := &dissect.Context{Src: d.Src, Dst: d.Dst, Wire: len(b)}
		v := reg.Pick(c, b)
		if v.Conf < dissect.Likely || v.Type.Token == nil {
			continue
		}
		var m dissect.Message
		m.Reset(v.Dissector.Proto(), b)
		v.Dissector.Dissect(c, v.Type, b, &m)
		isPlain := slices.ContainsFunc(v.Type.Token.Plain, func(p dissect.Pattern) bool { return p.Match(b, len(b)) })
		switch {
		case isPlain && m.Key != 0:
			t.Errorf("%s is plain and has the key %#x: % x", v.Type.Name, m.Key, b)
		case isPlain:
			plain++
		case m.Key != 0 && m.Status == dissect.Complete:
			keyed++
		}
	}
	if keyed < 20 || plain < 20 {
		t.Errorf("only %d messages with a token and %d without one", keyed, plain)
	}
}

// TestMarks: who splits messages, and who gives them a mark, is known by that.
func TestMarks(t *testing.T) {
	reg := registry(t)
	single := string([]byte{0xff, 0xff, 0xff, 0xff})
	if !reg.IsJunk([]byte(single+"x")) || reg.IsJunk([]byte(single)) || reg.IsJunk([]byte("\xff\xff\xff\xfex")) {
		t.Error("junk is what begins with FF FF FF FF and goes on")
	}
	var got []string
	for _, m := range reg.Marks() {
		got = append(got, string(m))
	}
	if want := []string{single, string(wire.SplitMark)}; !slices.Equal(got, want) {
		t.Errorf("\ngot  %q\nwant %q", got, want)
	}
}

// TestPairCodes: findings that others raise for a protocol are among its own or those of all, so that
// they are explained.
func TestPairCodes(t *testing.T) {
	for _, d := range All() {
		p := d.Proto()
		for _, code := range reflect.ValueOf(p.Pairs).Fields() {
			if c := code.Interface().(*finding.Code); c != nil && !slices.Contains(p.Codes, c) && !slices.Contains(dissect.Codes, c) {
				t.Errorf("%s: %s is not among its findings", p.Name, c.ID)
			}
		}
		if p.Operator == (dissect.Operator{}) {
			t.Errorf("%s has nothing to tell those who run servers", p.Name)
		}
	}
}
