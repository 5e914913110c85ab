package advice

import (
	"encoding/binary"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"qsniff/dissect"
	"qsniff/internal/test/testpcap"
	"qsniff/internal/track"
	"qsniff/reassembly/wire"
)

// has reports whether a payload passes the tests of a match, as a kernel does them.
func (m *match) has(b []byte) bool {
	lo, hi := m.lengthTest()
	if len(b) < lo || hi > 0 && len(b) > hi {
		return false
	}
	for i := range m.words {
		w := &m.words[i]
		if len(b) < w.off+w.size {
			return false
		}
		var v [8]byte
		copy(v[8-w.size:], b[w.off:w.off+w.size])
		if !slices.Contains(w.values, binary.BigEndian.Uint64(v[:])&w.mask) {
			return false
		}
	}
	return true
}

func anyMatch(list []match, b []byte) bool {
	return slices.ContainsFunc(list, func(m match) bool { return m.has(b) })
}

func anyPattern(list []dissect.Pattern, b []byte) bool {
	return slices.ContainsFunc(list, func(p dissect.Pattern) bool { return p.Match(b, len(b)) })
}

// TestMatchesArePatterns: whatever is merged, dropped and cut, a payload passes the tests
// if it has a pattern, and not otherwise. The bytes are few, so that patterns overlap.
func TestMatchesArePatterns(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	text := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = "aAbBcC"[r.IntN(6)]
		}
		return b
	}
	found := 0
	for range 3000 {
		var patterns []dissect.Pattern
		for range 1 + r.IntN(14) {
			s := string(text(1 + r.IntN(4)))
			p := dissect.Begins(s)
			if r.IntN(3) == 0 {
				p = dissect.BeginsFold(s)
			}
			if r.IntN(4) == 0 {
				p.Offset = r.IntN(3)
			}
			p.MinLen = p.Offset + len(s) + max(0, r.IntN(4)-2)
			if r.IntN(3) == 0 {
				p.MaxLen = p.MinLen + r.IntN(3)
			}
			patterns = append(patterns, p)
		}
		for _, most := range []int{4, 8} {
			list := matchesOf(dissect.Needed(patterns), most)
			var small []match
			for _, m := range list {
				small = append(small, m.split(2)...)
			}
			for range 40 {
				b := text(r.IntN(8))
				want := anyPattern(patterns, b)
				if want {
					found++
				}
				if got, cut := anyMatch(list, b), anyMatch(small, b); got != want || cut != want {
					t.Fatalf("%q: tests %v, split %v, patterns %v: %+v", b, got, cut, want, patterns)
				}
			}
		}
	}
	if found < 1000 {
		t.Errorf("only %d payloads had a pattern", found)
	}
}

// sightingOf is what the pipeline makes of a datagram by its bytes.
func sightingOf(reg *dissect.Registry, d testpcap.Datagram) (s track.Sighting) {
	b := d.Payload
	s.Bytes = uint32(len(b))
	if wire.IsSplit(b) && len(b) >= wire.MinSplitLen {
		s.What = track.IsPart
		return s
	}
	c := &dissect.Context{Src: d.Src, Dst: d.Dst, Wire: len(b)}
	v := reg.Pick(c, b)
	if v.Dissector == nil {
		if reg.IsJunk(b) {
			s.What = track.IsJunk
		}
		return s
	}
	s.What, s.Proto, s.Type = track.IsRequest, v.Dissector.Proto(), v.Type
	if v.Type.Reply {
		s.What = track.IsReply
	}
	if v.Type.BringsToken() {
		var m dissect.Message
		m.Reset(s.Proto, b)
		v.Dissector.Dissect(c, v.Type, b, &m)
		if m.Key != 0 {
			s.Flags |= track.HasKey
		}
	}
	return s
}

// TestSightingsAreBytes: what the trial says of a sighting is what the lines' patterns say
// of its bytes, for every message of the captures and those lines of its protocol that
// look at packets of its direction. Lines of other protocols may look at one in a form of
// several, which sightings do not tell apart: the trial claims no more than the bytes do.
func TestSightingsAreBytes(t *testing.T) {
	names, err := filepath.Glob("../../../pcapfiles/*/*.hex")
	if err != nil || len(names) < 100 {
		t.Fatalf("%d captures, %v", len(names), err)
	}
	found := 0
	for _, name := range names {
		file := filepath.Base(name)
		if file == "words-any-case.hex" {
			continue // whether a word was written small, no sighting shows
		}
		c, err := testpcap.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range c.Whole {
			s := sightingOf(advisor.reg, d)
			if s.Type == nil && s.What != track.IsPart {
				continue // nor what bytes are in that which nobody claims
			}
			for _, p := range append(advisor.reg.Protos(), nil) {
				found += checkSighting(t, file, advisor.catalogOf(p), &s, d.Payload)
			}
		}
	}
	t.Logf("%d times the lines look at a datagram", found)
	if found < 10000 {
		t.Errorf("only %d times", found)
	}
}

// checkSighting holds a sighting against the lines of a catalog, and counts the lines
// that look at it.
func checkSighting(t *testing.T, file string, c *catalog, s *track.Sighting, b []byte) (found int) {
	t.Helper()
	for l := range c.sets {
		if isOfServers := lineKind(l) == lineOthers || lineKind(l) == lineUnasked; isOfServers == (s.What == track.IsRequest) {
			continue
		}
		want := anyPattern(c.sets[l].patterns, b) && !anyPattern(c.sets[l].exempt, b)
		got := c.sets[l].hasSighting(s)
		if want {
			found++
		}
		if got != want && (got || s.What == track.IsPart || s.Proto == c.proto) {
			t.Errorf("%s: line %d: %v of the sighting, %v of %q", file, l, got, want, b[:min(40, len(b))])
		}
	}
	return found
}

// TestLowerCase: letters of either case become small ones, and only for these a copy is made.
func TestLowerCase(t *testing.T) {
	w := dissect.Pattern{Value: []byte("\xff\xffGET"), Mask: []byte{0xff, 0xff, 0xdf, 0xff, 0xdf}, MinLen: 5}
	if q := lowerCase(&w); string(q.Value) != "\xff\xffgEt" || string(q.Mask) != "\xff\xff\xff\xff\xff" || q.MinLen != 5 || string(w.Value) != "\xff\xffGET" {
		t.Errorf("got %+v of %+v", q, w)
	}
	w.Mask = []byte{0xff, 0xff, 0xff, 0, 0xff}
	if got := testing.AllocsPerRun(10, func() {
		if q := lowerCase(&w); &q.Value[0] != &w.Value[0] || &q.Mask[0] != &w.Mask[0] {
			t.Error("it was copied")
		}
	}); got > 0 {
		t.Errorf("%v allocations", got)
	}
}
