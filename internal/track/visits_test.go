package track

import (
	"cmp"
	"fmt"
	"net/netip"
	"testing"

	"qsniff/dissect"
	"qsniff/internal/track/fingerprint"
)

// asker asks a server and is answered, all from one port.
type asker struct {
	flows *Flows
	x     *Exchanges
	frame uint64
	age   int64
	proto *dissect.Proto // nil: visitProto
}

var (
	visitInfo      = dissect.Type{Name: "info", Asks: dissect.AskInfo}
	visitPlayers   = dissect.Type{Name: "players", Asks: dissect.AskPlayers}
	visitInfoReply = dissect.Type{Name: "info reply", Asks: dissect.AskInfo, Reply: true}
	visitList      = dissect.Type{Name: "list", Asks: dissect.AskPlayers, Reply: true}
	visitProto     = dissect.Proto{Name: "test"}
)

const visitServer = "198.18.0.1:27015"

// place places a message 10 ms after the last one.
func (a *asker) place(typ *dissect.Type, client string, form dissect.Form, key uint64) Part {
	a.frame++
	a.age += 10e6
	m := Message{Src: netip.MustParseAddrPort(client), Dst: netip.MustParseAddrPort(visitServer), Proto: cmp.Or(a.proto, &visitProto), Type: typ,
		Key: key, Form: form, Frame: a.frame, Nanos: a.age, Age: a.age}
	if m.Reply = typ.Reply; m.Reply {
		m.Src, m.Dst = m.Dst, m.Src
	} else {
		a.flows.Learn(m.Dst, m.Src.Addr(), dissect.FlowFacts{Asked: typ.Asks})
	}
	return a.x.Place(&m)
}

// TestVisitInFlood: requests from invented addresses, which nobody answers, evict flows between
// the questions of a client, but not what it showed; they themselves show nothing.
func TestVisitInFlood(t *testing.T) {
	const client, flows = "10.64.0.1:40001", 64
	a := &asker{flows: NewFlows(flows)}
	a.x = NewExchanges(256, a.flows)
	a.place(&visitInfo, client, dissect.NoToken, 0)
	if got := a.place(&visitInfoReply, client, 0, 0).Signs; got != fingerprint.InfoBare {
		t.Fatalf("after the first answer: signs %b, want %b", got, fingerprint.InfoBare)
	}
	a.place(&visitPlayers, client, 0, 1<<32|7)
	for i := range 2 * flows / 3 * 2 {
		a.age -= 10e6 - 1
		if p := a.place(&visitInfo, fmt.Sprintf("100.64.%d.%d:1", i/256, i%256), dissect.NoToken, 0); p.Signs != 0 {
			t.Fatalf("a request that nobody answered shows %b", p.Signs)
		}
	}
	want := fingerprint.InfoBare | fingerprint.PageToken | fingerprint.OnePort
	if got := a.place(&visitList, client, 0, 0).Signs; got != want {
		t.Errorf("after %d other flows\ngot  %b\nwant %b", 2*flows/3*2, got, want)
	}
	if n := a.x.VisitsEvicted(); n > 0 {
		t.Errorf("%d visits evicted", n)
	}
}

// TestVisitEnds: a question that was answered already, and one after a longer pause, begin
// another visit.
func TestVisitEnds(t *testing.T) {
	for _, tt := range []struct {
		name  string
		pause int64 // before players, and 20 ms
		again bool  // players once more
		want  fingerprint.Signs
	}{
		{"one visit", 0, false, fingerprint.InfoBare | fingerprint.PageOnes | fingerprint.OnePort},
		{"the longest pause", int64(visitGap) - 20e6, false, fingerprint.InfoBare | fingerprint.PageOnes | fingerprint.OnePort},
		{"a longer one", int64(visitGap) - 20e6 + 1, false, fingerprint.PageOnes},
		{"the same again", 0, true, fingerprint.PageOnes},
	} {
		const client = "10.64.0.1:40001"
		a := &asker{flows: NewFlows(64)}
		a.x = NewExchanges(256, a.flows)
		a.place(&visitInfo, client, dissect.NoToken, 0)
		a.place(&visitInfoReply, client, 0, 0)
		a.age += tt.pause
		a.place(&visitPlayers, client, dissect.TokenOnes, 0)
		got := a.place(&visitList, client, 0, 0).Signs
		if tt.again {
			a.place(&visitPlayers, client, dissect.TokenOnes, 0)
			got = a.place(&visitList, client, 0, 0).Signs
		}
		if got != tt.want {
			t.Errorf("%s: got %b, want %b", tt.name, got, tt.want)
		}
	}
}

// TestPausedWithinQuestion: a client that asks for rules while its question for players has a challenge, and half a
// second later brings that back for the players, pauses as one does that asks one after the other.
func TestPausedWithinQuestion(t *testing.T) {
	const client, challenge = "10.64.0.1:40001", 1<<32 | 7
	players, rules, gives := testKinds['U'], testKinds['V'], testKinds['A']
	for pause, want := range map[int64]bool{0: false, int64(minPause): true, int64(maxPause): false} {
		a := &asker{flows: NewFlows(64), proto: &testProto}
		a.x = NewExchanges(256, a.flows)
		a.place(players, client, dissect.TokenOnes, 0)
		a.place(gives, client, 0, challenge)
		a.place(rules, client, 0, challenge)
		a.place(testKinds['E'], client, 0, 0)
		a.age += pause
		a.place(players, client, 0, challenge)
		got := a.place(testKinds['D'], client, 0, 0).Signs
		if has := got&fingerprint.Paused != 0; has != want || got&fingerprint.RulesFirst == 0 {
			t.Errorf("after %d ms: signs %b, paused %v, want %v", pause/1e6, got, has, want)
		}
	}
}
