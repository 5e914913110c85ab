package track

import (
	"net/netip"
	"strings"
	"testing"
	"unsafe"

	"qsniff/dissect"
	"qsniff/internal/base/lru"
	"qsniff/internal/test/lrutest"
	"qsniff/reassembly/wire"
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

// The oldest flow is evicted first, but one that came again is spared.
func TestForget(t *testing.T) {
	f := NewFlows(2)
	at := func(port uint16) netip.AddrPort { return netip.AddrPortFrom(server.Addr(), port) }
	learn := func(port uint16) { f.Learn(at(port), client, dissect.FlowFacts{Proto: 1}) }
	learn(1)
	learn(2)
	learn(1)
	learn(3) // evicts 2
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

// TestFlowSize: an entry is shorter than a line of the processor's cache.
func TestFlowSize(t *testing.T) {
	if got := unsafe.Sizeof(lru.Entry[flowKey, flow]{}); got > 64 {
		t.Errorf("got  %d bytes\nwant 64 at most", got)
	}
}

// TestFlowsFlood: a flow of which a second message came outlasts as many new ones as there is
// room for, and the zero flow is one like others.
func TestFlowsFlood(t *testing.T) {
	const room = 100
	f := NewFlows(room)
	f.Learn(netip.AddrPort{}, netip.Addr{}, dissect.FlowFacts{Proto: 2})
	f.Learn(server, client, dissect.FlowFacts{Proto: 1})
	f.Get(netip.AddrPort{}, netip.Addr{})
	for i := range room + room/2 {
		f.Learn(server, from(i).Addr(), dissect.FlowFacts{Proto: 1})
	}
	if a, b := f.Get(netip.AddrPort{}, netip.Addr{}).Proto, f.Get(server, client).Proto; a != 2 || b != 0 {
		t.Errorf("got  protocols %d and %d\nwant 2, and 0 of the flow that had one message", a, b)
	}
	if f.Evicted() != room/2+2 {
		t.Errorf("%d evicted\nwant %d", f.Evicted(), room/2+2)
	}
}

// TestChosenKeys: nobody can choose keys that collide in the tables.
func TestChosenKeys(t *testing.T) {
	lrutest.Check[Host](t)
	lrutest.Check[End](t)
	lrutest.Check[pairKey](t)
	lrutest.Check[sameKey](t)
	lrutest.Check[loginKey](t)
	lrutest.Check[socketKey](t)
	lrutest.Check[elsewhereKey](t)
	lrutest.Check[flowKey](t)
	lrutest.Check[endsKey](t)
	lrutest.Check[callKey](t)
}

// TestShortText: a text that ends within a character ends before it, also where nothing is left.
func TestShortText(t *testing.T) {
	long := strings.Repeat("a", 63)
	for in, want := range map[string]string{"": "", "de_dust2": "de_dust2", "\xc3": "", "\xe6\x97": "", long + "é": long, "caf\xe9": "caf"} {
		var s ShortText
		if s.Set([]byte(in)); string(s.Whole()) != want {
			t.Errorf("%q\ngot  %q\nwant %q", in, s.Whole(), want)
		}
	}
}
