package vantages

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"qsniff/dissect"
	"qsniff/dissect/protocols"
	"qsniff/internal/test/lrutest"
	"qsniff/internal/test/race"
	"qsniff/internal/track"
)

const ms = time.Millisecond

var server, sibling = netip.MustParseAddrPort("198.51.100.7:27015"), netip.MustParseAddrPort("198.51.100.7:27016")

func registry(t testing.TB) *dissect.Registry {
	reg, err := dissect.NewRegistry(protocols.All()...)
	if err != nil {
		t.Fatal(err)
	}
	return reg
}

// TestChosenKeys: nobody can choose keys that collide in the tables.
func TestChosenKeys(t *testing.T) {
	lrutest.Check[seriesKey](t)
	lrutest.Check[tripKey](t)
	lrutest.Check[exchangeID](t)
}

// typeNamed returns a type of message and its protocol.
func typeNamed(t testing.TB, reg *dissect.Registry, name string) (*dissect.Proto, *dissect.Type) {
	t.Helper()
	for _, p := range reg.Protos() {
		for _, typ := range p.Types {
			if typ.Name == name {
				return p, typ
			}
		}
	}
	t.Fatalf("no type is called %s", name)
	return nil, nil
}

// fact is a message of a server.
func fact(p *dissect.Proto, typ *dissect.Type, step track.Step, id uint64, took time.Duration, port uint16) *track.Fact {
	f := &track.Fact{Frame: id + 1, Server: netip.AddrPortFrom(server.Addr(), port), Proto: p, Type: typ, TTL: 60}
	f.Step, f.ID, f.Took = step, id, int64(took)
	return f
}

// TestRepeated: the answer to a request that was repeated has no time, as nobody knows which one it answers.
func TestRepeated(t *testing.T) {
	p, typ := typeNamed(t, registry(t), "S2A_INFO_SRC")
	c := NewCollector(1)
	for _, f := range []*track.Fact{
		fact(p, typ, track.Ask, 1, -1, 27015), fact(p, typ, track.Again, 1, -1, 27015), fact(p, typ, track.Answer, 1, ms, 27015),
		fact(p, typ, track.Ask, 5, -1, 27015), fact(p, typ, track.Answer, 5, 80*ms, 27015),
	} {
		c.AddFact(f, nil, nil)
	}
	x := c.Capture()
	all := x.answersOf(server)
	if len(all) != 1 || all[0].Count != 1 || all[0].Least != 80*ms {
		t.Errorf("got  %+v\nwant one time of 80 ms", all)
	}
	if got := x.loads[track.EndOf(server)]; got != (load{2, 2}) {
		t.Errorf("got  %+v\nwant 2 asked and answered", got)
	}
}

// TestFull: full tables evict and count, and allocate nothing.
func TestFull(t *testing.T) {
	p, typ := typeNamed(t, registry(t), "S2A_INFO_SRC")
	const scale = 1.0 / 256
	c := NewCollector(scale)
	n := uint64(0)
	var f track.Fact
	var s track.Sighting
	step := func() {
		n++
		for _, st := range []track.Step{track.Ask, track.Again, track.Answer} {
			f = track.Fact{Frame: n, Server: netip.AddrPortFrom(server.Addr(), uint16(n%4000)), Proto: p, Type: typ}
			f.Step, f.ID, f.Took = st, n, int64(ms)
			c.AddFact(&f, nil, nil)
		}
		f.ID = n | 1<<40 // an exchange in which nothing was repeated
		c.AddFact(&f, nil, nil)
		s = track.Sighting{What: track.IsOpened, SrcPort: uint16(n), DstPort: uint16(n % 4000), Nanos: int64(n)}
		c.Sight(&s)
		s.SrcPort++
		c.Sight(&s)
		s = track.Sighting{What: track.IsAgreed, SrcPort: uint16(n % 4000), DstPort: uint16(n), Nanos: int64(n) + int64(ms)}
		c.Sight(&s)
	}
	for range 5000 {
		step()
	}
	if got := testing.AllocsPerRun(1000, step); got > 0 && !race.Enabled {
		t.Errorf("%v allocations in a step", got)
	}
	x := c.Capture()
	e := x.Evicted
	if e.Servers == 0 || e.Answers == 0 || e.Paths == 0 || e.Trips == 0 || e.Repeated == 0 {
		t.Errorf("not all was counted: %+v", e)
	}
	if len(x.loads) != maxServers*scale || len(x.byHost[track.EndOf(server).Host]) != maxAnswers*scale {
		t.Errorf("%d servers and %d series", len(x.loads), len(x.byHost[track.EndOf(server).Host]))
	}
}

// TestHistogram: the median is off by at most 1 % and a unit, and the least time by nothing.
func TestHistogram(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, scale := range []time.Duration{20 * time.Microsecond, ms, 100 * ms, 2 * time.Second} {
		s := newSeriesTable(1)
		var all []time.Duration
		for range 1001 {
			d := scale/2 + time.Duration(rng.Int64N(int64(scale)))
			all = append(all, d)
			s.find(seriesKey{}).add(int64(d), 1, 2)
		}
		slices.Sort(all)
		got := s.list(nil, []Kind{{}})[0]
		want := all[len(all)/2]
		if got.Least != all[0] || (got.Median-want).Abs() > want/100+unit {
			t.Errorf("least %v, median %v; want %v, %v", got.Least, got.Median, all[0], want)
		}
	}
}

// FuzzCompare: whatever captures show, their order does not change what is found, and nothing is found that
// is not over its thresholds. Of each record of 8 bytes the first says which capture and what it is.
func FuzzCompare(f *testing.F) {
	reg := registry(f)
	p, info := typeNamed(f, reg, "S2A_INFO_SRC")
	_, players := typeNamed(f, reg, "S2A_PLAYER")
	_, given := typeNamed(f, reg, "S2C_CHALLENGE")
	types := []*dissect.Type{info, players, given}
	var flat []byte
	for i := range byte(30) { // a cache near to two clients, and paths of 20 and 150 ms
		where := i % 2
		flat = append(flat, where, 0, 0, 0, 1, 0, 0, i, where|4, 0, 0, 0, 20+where*130, 0, 0, i)
	}
	f.Add(flat)
	f.Add(bytes.Repeat([]byte{0, 1, 2, 3, 4, 5, 6, 7, 6, 5, 4, 3, 2, 1, 0, 9}, 40))
	f.Fuzz(func(t *testing.T, b []byte) {
		const n = 4
		var all [n]*Collector
		for i := range all {
			all[i] = NewCollector(1.0 / 64)
		}
		for id := uint64(1); len(b) >= 8; b, id = b[8:], id+1 {
			c, took, port := all[b[0]%n], time.Duration(b[4])*ms+time.Duration(b[5])*time.Microsecond, 27015+uint16(b[1]%3)
			switch b[0] / n % 3 {
			case 0:
				typ := types[b[2]%3]
				c.AddFact(fact(p, typ, track.Ask, id, -1, port), nil, nil)
				c.AddFact(fact(p, typ, track.Answer, id, took, port), nil, nil)
			case 1:
				s := track.Sighting{What: track.IsOpened, Dst: track.HostOf(server), DstPort: port, SrcPort: binary.BigEndian.Uint16(b[6:]), Key: uint32(b[3]), Nanos: int64(id) << 40}
				c.Sight(&s)
				c.Sight(&track.Sighting{What: track.IsAgreed, Src: s.Dst, SrcPort: port, DstPort: s.SrcPort, Nanos: s.Nanos + int64(took)})
			case 2:
				s := track.Sighting{What: track.IsControl, Detail: echo, Dst: track.HostOf(server), Key: uint32(b[6]), Nanos: int64(id) << 40}
				s.Src.Set(sibling)
				c.Sight(&s)
				c.Sight(&track.Sighting{What: track.IsControl, Src: s.Dst, Dst: s.Src, Key: s.Key, Nanos: s.Nanos + int64(took)})
			}
		}
		var captures []*Capture
		for _, c := range all {
			captures = append(captures, c.Capture())
		}
		want := describe(Compare(captures, nil))
		rng := rand.New(rand.NewPCG(1, uint64(len(want))))
		for range 4 {
			rng.Shuffle(n, func(i, j int) { captures[i], captures[j] = captures[j], captures[i] })
			if got := describe(Compare(captures, nil)); got != want {
				t.Fatalf("in another order\ngot  %s\nwant %s", got, want)
			}
		}
	})
}

// describe returns what is found of servers, without the numbers of captures.
func describe(all []Server) string {
	text := ""
	for i := range all {
		s := &all[i]
		e, ok := s.Finding()
		text += fmt.Sprintf("%v: %v %v %v of %v, %d captures", s.Addr, s.Verdict, s.AnswersDiffer, s.PathsDiffer, s.Needed, len(s.Points))
		if ok {
			text += ": " + string(e.AppendText(nil))
			if s.PathsDiffer < s.Needed || s.AnswersDiffer > mostDiffer {
				text += " below a threshold"
			}
		}
		text += "\n"
	}
	return text
}

// TestFlatIsOverThresholds: of random figures, what is flat is over every threshold.
func TestFlatIsOverThresholds(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	series := func(o Origin) *Series {
		least := time.Duration(rng.Int64N(int64(200 * ms)))
		return &Series{Kind: Kind{Origin: o}, Least: least, Median: least + time.Duration(rng.Int64N(int64(20*ms)))}
	}
	flat := 0
	for range 100_000 {
		by := []trust{otherPort, ofServer, ofHost, ofSystem}[rng.IntN(4)]
		x := judge(0, 1, [2]*Series{series(Answers), series(Answers)}, [2]*Series{series(Handshakes), series(Handshakes)}, by)
		if x.Verdict != Flat {
			continue
		}
		flat++
		least := leastApart
		if by < ofHost || x.Answer[1].Median >= x.Path[1].Least-x.PathsDiffer/2 {
			least += longestFrame
		}
		if x.PathsDiffer < least || 4*x.AnswersDiffer > x.PathsDiffer || x.AnswersDiffer > mostDiffer || x.Path[1].Least-x.Path[0].Least != x.PathsDiffer {
			t.Fatalf("%+v", x)
		}
	}
	if flat < 100 {
		t.Errorf("%d flat ones prove nothing", flat)
	}
}
