package measure

import (
	"cmp"
	"slices"

	"qsniff/dissect"
	"qsniff/internal/track"
)

// Form is what some packets have in common: their type, whether they bring a challenge, and
// the lengths of their payloads.
type Form struct {
	Type     *dissect.Type // nil: of no known type
	IsOther  bool          // of no known protocol: it does not even begin like a query
	HasKey   bool          // with a challenge that is no placeholder
	Min, Max uint32        // bytes
	Packets  uint64
}

// Shape counts packets by form in fixed memory.
type Shape struct {
	forms  [ShapeForms]Form
	used   int
	Others uint64 // packets of types that there was no room for
}

// add counts a packet. Most are of a form that has its length: for these none is made.
func (x *Shape) add(s *track.Sighting) {
	t, hasKey, isOther := s.Type, s.Flags&track.HasKey != 0, false
	if s.What != track.IsRequest { // its bytes may look like a type by chance
		t, hasKey, isOther = nil, false, s.What == track.IsOther
	}
	for i := range x.forms[:x.used] {
		if f := &x.forms[i]; f.Type == t && f.HasKey == hasKey && f.IsOther == isOther && f.Min <= s.Bytes && s.Bytes <= f.Max {
			f.Packets++
			return
		}
	}
	x.count(Form{Type: t, IsOther: isOther, HasKey: hasKey, Min: s.Bytes, Max: s.Bytes, Packets: 1})
}

// Merge adds the counts of another shape.
func (x *Shape) Merge(y *Shape) {
	for i := range y.forms[:y.used] {
		x.count(y.forms[i])
	}
	x.Others += y.Others
}

// Reset empties x.
func (x *Shape) Reset() { x.used, x.Others = 0, 0 }

// count adds the packets of f to the form that has its lengths, to a new one, or to the
// nearest one of its type.
func (x *Shape) count(f Form) {
	nearest, same, distance := -1, 0, uint32(0)
	for i := range x.forms[:x.used] {
		have := &x.forms[i]
		if have.Type != f.Type || have.HasKey != f.HasKey || have.IsOther != f.IsOther {
			continue
		}
		if have.Min <= f.Min && f.Max <= have.Max {
			have.Packets += f.Packets
			return
		}
		same++
		if d := have.distance(&f); nearest < 0 || d < distance {
			nearest, distance = i, d
		}
	}
	switch {
	case same < formLengths && x.used < ShapeForms:
		x.forms[x.used] = f
		x.used++
	case nearest >= 0:
		have := &x.forms[nearest]
		have.Min, have.Max, have.Packets = min(have.Min, f.Min), max(have.Max, f.Max), have.Packets+f.Packets
	default:
		x.Others += f.Packets
	}
}

// distance returns by how many bytes the lengths of two forms differ at most.
func (f *Form) distance(g *Form) uint32 {
	return max(max(f.Min, g.Min)-min(f.Min, g.Min), max(f.Max, g.Max)-min(f.Max, g.Max))
}

// AppendForms appends the forms, those with most packets first.
func (x *Shape) AppendForms(dst []Form) []Form {
	n := len(dst)
	dst = append(dst, x.forms[:x.used]...)
	slices.SortStableFunc(dst[n:], func(a, b Form) int { return cmp.Compare(b.Packets, a.Packets) })
	return dst
}

// secondShape holds the shape of each sort of packets in one second.
type secondShape struct {
	sec    int32
	shapes [numSorts]Shape
}

// countShape counts the form of a packet of a sort in the second at hand.
func (t *Server) countShape(sort Sort, s *track.Sighting, now int32) {
	x := &t.shapes[now%ShapeSeconds]
	if x.sec != now {
		x.sec = now
		for i := range x.shapes {
			x.shapes[i].Reset()
		}
	}
	x.shapes[sort].add(s)
}

// MergeShape adds the shape of a sort in a second to all, if it is one of the last
// ShapeSeconds and anything came in it.
func (t *Server) MergeShape(all *Shape, sort Sort, sec int32) {
	if sec <= 0 {
		return
	}
	if x := &t.shapes[sec%ShapeSeconds]; x.sec == sec {
		all.Merge(&x.shapes[sort])
	}
}

const (
	// limit: ShapeForms is how many forms of packets a Shape holds: four types with lengths of their own.
	// Packets of further types are counted together. Chosen: a flood of more types than a server has
	// questions is junk.
	ShapeForms = 16
	// limit: formLengths is how many forms of one type, with or without a challenge, a Shape holds, so
	// that a flood with random lengths leaves room for other types. Further lengths widen the nearest
	// form.
	formLengths = 4
	// limit: ShapeSeconds is how many seconds back the shape of each is kept: the longest that verdicts on
	// attacks take.
	ShapeSeconds = 4
)
