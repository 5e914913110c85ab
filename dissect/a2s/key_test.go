package a2s

import (
	"slices"
	"strings"
	"testing"

	"qsniff/dissect"
)

// FuzzKey: where Key answers, it answers what Dissect would, and nothing but the fields is
// missing of a brief message.
func FuzzKey(f *testing.F) {
	info := append([]byte("\xff\xff\xff\xffT"), "Source Engine Query\x00"...)
	seeds := [][]byte{info, append(info, 1, 2, 3, 4), append(info, 0, 0, 0, 0), append(info, 0xff, 0xff, 0xff, 0xff), info[:len(info)-1],
		append(info[:len(info)-1:len(info)-1], 1, 2, 3, 4), append(info, 1, 2, 3, 4, 0, 0), []byte("\xff\xff\xff\xffU\xff\xff\xff\xff"),
		[]byte("\xff\xff\xff\xffV\x01\x02\x03\x04"), []byte("\xff\xff\xff\xffA\x01\x02\x03\x04"), []byte("\xff\xff\xff\xffA\x00\x00\x00\x00"),
		[]byte("\xff\xff\xff\xffU"), []byte("\xff\xff\xff\xffW"), []byte("\xff\xff\xff\xff\xff\xff\xff\xffA")}
	for _, b := range seeds {
		f.Add(b, 0)
		f.Add(b, 4)
	}
	d := New()
	var m, brief dissect.Message
	f.Fuzz(func(t *testing.T, b []byte, cut int) {
		c := &dissect.Context{Wire: len(b) + max(cut, 0)%2000}
		k, typ := d.Probe(c, b)
		if k == dissect.No || typ.Reply && typ != &typeChallenge {
			return
		}
		got, form, ok := d.Key(c, typ, b)
		if !ok {
			return
		}
		m.Reset(d.Proto(), b)
		d.Dissect(c, typ, b, &m)
		if got != m.Key || form != m.Form {
			t.Errorf("% x of %d bytes\ngot  %#x, form %b\nwant %#x, form %b", b, c.Wire, got, form, m.Key, m.Form)
		}
		brief.ResetBrief(d, c, typ, d.Proto(), b)
		if brief.Type != m.Type || brief.Learn != m.Learn || brief.Wire != m.Wire || brief.Status != m.Status ||
			m.Secret != 0 || m.Refused || len(m.Expert) > 0 || slices.ContainsFunc(m.Fields, func(x dissect.Field) bool { return !slices.Contains(proto.Usual, x.Def) }) {
			t.Errorf("% x of %d bytes\ngot  %+v\nwant %+v", b, c.Wire, brief, m)
		}
	})
}

// TestKeyOfUsualMessages: the forms that floods are made of need no Dissect.
func TestKeyOfUsualMessages(t *testing.T) {
	tests := []struct {
		name, in string
		want     uint64
		form     dissect.Form
	}{
		{"A2S_INFO", "\xff\xff\xff\xffTSource Engine Query\x00", 0, dissect.NoToken},
		{"A2S_INFO with a challenge", "\xff\xff\xff\xffTSource Engine Query\x00\x01\x02\x03\x04", 1<<32 | 0x04030201, 0},
		{"A2S_PLAYER that asks for one", "\xff\xff\xff\xffU\xff\xff\xff\xff", 0, dissect.TokenOnes},
		{"A2S_PLAYER that asks for one with zeros", "\xff\xff\xff\xffU\x00\x00\x00\x00", 0, dissect.TokenZero},
		{"A2S_RULES with one", "\xff\xff\xff\xffV\x01\x02\x03\x04", 1<<32 | 0x04030201, 0},
		{"S2C_CHALLENGE", "\xff\xff\xff\xffA\x01\x02\x03\x04", 1<<32 | 0x04030201, 0},
	}
	d := New()
	for _, tt := range tests {
		b := []byte(tt.in)
		c := &dissect.Context{Wire: len(b)}
		_, typ := d.Probe(c, b)
		if got, form, ok := d.Key(c, typ, b); !ok || got != tt.want || form != tt.form {
			t.Errorf("%s: got %#x, %b, %v, want %#x, %b", tt.name, got, form, ok, tt.want, tt.form)
		}
	}
}

// TestFormOfOtherMessages: what only Dissect reads has a form, too.
func TestFormOfOtherMessages(t *testing.T) {
	const info = "\xff\xff\xff\xffTSource Engine Query\x00"
	tests := []struct {
		name, in string
		want     dissect.Form
	}{
		{"A2S_PLAYER without a challenge", "\xff\xff\xff\xffU", dissect.NoToken},
		{"A2S_SERVERQUERY_GETCHALLENGE with -1", "\xff\xff\xff\xffW\xff\xff\xff\xff", dissect.TokenOnes},
		{"A2S_INFO with a challenge and four bytes more", info + "\x01\x02\x03\x04\xff\xff\xff\xff", dissect.BytesAfter},
		{"A2S_INFO with a challenge and zeros", info + "\x01\x02\x03\x04\x00\x00", dissect.Padded},
		{"A2S_INFO with zeros", info + strings.Repeat("\x00", 1175), dissect.TokenZero | dissect.Padded},
	}
	d := New()
	var m dissect.Message
	for _, tt := range tests {
		b := []byte(tt.in)
		c := &dissect.Context{Wire: len(b)}
		_, typ := d.Probe(c, b)
		m.Reset(d.Proto(), b)
		if d.Dissect(c, typ, b, &m); m.Form != tt.want {
			t.Errorf("%s: got %b, want %b", tt.name, m.Form, tt.want)
		}
	}
}
