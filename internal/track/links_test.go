package track

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"

	"qsniff/dissect"
)

// linkedPair is two Exchanges that get the same messages: one finds them by their flows, as far as
// those are there, the other one by their ends alone.
type linkedPair struct {
	t        *testing.T
	flows    *Flows
	x        [2]*Exchanges
	silences [2][]string
	paths    map[string]int // how often each way to an exchange was taken
}

func newLinkedPair(t *testing.T, size, flows int) *linkedPair {
	p := &linkedPair{t: t, flows: NewFlows(flows), paths: map[string]int{}}
	p.x = [2]*Exchanges{NewExchanges(size, p.flows), NewExchanges(size, NewFlows(1))}
	for i := range p.x {
		p.x[i].ReportSilence = func(f *Fact) { p.silences[i] = append(p.silences[i], fmt.Sprint(*f)) }
	}
	return p
}

// place places m in both.
func (p *linkedPair) place(m Message) {
	a, b := m, m
	got, want := p.x[0].Place(&a), p.x[1].Place(&b)
	got.Signs, want.Signs = 0, 0 // visits are those of known flows
	if got != want || fmt.Sprint(a.Expert) != fmt.Sprint(b.Expert) || fmt.Sprint(p.silences[0]) != fmt.Sprint(p.silences[1]) ||
		p.x[0].Evicted() != p.x[1].Evicted() {
		p.t.Fatalf("frame %d from %v\ngot  %+v %v, silences %v\nwant %+v %v, silences %v", m.Frame, m.Src, got, a.Expert, p.silences[0], want, b.Expert, p.silences[1])
	}
	p.silences = [2][]string{}
	at := &p.x[0].at
	p.paths[fmt.Sprintf("known flow %t, found %t, indexed %t", at.flow != 0, got.Step != Ask && got.Step != Stray, at.isIndexed)]++
}

// TestLinks: an exchange is the same, whether its flow leads to it or not: with few or many sockets
// of a client, with flows evicted before their exchanges and after them, and flows not learned.
func TestLinks(t *testing.T) {
	paths := map[string]int{}
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 9))
		p := newLinkedPair(t, 4+r.IntN(40), 1+r.IntN(60))
		p.paths = paths
		clients, sockets, learned := 1+r.IntN(80), 1+r.IntN(3), 50+r.IntN(51)
		letters := "TUVTUVIAAED"
		for frame, age := uint64(1), int64(0); frame < 3000; frame++ {
			age += r.Int64N(2+int64(r.IntN(2))*150) * ms
			if r.IntN(20) == 0 {
				p.x[0].Tick(age)
				p.x[1].Tick(age)
			}
			client := netip.AddrPortFrom(from(r.IntN(clients)).Addr(), uint16(40_000+r.IntN(sockets)))
			m := Message{Src: client, Dst: server, Proto: &testProto, Type: testKinds[letters[r.IntN(len(letters))]], Frame: frame, Nanos: age, Age: age}
			if r.IntN(3) == 0 {
				m.Key = 1<<32 | 1 + r.Uint64N(2)
			}
			if r.IntN(100) < learned {
				p.flows.Learn(server, client.Addr(), dissect.FlowFacts{Proto: 1})
			}
			if m.Reply = m.Type.Reply; m.Reply {
				m.Src, m.Dst = m.Dst, m.Src
			}
			p.place(m)
		}
	}
	for _, path := range []string{"known flow true, found true, indexed false", "known flow true, found true, indexed true",
		"known flow true, found false, indexed false", "known flow false, found true, indexed true", "known flow false, found false, indexed true"} {
		if paths[path] < 100 {
			t.Errorf("%s: %d times of %v\nwant at least 100", path, paths[path], paths)
		}
	}
}

// TestLinksFlood: a flood of forged requests needs no second index.
func TestLinksFlood(t *testing.T) {
	flows := NewFlows(DefaultFlows)
	x := NewExchanges(DefaultExchanges, flows)
	for n := range 3 * DefaultFlows {
		m := Message{Src: from(n), Dst: server, Proto: &testProto, Type: testKinds['T'], Frame: uint64(n + 1)}
		flows.Learn(server, m.Src.Addr(), dissect.FlowFacts{Proto: 1})
		if x.Place(&m); x.at.isIndexed {
			t.Fatalf("request %d is in the index", n)
		}
	}
}
