package measure

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"qsniff/dissect"
	"qsniff/internal/track"
)

func shapePacket(t *dissect.Type, bytes uint32, hasKey bool) *track.Sighting {
	s := &track.Sighting{What: track.IsRequest, Type: t, Bytes: bytes}
	if hasKey {
		s.Flags = track.HasKey
	}
	return s
}

// TestShape: forms are counted apart by type, challenge and length, as long as there is room.
func TestShape(t *testing.T) {
	info, rules := &dissect.Type{Name: "info"}, &dissect.Type{Name: "rules"}
	var x Shape
	for range 5 {
		x.add(shapePacket(info, 25, false))
		x.add(shapePacket(info, 29, true))
		x.add(shapePacket(rules, 9, false))
		x.add(shapePacket(rules, 9, false))
		x.add(shapePacket(nil, 60, false))
	}
	want := []Form{{rules, false, false, 9, 9, 10}, {info, false, false, 25, 25, 5}, {info, false, true, 29, 29, 5}, {nil, false, false, 60, 60, 5}}
	if diff := cmp.Diff(want, x.AppendForms(nil), cmp.Comparer(func(a, b *dissect.Type) bool { return a == b })); diff != "" {
		t.Error(diff)
	}
}

// TestShapeIsBounded: random lengths of one type widen its forms and leave room for others;
// types beyond the room are counted. No packet is lost, here or in a merge.
func TestShapeIsBounded(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	types := make([]*dissect.Type, 40)
	for i := range types {
		types[i] = &dissect.Type{}
	}
	var x, sum Shape
	for range 1000 {
		x.add(shapePacket(types[0], uint32(10+r.IntN(1000)), false))
	}
	if len(x.AppendForms(nil)) != formLengths {
		t.Errorf("%d forms of one type", len(x.AppendForms(nil)))
	}
	x.add(shapePacket(types[1], 9, true))
	if forms := x.AppendForms(nil); forms[len(forms)-1].Type != types[1] {
		t.Error("no room for another type")
	}
	for range 1000 {
		x.add(shapePacket(types[2+r.IntN(38)], uint32(r.IntN(9)), false))
	}
	if x.Others == 0 {
		t.Error("all types had room")
	}
	sum.Merge(&x)
	sum.Merge(&x)
	for _, c := range []struct {
		x    *Shape
		want uint64
	}{{&x, 2001}, {&sum, 4002}} {
		n := c.x.Others
		for _, f := range c.x.AppendForms(nil) {
			n += f.Packets
		}
		if n != c.want {
			t.Errorf("%d packets, want %d", n, c.want)
		}
	}
}

// TestServerShape: each second has a shape of its own, for ShapeSeconds.
func TestServerShape(t *testing.T) {
	var s Server
	typ := &dissect.Type{}
	for sec := int32(1); sec <= 6; sec++ {
		for range sec {
			s.countShape(Queries, shapePacket(typ, 25, false), sec)
		}
	}
	s.countShape(Junk, shapePacket(nil, 60, false), 6)
	for sec, want := range map[int32]uint64{-1: 0, 0: 0, 1: 0, 2: 0, 3: 3, 6: 6, 7: 0} {
		var x Shape
		s.MergeShape(&x, Queries, sec)
		n := uint64(0)
		for _, f := range x.AppendForms(nil) {
			n += f.Packets
		}
		if n != want {
			t.Errorf("second %d: %d packets, want %d", sec, n, want)
		}
	}
	p := shapePacket(typ, 25, false)
	if n := testing.AllocsPerRun(100, func() { s.countShape(Queries, p, 7); s.countShape(Queries, p, 8) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
