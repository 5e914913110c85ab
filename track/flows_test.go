package track

import (
	"net/netip"
	"testing"
	"unsafe"

	"qsniff/dissect"
	"qsniff/wire"
)

var (
	server = netip.MustParseAddrPort("198.18.0.1:27015")
	client = netip.MustParseAddr("10.64.0.1")
)

// What messages teach adds up; what they do not say stays.
func TestLearn(t *testing.T) {
	f := NewFlows(10)
	if got := f.Get(server, client); got != (dissect.FlowFacts{}) {
		t.Errorf("unknown flow: got %+v", got)
	}
	f.Learn(server, client, dissect.FlowFacts{Asked: dissect.AskInfo, Proto: 1})
	f.Learn(server, client, dissect.FlowFacts{AppID: 2400, HasApp: true})
	f.Learn(server, client, dissect.FlowFacts{Asked: dissect.AskRules, Engine: wire.SourceOld})
	want := dissect.FlowFacts{AppID: 2400, HasApp: true, Engine: wire.SourceOld,
		Asked: dissect.AskInfo | dissect.AskRules, Proto: 1}
	if got := f.Get(server, client); got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	for _, other := range []netip.AddrPort{netip.MustParseAddrPort("198.18.0.1:27016"), netip.MustParseAddrPort("198.18.0.2:27015")} {
		if got := f.Get(other, client); got != (dissect.FlowFacts{}) {
			t.Errorf("%v knows %+v", other, got)
		}
	}
}

// Another game's sign is the last word until a message of ours comes; a challenge
// stays until the next one.
func TestLearnSigns(t *testing.T) {
	f := NewFlows(10)
	for _, tc := range []struct{ learn, want dissect.FlowFacts }{
		{dissect.FlowFacts{RconChallenge: 7}, dissect.FlowFacts{RconChallenge: 7}},
		{dissect.FlowFacts{Foreign: true}, dissect.FlowFacts{RconChallenge: 7, Foreign: true}},
		{dissect.FlowFacts{Proto: 1}, dissect.FlowFacts{RconChallenge: 7, Proto: 1}},
		{dissect.FlowFacts{RconChallenge: 8}, dissect.FlowFacts{RconChallenge: 8, Proto: 1}},
	} {
		f.Learn(server, client, tc.learn)
		if got := f.Get(server, client); got != tc.want {
			t.Errorf("%+v\ngot  %+v\nwant %+v", tc.learn, got, tc.want)
		}
	}
}

// The flow whose last message is longest ago is forgotten first.
func TestForget(t *testing.T) {
	f := NewFlows(2)
	at := func(port uint16) netip.AddrPort { return netip.AddrPortFrom(server.Addr(), port) }
	learn := func(port uint16) { f.Learn(at(port), client, dissect.FlowFacts{Proto: 1}) }
	learn(1)
	learn(2)
	learn(1)
	learn(3) // forgets 2
	for port, want := range map[uint16]uint8{1: 1, 2: 0, 3: 1} {
		if got := f.Get(at(port), client).Proto; got != want {
			t.Errorf("port %d: got %d, want %d", port, got, want)
		}
	}
	if f.Evicted() != 1 {
		t.Errorf("%d forgotten, want 1", f.Evicted())
	}
}

func TestAllocations(t *testing.T) {
	f := NewFlows(100)
	port := uint16(0)
	n := testing.AllocsPerRun(1000, func() {
		port++
		f.Learn(netip.AddrPortFrom(server.Addr(), port), client, dissect.FlowFacts{Proto: 1})
		f.Get(server, client)
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestFlowSize: key, value and links of an entry are 64 bytes.
func TestFlowSize(t *testing.T) {
	const links = 3 * 4 // hash, and two places in the order of use
	if got := unsafe.Sizeof(flowKey{}) + 2 + unsafe.Sizeof(flow{}) + links; got != 64 {
		t.Errorf("got  %d bytes, with two of padding\nwant 64", got)
	}
}
