// Package floodtest makes reports with incidents and their rules, for tests of the outputs
// that print rules. It is not part of the program.
package floodtest

import (
	"flag"
	"net/netip"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"qsniff/dissect"
	"qsniff/internal/flood"
	"qsniff/internal/flood/advice"
	"qsniff/internal/flood/rules"
	"qsniff/internal/test/protos"
)

// The ends of the incidents in Report.
const (
	Server    = "198.51.100.17:27015" // flooded by forged addresses and by Attacker
	Attacker  = "203.0.113.7"         // named in the rules
	Reflector = "198.51.100.18:27015" // used against Victim
	Victim    = "203.0.113.99"
	Server6   = "[2001:db8::17]:27015"
	Carpet    = "192.0.2.0/24" // all of it is flooded on port 27015
)

// A query of the protocol that the incidents are of: without a challenge, and with one.
const (
	Query      = "\xff\xff\xff\xffTSource Engine Query\x00"
	QueryAgain = Query + "\x07\x00\x00\x00"
)

// Report returns a report with incidents of many kinds, two of them at one target, whose rules
// expire.
func Report(t testing.TB, expiry time.Duration) *rules.Input {
	t.Helper()
	at := func(s string) flood.Target { return flood.Target{End: netip.MustParseAddrPort(s)} }
	console := at(Server)
	console.TCP = true
	top := []flood.Source{{Addr: netip.MustParseAddr(Attacker), Low: 1500}}
	list := []flood.Incident{
		{Kind: flood.FloodSpoofed, Target: at(Server), Sources: 9000, Peak: 4000, Baseline: 1},
		{Kind: flood.FloodFew, Target: at(Server), Sources: 1, Peak: 800, Top: top},
		{Kind: flood.Reflection, Target: at(Reflector), Sources: 1, Top: []flood.Source{{Addr: netip.MustParseAddr(Victim), Low: 900}}},
		{Kind: flood.FloodDistributed, Target: at(Server6), Sources: 300, Peak: 9000},
		carpet(4000),
		{Kind: flood.FloodSuspect, Target: at(Reflector), Peak: 200},
		{Kind: flood.ReplyFloodVictim, Target: at("198.51.100.19:0"), Sources: 2000, Peak: 12000},
		{Kind: flood.JunkFlood, Target: at("198.51.100.20:27015"), Sources: 500, Peak: 3000},
		{Kind: flood.RconBruteforce, Target: console, Sources: 1, Top: top},
		// This one replaces the first: the same kind at the same target.
		{Kind: flood.FloodSpoofed, Target: at(Server), Sources: 9000, Peak: 400, Baseline: 1},
		{Kind: flood.Crowd, Target: at(Reflector), Sources: 90},
	}
	advise(t, list, 1)
	return &rules.Input{Expiry: expiry, Incidents: list, Asked: rules.Invocation{Captures: "'my capture.pcap'", Flags: "--level=warn"}}
}

// Gated returns a report with a flood of forged addresses at a server that gives answers for a
// challenge only, and with the reflection of its answers at a victim. The rules of both are for
// one target, the first with a set of clients that the server answered.
func Gated(t testing.TB, server, victim string) *rules.Input {
	t.Helper()
	at := flood.Target{End: netip.MustParseAddrPort(server)}
	list := []flood.Incident{
		{Kind: flood.FloodSpoofed, Target: at, Sources: 9000, Peak: 2000, Baseline: 2, Gated: dissect.AskInfo | dissect.AskRules},
		{Kind: flood.Reflection, Target: at, Sources: 1, Top: []flood.Source{{Addr: netip.MustParseAddr(victim), Low: 900}}},
	}
	advise(t, list, 1)
	return &rules.Input{Expiry: time.Hour, Incidents: list, Asked: rules.Invocation{Captures: "x.pcap"}}
}

// Advised returns a report with these incidents, whose rules expire after an hour.
func Advised(t testing.TB, list []flood.Incident) *rules.Input {
	t.Helper()
	advise(t, list, 1)
	return &rules.Input{Expiry: time.Hour, Incidents: list, Asked: rules.Invocation{Captures: "x.pcap"}}
}

// LowLimit returns a report with the flood of Carpet alone, at so low a rate that the limit of
// its rules is the least there is. The incident has the number id.
func LowLimit(t testing.TB, id uint64) *rules.Input {
	t.Helper()
	list := []flood.Incident{carpet(40)}
	advise(t, list, id)
	return &rules.Input{Incidents: list}
}

// Named returns incidents at one server that together name so many sources.
func Named(t testing.TB, n int) []flood.Incident {
	t.Helper()
	var list []flood.Incident
	for i := range n {
		a := netip.AddrFrom4([4]byte{203, 0, 113, byte(i)})
		if i%8 == 0 {
			kind := []flood.Kind{flood.FloodFew, flood.ChallengeBypass}[i/8%2]
			list = append(list, flood.Incident{Kind: kind, Target: flood.Target{End: netip.MustParseAddrPort(Server)}, Sources: 8, Peak: 800})
			list[len(list)-1].Target.End = netip.AddrPortFrom(netip.MustParseAddrPort(Server).Addr(), uint16(27015+i))
		}
		in := &list[len(list)-1]
		in.Top = append(in.Top, flood.Source{Addr: a, Low: 900})
	}
	advise(t, list, 1)
	return list
}

func carpet(peak float64) flood.Incident {
	x := netip.MustParsePrefix(Carpet)
	return flood.Incident{Kind: flood.FloodSpoofed, Target: flood.Target{End: netip.AddrPortFrom(x.Addr(), 27015), Prefix: x},
		Sources: 9000, Peak: peak}
}

// advise numbers incidents and fills in their advice.
func advise(t testing.TB, list []flood.Incident, first uint64) {
	t.Helper()
	reg := protos.Registry(t)
	advisor := advice.New(reg, advice.DefaultExpiry)
	isWanted := func(p *dissect.Proto) bool { return p.Name == "a2s" }
	for i := range list {
		in := &list[i]
		in.ID, in.Level, in.Detected = first+uint64(i), in.Kind.Level(), 1_700_000_000e9
		in.Proto = reg.Protos()[slices.IndexFunc(reg.Protos(), isWanted)]
		advisor.Advise(in)
	}
}

var update = flag.Bool("update", false, "rewrite the golden files in testdata")

// Golden compares output with a file, or writes the file if the test is called with -update.
func Golden(t testing.TB, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s: want -, got +\n%s", path, diff)
	}
}
