// Package dissecttest checks the rules that every message of every protocol keeps. It is
// imported by tests only.
package dissecttest

import (
	"bytes"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"qsniff/dissect"
	"qsniff/internal/test/race"
)

// Client and Server are ends for the contexts of tests.
var (
	Client = netip.MustParseAddrPort("10.64.0.1:40001")
	Server = netip.MustParseAddrPort("198.18.0.1:27015")
)

// Context returns the context of a message of n bytes on the wire, from server to client.
func Context(n int) *dissect.Context {
	return &dissect.Context{Src: Server, Dst: Client, Wire: n}
}

// Run dissects b with d in context c, as the type that Probe finds.
func Run(d dissect.Dissector, c *dissect.Context, b []byte) *dissect.Message {
	return runAs(d, c, nil, b)
}

// typeLen is how many bytes show the type of any message: FF FF FF FF and the longest
// word, with what follows it.
const typeLen = 24

// runAs is Run for the start of a message of type t: where Probe finds no type, and b
// has typeLen bytes, it dissects b as t.
func runAs(d dissect.Dissector, c *dissect.Context, t *dissect.Type, b []byte) *dissect.Message {
	_, typ := d.Probe(c, b)
	if typ == nil && len(b) >= typeLen {
		typ = t
	}
	m := new(dissect.Message)
	m.Reset(d.Proto(), b)
	d.Dissect(c, typ, b, m)
	return m
}

// CheckInvariants fails t where m is not what a message must be: every byte is in exactly
// one leaf, groups enclose their members, depths step by one. Fields with the flag Aux
// are exempt from the first rule; their extents and values must exist.
func CheckInvariants(t testing.TB, m *dissect.Message) {
	t.Helper()
	if len(m.Fields) > dissect.MaxFields {
		t.Errorf("%d fields, limit %d", len(m.Fields), dissect.MaxFields)
	}
	var open []*dissect.Field // groups around the field at hand
	next := uint32(0)         // first byte without a leaf
	for i := range m.Fields {
		f := &m.Fields[i]
		if int(f.Depth) > len(open) {
			t.Fatalf("field %d %s: depth %d below a depth of %d", i, f.Def.Name, f.Depth, len(open))
		}
		if isOwn := m.Proto != nil && slices.Contains(m.Proto.Types, m.Type); isOwn && // else the type has another protocol's fields
			!slices.Contains(m.Proto.Defs, f.Def) && !slices.Contains(dissect.Shared, f.Def) {
			t.Errorf("field %d %s is not declared by %s", i, f.Def.Name, m.Proto.Name)
		}
		if m.Type != nil && f.Depth == 0 && f.Def.Flags&dissect.Framing == 0 && !slices.Contains(m.Type.Fields, f.Def) && !slices.Contains(dissect.Shared, f.Def) {
			t.Errorf("field %d %s is not among the fields of %s", i, f.Def.Name, m.Type.Name)
		}
		open = open[:f.Depth]
		for _, g := range open {
			if f.Off < g.Off || f.Off+f.Len > g.Off+g.Len {
				t.Fatalf("field %d %s [%d,+%d) outside its group %s [%d,+%d)", i, f.Def.Name, f.Off, f.Len, g.Def.Name, g.Off, g.Len)
			}
		}
		if uint64(f.Off)+uint64(f.Len) > uint64(len(m.Data)) {
			t.Fatalf("field %d %s [%d,+%d) outside the %d bytes", i, f.Def.Name, f.Off, f.Len, len(m.Data))
		}
		if f.Def.Kind == dissect.Group || f.Def.Kind == dissect.List {
			open = append(open, f)
			continue
		}
		if f.Flags&dissect.Aux != 0 {
			checkAux(t, m, f)
		}
		if f.Flags&(dissect.Aux|dissect.Generated) != 0 {
			continue
		}
		if f.Off != next {
			t.Fatalf("field %d %s at %d, the field before ends at %d", i, f.Def.Name, f.Off, next)
		}
		next += f.Len
		if f.Len == 0 {
			t.Errorf("field %d %s is empty", i, f.Def.Name)
		}
		m.Bytes(f)
	}
	if int(next) != len(m.Data) {
		t.Fatalf("fields end at %d of %d bytes", next, len(m.Data))
	}
	checkFindings(t, m)
}

// checkFindings fails t where a finding of m points at no field, or has no text.
func checkFindings(t testing.TB, m *dissect.Message) {
	t.Helper()
	for _, e := range m.Expert {
		if e.Field < -1 || int(e.Field) >= len(m.Fields) {
			t.Errorf("%s points at field %d of %d", e.Code.ID, e.Field, len(m.Fields))
		}
		if len(e.AppendText(nil)) == 0 {
			t.Errorf("%s says nothing", e.Code.ID)
		}
	}
}

// checkAux fails t where the value of f, a field with the flag Aux, is not in m.Aux.
func checkAux(t testing.TB, m *dissect.Message, f *dissect.Field) {
	t.Helper()
	if f.Def.Kind != dissect.Text && f.Def.Kind != dissect.Bytes {
		return
	}
	if off, n := f.Num>>32, f.Num&0xffff_ffff; off+n > uint64(len(m.Aux)) {
		t.Fatalf("%s: value [%d,+%d) outside the %d bytes of Aux", f.Def.Name, off, n, len(m.Aux))
	}
}

// CheckFields fails t where m lacks a field of have, or has one of lack.
func CheckFields(t testing.TB, m *dissect.Message, have, lack []*dissect.Def) {
	t.Helper()
	for _, d := range have {
		if m.Find(d) == nil {
			t.Errorf("%s is missing", d.Name)
		}
	}
	for _, d := range lack {
		if m.Find(d) != nil {
			t.Errorf("%s is there", d.Name)
		}
	}
}

// CheckTruncations dissects every prefix of b twice: as cut by the capture, and as cut by
// the sender. The fields must be the first fields of the whole message, and only the
// former is Truncated. free lists definitions whose meaning depends on what follows, so
// that a prefix may read them differently. A prefix may be too short to have a type, may
// hide as a secret what the whole message shows to be none, and may end with the
// separators before a value that is missing.
func CheckTruncations(t *testing.T, d dissect.Dissector, c *dissect.Context, b []byte, free ...*dissect.Def) {
	t.Helper()
	whole := Run(d, c, b)
	for n := range len(b) {
		cut := *c
		cut.Wire = len(b)
		m := runAs(d, &cut, whole.Type, b[:n])
		CheckInvariants(t, m)
		if m.Status != dissect.Truncated {
			t.Errorf("captured %d of %d bytes: status %v", n, len(b), m.Status)
		}
		checkPrefix(t, whole, m, free)
		checkHidden(t, whole, m)

		sent := *c
		sent.Wire = n
		m = runAs(d, &sent, whole.Type, b[:n])
		CheckInvariants(t, m)
		if m.Status == dissect.Truncated {
			t.Errorf("sent %d bytes: status %v", n, m.Status)
		}
	}
}

// checkPrefix fails t where the leaves of m are not the first leaves of whole. The
// last may be cut.
func checkPrefix(t *testing.T, whole, m *dissect.Message, free []*dissect.Def) {
	t.Helper()
	if m.Type != whole.Type && len(m.Data) < typeLen {
		return
	}
	whole, m = inOrder(whole), inOrder(m)
	for i := range m.Fields {
		f := m.Fields[i]
		for _, d := range free {
			if f.Def == d {
				return
			}
		}
		if i >= len(whole.Fields) {
			t.Errorf("%d of %d bytes: field %d %s is not in the whole message", len(m.Data), len(whole.Data), i, f.Def.Name)
			return
		}
		w := whole.Fields[i]
		if f.Def == w.Def && f.Off == w.Off && (m.Pieces(i) > 1 || whole.Pieces(i) > 1) {
			return // what follows a word can make a secret of it: see checkHidden
		}
		hidden := f.Def.Flags&dissect.Secret != 0 && f.Off == w.Off
		framing := f.Def.Flags&dissect.Framing != 0 && f.Flags&dissect.Cut != 0 && i == len(m.Fields)-1
		if f.Def != w.Def && (hidden || framing) {
			return
		}
		if f.Def != w.Def || f.Off != w.Off || f.Depth != w.Depth {
			t.Errorf("%d of %d bytes: field %d\ngot  %s at %d\nwant %s at %d", len(m.Data), len(whole.Data), i, f.Def.Name, f.Off, w.Def.Name, w.Off)
			return
		}
		if group := f.Def.Kind == dissect.Group || f.Def.Kind == dissect.List; !group && f.Flags&dissect.Cut == 0 && f.Num != w.Num {
			t.Errorf("%d of %d bytes: %s\ngot  %d\nwant %d", len(m.Data), len(whole.Data), f.Def.Name, f.Num, w.Num)
		}
	}
}

// inOrder returns m without the fields that are not in the order of the wire: those that
// are decoded from bytes of others come after all.
func inOrder(m *dissect.Message) *dissect.Message {
	ordered := *m
	ordered.Fields = nil
	for _, f := range m.Fields {
		group := f.Def.Kind == dissect.Group || f.Def.Kind == dissect.List
		if f.Flags&dissect.Aux == 0 || f.Len == 0 && !group {
			ordered.Fields = append(ordered.Fields, f)
		}
	}
	return &ordered
}

// checkHidden fails t where a prefix shows what the whole message hides as a secret,
// blanks and quotes around it aside.
func checkHidden(t *testing.T, whole, m *dissect.Message) {
	t.Helper()
	secret := make([]bool, len(m.Data))
	each := func(m *dissect.Message, do func(at int)) {
		for i := range m.Fields {
			if f := &m.Fields[i]; f.Def.Flags&dissect.Secret != 0 {
				for at := f.Off; at < f.Off+f.Len; at++ {
					do(int(at))
				}
			}
		}
	}
	each(m, func(at int) { secret[at] = true })
	each(whole, func(at int) {
		if at < len(secret) && !secret[at] && !strings.ContainsRune(" \t\"", rune(whole.Data[at])) {
			t.Errorf("%d of %d bytes: the secret byte %d is shown", len(m.Data), len(whole.Data), at)
		}
	})
}

// CheckInput checks one input of a fuzzer: probing and dissecting keep the invariants
// whatever the bytes are, and a second run has the same result.
func CheckInput(t *testing.T, d dissect.Dissector, c *dissect.Context, b []byte) {
	k1, t1 := d.Probe(c, b)
	k2, t2 := d.Probe(c, b)
	if k1 != k2 || t1 != t2 {
		t.Errorf("probed twice: %v %v, then %v %v", k1, t1, k2, t2)
	}
	if k1 != dissect.No && t1 == nil {
		t.Errorf("confidence %v without a type", k1)
	}
	m := Run(d, c, b)
	CheckInvariants(t, m)
	if k1 != dissect.No && m.Type != t1 {
		t.Errorf("probe says %v, dissection %v", t1, m.Type)
	}
	again := Run(d, c, b)
	same := cmp.Comparer(func(a, b *dissect.Def) bool { return a == b })
	if diff := cmp.Diff(m.Fields, again.Fields, same); diff != "" {
		t.Errorf("second run differs:\n%s", diff)
	}
	if !bytes.Equal(m.Aux, again.Aux) {
		t.Errorf("second run decodes\n%x\nthe first\n%x", again.Aux, m.Aux)
	}
	if m.Status == dissect.Truncated && c.Wire <= len(b) {
		t.Error("truncated, but all was captured")
	}
}

// CheckMessage fails t unless m is of a type, has a status, and these findings.
func CheckMessage(t testing.TB, m *dissect.Message, typ string, status dissect.Status, findings string) {
	t.Helper()
	if m.Type == nil || m.Type.Name != typ || m.Status != status {
		t.Errorf("got  %v %v\nwant %s %v", m.Type, m.Status, typ, status)
	}
	if got := Findings(m); got != findings {
		t.Errorf("findings\ngot  %q\nwant %q", got, findings)
	}
}

// Findings lists the ids of the findings of m, with the severity where it is not the
// code's own.
func Findings(m *dissect.Message) string {
	var ids []string
	for _, e := range m.Expert {
		id := e.Code.ID
		if e.Severity != e.Code.Severity {
			id += " " + e.Severity.String()
		}
		ids = append(ids, id)
	}
	return strings.Join(ids, " ")
}

// CheckAllocations fails t where d allocates for a message that it has seen before.
func CheckAllocations(t *testing.T, d dissect.Dissector, c *dissect.Context, b []byte) {
	t.Helper()
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	m := new(dissect.Message)
	run := func() {
		_, typ := d.Probe(c, b)
		m.Reset(d.Proto(), b)
		d.Dissect(c, typ, b, m)
	}
	run()
	if n := testing.AllocsPerRun(100, run); n != 0 {
		t.Errorf("%v allocations for %s: %x", n, m.Type.Name, b)
	}
}
