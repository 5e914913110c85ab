package advice

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"qsniff/dissect"
	"qsniff/dissect/protocols"
	"qsniff/internal/base/hostset"
	"qsniff/internal/flood"
	"qsniff/internal/flood/measure"
	"qsniff/internal/flood/other"
	"qsniff/internal/track"
)

var updateAdvice = flag.Bool("update-advice", false, "rewrite the golden files in testdata")

// adviceExample is an incident of a golden file.
type adviceExample struct {
	name string
	in   flood.Incident
}

// adviceExamples are the incidents of the golden files: one of each kind, and in IPv6
// and for other protocols where that changes the lines.
func adviceExamples() []adviceExample {
	server, server6 := adviceEnd("198.51.100.17:27015"), adviceEnd("[2001:db8::17]:27015")
	few := []flood.Source{{Addr: adviceAddr("203.0.113.7"), Low: 1500}, {Addr: adviceAddr("203.0.113.90"), Low: 900},
		{Addr: adviceAddr("192.0.2.44"), Low: 3, Verified: true}} // a monitor: not to be named
	few6 := []flood.Source{{Addr: adviceAddr("2001:db8:1:2::7"), Low: 1500}, {Addr: adviceAddr("2001:db8:1:2::8"), Low: 900},
		{Addr: adviceAddr("2001:db8:77::1"), Low: 700}}
	carpet := []flood.Prefix{{Prefix: netip.MustParsePrefix("203.0.113.0/24"), Low: 9000, Hosts: 200}}
	both := func(name string, in flood.Incident) []adviceExample {
		in.ID, in.Target.End = 3, server
		six := in
		six.Target.End = server6
		if len(in.Top) > 0 {
			six.Top = few6
		}
		six.Prefixes = nil
		return []adviceExample{{name, in}, {name + "6", six}}
	}
	var all []adviceExample
	add := func(name string, in flood.Incident) { all = append(all, both(name, in)...) }
	one := func(name string, in flood.Incident) { all = append(all, both(name, in)[0]) }
	add("flood_few", flood.Incident{Kind: flood.FloodFew, Proto: protoNamed("a2s"), Top: few, Sources: 2, Peak: 802, Baseline: 3})
	one("flood_few-carpet", flood.Incident{Kind: flood.FloodFew, Proto: protoNamed("a2s"), Top: few, Prefixes: carpet, Sources: 200, Peak: 5000})
	one("flood_few-goldsource", flood.Incident{Kind: flood.FloodFew, Proto: protoNamed("goldsource"), Sources: 2, Peak: 300})
	add("flood_few-own", flood.Incident{Kind: flood.FloodFew, Proto: protoNamed("a2s"), Top: few, Prefixes: carpet, Sources: 200, Peak: 5000,
		Own: networksOf("203.0.113.7,2001:db8:1:2::8")})
	for i, name := range []string{"flood_few-proven", "flood_few-proven1", "flood_few-proven2"} { // one proven, one of two, both of two
		top := []flood.Source{{Addr: few[0].Addr, Low: 1500, Verified: true}, {Addr: few[1].Addr, Low: 900, Verified: i == 2}}
		if i == 0 {
			top = top[:1]
		}
		one(name, flood.Incident{Kind: flood.FloodFew, Proto: protoNamed("a2s"), Top: top, Sources: float64(len(top)), Peak: 802})
	}
	one("reflection-own", flood.Incident{Kind: flood.Reflection, Proto: protoNamed("a2s"), Top: few, Sources: 2, Own: networksOf("203.0.113.0/24")})
	add("flood_distributed", flood.Incident{Kind: flood.FloodDistributed, Proto: protoNamed("a2s"), Top: few, Sources: 300, Peak: 6000, Baseline: 41})
	add("flood_distributed-ase", flood.Incident{Kind: flood.FloodDistributed, Proto: protoNamed("ase"), Sources: 300, Peak: 3000, Baseline: 2})
	one("flood_few-forged", flood.Incident{Kind: flood.FloodFew, Proto: protoNamed("a2s"), Top: []flood.Source{{Addr: adviceAddr("203.0.113.7"), Low: 1500, OwnPort: 41000}}, Sources: 2, Peak: 802})
	one("flood_completing-one", flood.Incident{Kind: flood.FloodCompleting, Proto: protoNamed("a2s"), Top: []flood.Source{{Addr: adviceAddr("203.0.113.7"), Low: 1500, Verified: true}},
		TopOf: 1600, Sources: 2, Peak: 802, Answered: 1})
	add("flood_completing", flood.Incident{Kind: flood.FloodCompleting, Proto: protoNamed("a2s"), Sources: 250, Peak: 1000, Baseline: 2, Answered: 0.55})
	one("flood_completing-ase", flood.Incident{Kind: flood.FloodCompleting, Proto: protoNamed("ase"), Sources: 250, Peak: 1000, Answered: 1})
	add("flood_spoofed", flood.Incident{Kind: flood.FloodSpoofed, Proto: protoNamed("a2s"), Top: few, Sources: 590000, Peak: 20004, Baseline: 2})
	one("flood_spoofed-master", flood.Incident{Kind: flood.FloodSpoofed, Proto: protoNamed("master"), Sources: 9000, Peak: 900})
	add("flood_spoofed-other", flood.Incident{Kind: flood.FloodSpoofed, Sources: 9000, Peak: 120, Baseline: 7})
	add("flood_spoofed-toy", flood.Incident{Kind: flood.FloodSpoofed, Proto: protoToy, Sources: 9000, Peak: 5000, Baseline: 1})
	one("flood_few-toy", flood.Incident{Kind: flood.FloodFew, Proto: protoToy, Top: few, Sources: 2, Peak: 802})
	one("reflection-toy", flood.Incident{Kind: flood.Reflection, Proto: protoToy, Top: few, Sources: 24})
	one("reply_flood_victim-toy", flood.Incident{Kind: flood.ReplyFloodVictim, Proto: protoToy, Sources: 2000, Peak: 12000})
	one("reply_flood_victim-other", flood.Incident{Kind: flood.ReplyFloodVictim, Sources: 2000, Peak: 12000})
	one("flood_few-master", flood.Incident{Kind: flood.FloodFew, Proto: protoNamed("master"), Sources: 2, Peak: 300})
	info, rules := typeNamed("a2s", "A2S_INFO", false), typeNamed("a2s", "A2S_RULES", false)
	one("flood_spoofed-padded", flood.Incident{Kind: flood.FloodSpoofed, Proto: protoNamed("a2s"), Sources: 9000, Peak: 1000, Baseline: 2,
		Shape: []measure.Form{{Type: info, Min: 1200, Max: 1200, Packets: 2000}, {Type: info, Min: 25, Max: 25, Packets: 8}}})
	add("flood_spoofed-guesses", flood.Incident{Kind: flood.FloodSpoofed, Proto: protoNamed("a2s"), Sources: 9000, Peak: 1500, Baseline: 2,
		Shape: []measure.Form{{Type: info, HasKey: true, Min: 29, Max: 29, Packets: 3000}, {Type: info, Min: 25, Max: 25, Packets: 8}}})
	one("flood_spoofed-rules", flood.Incident{Kind: flood.FloodSpoofed, Proto: protoNamed("a2s"), Sources: 9000, Peak: 2000, Baseline: 2,
		Shape: []measure.Form{{Type: rules, Min: 9, Max: 9, Packets: 4000}, {Type: info, Min: 25, Max: 25, Packets: 8}}})
	add("flood_spoofed-gated", flood.Incident{Kind: flood.FloodSpoofed, Proto: protoNamed("a2s"), Sources: 9000, Peak: 2000, Baseline: 2,
		Gated: dissect.AskInfo | dissect.AskRules, Shape: []measure.Form{{Type: rules, Min: 9, Max: 9, Packets: 4000}}})
	one("flood_spoofed-mixed", flood.Incident{Kind: flood.FloodSpoofed, Proto: protoNamed("a2s"), Sources: 9000, Peak: 2000, Baseline: 2,
		Shape: []measure.Form{{Type: info, Min: 1200, Max: 1200, Packets: 400}, {Type: info, HasKey: true, Min: 29, Max: 29, Packets: 400},
			{Type: rules, Min: 9, Max: 9, Packets: 400}}})
	add("junk_flood-strange", flood.Incident{Kind: flood.JunkFlood, Proto: protoNamed("a2s"), Sources: 300, Peak: 3000,
		Shape: []measure.Form{{IsOther: true, Min: 60, Max: 899, Packets: 6000}}})
	one("flood_suspect", flood.Incident{Kind: flood.FloodSuspect, Proto: protoNamed("a2s"), Peak: 300})
	add("reflection", flood.Incident{Kind: flood.Reflection, Proto: protoNamed("a2s"), Top: few, Sources: 24})
	one("reflection-carpet", flood.Incident{Kind: flood.Reflection, Proto: protoNamed("goldsource"), Top: few, Prefixes: carpet, Sources: 200})
	add("reflection-ase", flood.Incident{Kind: flood.Reflection, Proto: protoNamed("ase"), Top: few, Sources: 3})
	add("reply_flood_victim", flood.Incident{Kind: flood.ReplyFloodVictim, Proto: protoNamed("a2s"), Sources: 2000, Peak: 12000})
	one("reply_flood_victim-ase", flood.Incident{Kind: flood.ReplyFloodVictim, Proto: protoNamed("ase"), Sources: 2000, Peak: 12000})
	add("challenge_bypass", flood.Incident{Kind: flood.ChallengeBypass, Proto: protoNamed("a2s"), Top: few, Sources: 2, Peak: 50, Succeeded: true})
	add("junk_flood", flood.Incident{Kind: flood.JunkFlood, Sources: 500, Peak: 3000})
	one("rcon_bruteforce-udp", flood.Incident{Kind: flood.RconBruteforce, Proto: protoNamed("goldsource"), Sources: 1})
	add("rcon_bruteforce", flood.Incident{Kind: flood.RconBruteforce, Proto: protoNamed("rcon"), Target: flood.Target{TCP: true}, Top: few})
	one("rcon_bruteforce-in", flood.Incident{Kind: flood.RconBruteforce, Proto: protoNamed("rcon"), Target: flood.Target{TCP: true}, Succeeded: true})
	for _, k := range []flood.Kind{flood.RconMisconfig, flood.Scan, flood.Survey, flood.Crowd, flood.Poller, flood.OpenAmplifier, flood.OwnToolStorm} {
		one(k.String(), flood.Incident{Kind: k, Proto: protoNamed("a2s")})
	}
	for _, c := range other.Classes(protocols.Foreign()) {
		switch c.Name {
		case "amplified_dns", "gre", "tcp_other":
			add("other_flood-"+c.Name, flood.Incident{Kind: flood.OtherFlood, Class: &c})
		default:
			one("other_flood-"+c.Name, flood.Incident{Kind: flood.OtherFlood, Class: &c})
		}
		if c.Handshakes || c.Joins {
			real := flood.Incident{Kind: flood.OtherFlood, Level: flood.Warn, Class: &c, Packets: 9000, Sources: 300}
			real.Target.TCP = c.TCP
			one("other_flood-"+c.Name+"-real", real)
		}
	}
	for _, x := range []struct{ name, net, end string }{{"", "198.51.100.0/24", "198.51.100.0:27015"}, {"6", "2001:db8::/64", "[2001:db8::]:27015"}} {
		target := flood.Target{End: adviceEnd(x.end), Prefix: netip.MustParsePrefix(x.net)}
		all = append(all, adviceExample{"flood_spoofed-network" + x.name, flood.Incident{ID: 3, Target: target, Kind: flood.FloodSpoofed,
			Proto: protoNamed("a2s"), Sources: 77000, Peak: 1294, Baseline: 6, Servers: 128}})
		// Of its sources, those in the network itself are not named.
		near := append([]flood.Source{{Addr: target.End.Addr().Next(), Low: 2000}}, few...)
		all = append(all, adviceExample{"flood_few-network" + x.name, flood.Incident{ID: 3, Target: target, Kind: flood.FloodFew,
			Proto: protoNamed("a2s"), Top: append(near, few6...), Sources: 5, Peak: 1294, Servers: 128}})
		all = append(all, adviceExample{"reflection-network" + x.name, flood.Incident{ID: 3, Target: target, Kind: flood.Reflection,
			Proto: protoNamed("a2s"), Top: append(few, few6...), Sources: 24, Servers: 128}})
	}
	one("open_amplifier-master", flood.Incident{Kind: flood.OpenAmplifier, Proto: protoNamed("master")})
	one("open_amplifier-ase", flood.Incident{Kind: flood.OpenAmplifier, Proto: protoNamed("ase")})
	return all
}

// networksOf returns one's own tools.
func networksOf(list string) *hostset.Networks {
	own, err := hostset.ParseNetworks(list)
	if err != nil {
		panic(err)
	}
	return own
}

func adviceAddr(s string) netip.Addr    { return netip.MustParseAddr(s) }
func adviceEnd(s string) netip.AddrPort { return netip.MustParseAddrPort(s) }

// TestAdvice compares the text with the golden files, which have what was measured
// as well.
func TestAdvice(t *testing.T) {
	for _, x := range adviceExamples() {
		c := outcome{Flood: 60001, FloodDropped: 58301, Clients: 412, ClientPackets: 7000, plan: advisor.newPlan(&x.in)}
		if hasClasses(x.in.Kind) {
			c.losses = knownVisitors(412, 0)
		}
		advice := advisor.write(&x.in, &c)
		got := advice.Text()
		path := filepath.Join("testdata", x.name+".txt")
		if *updateAdvice {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
		pktRules, _, _ := strings.Cut(got, "\nThe same for ")
		for line := range strings.Lines(pktRules) {
			if len(line) > textWidth+1 {
				t.Errorf("%s: wide line: %s", x.name, line)
			}
		}
	}
}

// TestAdviceDuration: words and rules agree on how long the rules match.
func TestAdviceDuration(t *testing.T) {
	in := flood.Incident{ID: 3, Kind: flood.FloodFew, Proto: protoNamed("a2s"), Target: flood.Target{End: adviceEnd("198.51.100.17:27015")},
		Top: []flood.Source{{Addr: adviceAddr("203.0.113.7"), Low: 1500}}, Sources: 2, Peak: 802}
	for _, tt := range []struct {
		expiry      time.Duration
		words, nft  string
		hasDeadline bool
	}{{time.Hour, "send, for an hour,", "timeout 1h\n", true}, {90 * time.Minute, "send, for 90m,", "timeout 1h30m\n", true},
		{10 * time.Second, "send, for 10s,", "timeout 10s\n", true},
		{0, "send, for an hour (with iptables until the lines are removed),", "timeout 1h\n", false}} {
		got := New(advisor.reg, tt.expiry).write(&in, nil)
		rules := got.Rules.NFTables()
		if words := strings.Join(got.Words, "\n"); !strings.Contains(words, tt.words) {
			t.Errorf("%v\ngot  %s\nwant %q in it", tt.expiry, words, tt.words)
		}
		if !strings.Contains(rules, tt.nft) || strings.Contains(rules, "set until3") != tt.hasDeadline {
			t.Errorf("%v\ngot  %s\nwant %q in it, and a deadline: %t", tt.expiry, rules, tt.nft, tt.hasDeadline)
		}
	}
}

// TestEveryKindHasAdvice: and none that nobody names.
func TestEveryKindHasAdvice(t *testing.T) {
	have := map[flood.Kind]bool{}
	for _, x := range adviceExamples() {
		have[x.in.Kind] = true
		if advice := advisor.write(&x.in, nil); len(advice.Words) == 0 {
			t.Errorf("%s has none", x.name)
		}
	}
	for k := flood.NoKind + 1; k < flood.NumKinds; k++ {
		if !have[k] {
			t.Errorf("%s has no example", k)
		}
	}
	if got := advisor.write(&flood.Incident{}, nil); got.Text() != "" {
		t.Errorf("no incident has advice: %s", got.Text())
	}
}

// knownVisitors are so many, of which hit lose an answer.
func knownVisitors(n, hit int) (x flood.ClientLosses) {
	for i := range n {
		x.All = append(x.All, flood.ClientLoss{Client: uint64(i), Packets: 3, Lost: uint32(max(0, min(1, hit-i)))})
	}
	return x
}

func TestSaid(t *testing.T) {
	spoofed := plan{kind: flood.FloodSpoofed}
	for _, x := range []struct {
		name string
		c    *outcome
		want string
	}{
		{"nothing measured", nil, "was not measured."},
		{"all", &outcome{Flood: 1000, FloodDropped: 1000, losses: knownVisitors(412, 0), plan: spoofed},
			"dropped 100 % of the flood (1,000 of 1,000 packets). While it lasted, 0 of 412 known visitors would have lost an answer."},
		{"nearly all", &outcome{Flood: 100000, FloodDropped: 99999, IsBlind: true, plan: spoofed},
			"dropped 99.9 % of the flood (99,999 of 100,000 packets). What they would have cost real clients is unknown: this"},
		{"some", &outcome{Flood: 10, losses: knownVisitors(9, 2), plan: spoofed}, "2 of 9 known visitors (22.2 %) would have lost an answer."},
		{"some guessers", &outcome{Flood: 10, Clients: 9, ClientsHit: 2, ClientLost: 1, ClientPackets: 5000, plan: plan{kind: flood.RconBruteforce}},
			"touched 2 of 9 sources that had proved to be no guesser, which would have lost 1 of their 5,000 packets (under 0.1 %)."},
		{"one", &outcome{Flood: 1, FloodDropped: 1, Clients: 1, plan: plan{kind: flood.RconBruteforce}},
			"(1 of 1 packet) and touched 0 of 1 source that had proved to be no guesser."},
		{"many", &outcome{Flood: 10, losses: knownVisitors(4096, 0), HasMoreClients: true, plan: spoofed}, "These are the first 4,096 clients: there were more."},
		{"many victims", &outcome{Flood: 10, Clients: 4096, HasMoreClients: true, plan: plan{kind: flood.Reflection}}, "touched 0 of the first 4,096 clients"},
		{"no client", &outcome{Flood: 10, plan: spoofed}, "none that had proved its address sent"},
		{"no flood", &outcome{Clients: 3, plan: plan{kind: flood.Reflection}}, "tried on any. They would have touched 0 of 3 clients"},
	} {
		if got := x.c.describe(); !strings.Contains(got, x.want) {
			t.Errorf("%s:\ngot  %s\nwant %s", x.name, got, x.want)
		}
	}
}

// TestDescribeLost: what clients lose without rules is said where it is known and worth it.
func TestDescribeLost(t *testing.T) {
	for _, x := range []struct {
		a    flood.Answers
		want string
	}{
		{flood.Answers{}, ""},
		{flood.Answers{FirstAsked: 1000, FirstGiven: 1000}, ""},
		{flood.Answers{FirstAsked: 1000, FirstGiven: 60}, "94 % of the first queries got no reply"},
		{flood.Answers{FirstAsked: 1000, FirstGiven: 60, KeyedAsked: 100, KeyedGiven: 10}, "94 % of the first queries got no reply, nor did 90 % of those that brought a challenge back"},
		{flood.Answers{FirstAsked: 1000, FirstGiven: 1000, KeyedAsked: 100, KeyedGiven: 10}, "90 % of the queries that brought a challenge back got no reply"},
	} {
		if got := DescribeLost(&x.a); got != x.want {
			t.Errorf("%+v:\ngot  %s\nwant %s", x.a, got, x.want)
		}
	}
}

// TestAdviceOfAnotherVerdict: what was tried for one kind says nothing of another.
func TestAdviceOfAnotherVerdict(t *testing.T) {
	in := adviceExamples()[0].in
	c := newTrial(&in).outcomeSoFar()
	c.Flood, c.FloodDropped = 10, 10
	in.Kind = flood.FloodSpoofed
	if got := advisor.write(&in, &c).Measured; !strings.Contains(got, "was not measured") {
		t.Errorf("got %s", got)
	}
}

// TestAdviceKeepsWhatWasTried: the text has the lines of the trial, whatever the
// incident became.
func TestAdviceKeepsWhatWasTried(t *testing.T) {
	in := adviceExamples()[0].in
	c := newTrial(&in).outcomeSoFar()
	before := advisor.write(&in, &c)
	in.Top, in.Peak, in.Sources = nil, 9, 100
	after := advisor.write(&in, &c)
	if diff := cmp.Diff(before.Text(), after.Text()); diff != "" {
		t.Error(diff)
	}
}

// TestAdvicePlain: whatever an incident holds, the text is printable ASCII in lines.
func TestAdvicePlain(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	n := 20000
	if testing.Short() {
		n = 2000
	}
	for range n {
		in := adviceRandom(r)
		c := newTrial(&in).outcomeSoFar()
		c.Flood, c.FloodDropped, c.ClientLost = r.Uint64(), r.Uint64(), r.Uint64()
		c.Clients, c.ClientsHit = int(r.Uint32()), int(r.Uint32())
		advice := advisor.write(&in, &c)
		got := advice.Text()
		if bad := strings.IndexFunc(got, func(x rune) bool { return x != '\n' && (x < ' ' || x > '~') }); bad >= 0 {
			t.Fatalf("byte %d of the advice for %+v: %q", bad, in, got)
		}
		if strings.Contains(got, "NaN") || strings.Contains(got, "Inf") || strings.Contains(got, "%!") {
			t.Fatalf("advice for %+v: %s", in, got)
		}
	}
}

func adviceRandom(r *rand.Rand) flood.Incident {
	pick := func(of ...float64) float64 { return of[r.IntN(len(of))] }
	number := func() float64 {
		return pick(math.NaN(), math.Inf(1), math.Inf(-1), -1, 0, math.MaxFloat64, r.Float64(), 1e4*r.Float64())
	}
	protos := append(advisor.reg.Protos(), nil)
	in := flood.Incident{ID: r.Uint64(), Kind: flood.Kind(r.UintN(256)), Proto: protos[r.IntN(len(protos))], Peak: number(),
		Baseline: number(), Sources: number(), Requests: r.Uint64N(1000), Succeeded: r.IntN(2) == 0, Evidence: []flood.Sentence{{Text: "\x00é"}}}
	if r.IntN(8) > 0 {
		in.Kind %= flood.NumKinds
	}
	in.Target = flood.Target{End: netip.AddrPortFrom(adviceRandomAddr(r), uint16(r.UintN(1<<16))), TCP: r.IntN(4) == 0}
	for range r.IntN(20) {
		in.Top = append(in.Top, flood.Source{Addr: adviceRandomAddr(r), Low: r.Uint64N(100), Ports: r.IntN(30), Verified: r.IntN(2) == 0})
	}
	for range r.IntN(6) {
		in.Prefixes = append(in.Prefixes, flood.Prefix{Prefix: netip.PrefixFrom(adviceRandomAddr(r), r.IntN(129)), Low: r.Uint64N(200),
			Hosts: r.IntN(20)})
	}
	return in
}

func adviceRandomAddr(r *rand.Rand) netip.Addr {
	var b [16]byte
	for i := range b {
		b[i] = byte(r.UintN(256))
	}
	switch r.IntN(6) {
	case 0:
		return netip.Addr{}
	case 1:
		return netip.AddrFrom16(b).WithZone("\x1b]0;" + fmt.Sprint(r.Int()))
	case 2:
		return netip.AddrFrom16(b)
	case 3:
		return netip.AddrFrom16([16]byte{10: 0xff, 11: 0xff, 12: b[0], 13: b[1], 14: b[2], 15: b[3]})
	}
	return netip.AddrFrom4([4]byte(b[:4]))
}

// TestVeto: what the trial shows of bad lines comes first, and useless ones are not printed.
func TestVeto(t *testing.T) {
	in := adviceIncident("flood_spoofed")
	p := advisor.newPlan(in)
	for _, x := range []struct {
		name      string
		c         outcome
		hasRules  bool
		wantFirst string
		wantPass  bool // "lets 1 of N through"
	}{
		{"good", outcome{Flood: 1000, FloodDropped: 900, Clients: 300, ClientsHit: 3}, true, "The source addresses", true},
		{"half", outcome{Flood: 1000, FloodDropped: 500, Clients: 300}, true, "The source addresses", true},
		{"a burst", outcome{Flood: 1199, FloodDropped: 100, Clients: 300}, true, "The source addresses", true},
		{"too little", outcome{Flood: 2000, FloodDropped: 998, Clients: 300}, true, "Filters on this host stop too little of this flood: " +
			"These lines were tried on the packets of this capture, and the best would have dropped 49.9 % of them (998 of 2,000 packets). They are below", false},
		{"nothing", outcome{Flood: 2000, FloodDropped: 198, Clients: 300}, false, "Filters on this host stop too little", false},
		{"clients", outcome{Flood: 1000, FloodDropped: 900, Clients: 299, ClientsHit: 3, NewHit: 3}, true,
			"Before you load the lines below: on this capture they would have touched 3 of 299 clients that had proved their address (1.0 %), more than 1 in 100. None", false},
		{"clients who can pass", outcome{Flood: 1000, FloodDropped: 900, Clients: 100, ClientsHit: 30, NewHit: 1}, true,
			"Before you load the lines below: on this capture they would have touched 30 of 100 clients that had proved their address (30.0 %)," +
				" more than 1 in 100. Load them with the proven clients", false},
		{"clients unknown", outcome{Flood: 1000, FloodDropped: 900, Clients: 100, ClientsHit: 30, IsBlind: true}, true, "The source addresses", true},
		{"clients that the flood hits more", outcome{Flood: 1000, FloodDropped: 960, Clients: 100, ClientsHit: 100, answers: flood.Answers{FirstAsked: 1000,
			FirstGiven: 60, KeyedAsked: 50, KeyedGiven: 3}}, true, "The source addresses", true},
		{"clients that the flood hits less", outcome{Flood: 1000, FloodDropped: 960, Clients: 100, ClientsHit: 100, answers: flood.Answers{FirstAsked: 1000,
			FirstGiven: 400, KeyedAsked: 50, KeyedGiven: 49}}, true, "Before you load", false},
		{"hardly tried", outcome{Flood: leastTried - 1}, true, "The source addresses", true},
		{"not tried", outcome{}, true, "The source addresses", true},
	} {
		x.c.plan = p
		in.Answers = x.c.answers
		a := advisor.write(in, &x.c)
		all := strings.ReplaceAll(strings.Join(a.Words, "\n"), "capture", "")
		if (a.Rules != nil) != x.hasRules || !strings.HasPrefix(a.Words[0], x.wantFirst) || strings.Contains(all, "through") != x.wantPass {
			t.Errorf("%s: rules %v\n%s", x.name, a.Rules != nil, all)
		}
		if a.ProvenFirst != (x.c.ClientsHit > x.c.NewHit && !x.c.IsBlind) {
			t.Errorf("%s: to be loaded with the proven clients: %v", x.name, a.ProvenFirst)
		}
		if !x.hasRules && !strings.Contains(all, "upstream") {
			t.Errorf("%s: nothing else is offered:\n%s", x.name, all)
		}
		if !x.hasRules && (strings.Contains(all, "cap") || a.Measured != "") {
			t.Errorf("%s: words about lines that are not there:\n%s", x.name, all)
		}
	}
}

// TestBestPlan: of the plans that were tried, the one that works is advised, and the others
// are named with what they did.
func TestBestPlan(t *testing.T) {
	in := adviceIncident("flood_distributed") // a limit for each source, and a cap
	tr := newTrial(in)
	if tr.numAttempts < 2 || tr.numAttempts > trialPlans {
		t.Fatalf("%d plans", tr.numAttempts)
	}
	for i := range 120_000 { // 400 bots, 30 queries a second each, for as long as it takes
		at := time.Duration(i) * time.Second / 12_000
		tr.Apply(pktFrom(pktInfo, netip.AddrFrom4([4]byte{20, 3, byte(i % 400 >> 8), byte(i % 400)}).String(), at), false)
		if i%200 == 0 { // clients come back
			tr.Apply(pktFrom(pktInfo, netip.AddrFrom4([4]byte{192, 0, 2, byte(i / 200)}).String(), at), true)
		}
	}
	all := tr.conclude(false, 0)
	best := &all[0]
	if best.rank() != 3 || best.ClientsHit > 0 || best.plan.describeRules() != "a limit for each source" {
		t.Errorf("%s: %+v", best.plan.describeRules(), best.FloodDropped)
	}
	a := advisor.write(in, best, all[1:]...)
	if !strings.Contains(a.Measured, "0 of 256 known visitors would have lost an answer") || !strings.Contains(a.Measured, "not chosen: a limit for each source and a cap on all first queries (95") {
		t.Error(a.Measured)
	}
	if r, ok := a.Rules.(*plan); !ok || r.describeRules() != best.plan.describeRules() {
		t.Errorf("rules %v", a.Rules)
	}
}

// TestPlansAreBounded: no incident has more plans than a trial has room for, or more rules in
// one than a plan.
func TestPlansAreBounded(t *testing.T) {
	for _, x := range adviceExamples() {
		plans := advisor.newPlans(&x.in)
		if len(plans) == 0 || len(plans) > trialPlans {
			t.Errorf("%s: %d plans", x.name, len(plans))
		}
		for i := range plans {
			for j := range plans[:i] {
				if plans[j].doesSame(plans[i]) {
					t.Errorf("%s: plans %d and %d do the same", x.name, j, i)
				}
			}
		}
	}
}

// toy is a protocol that declares its types and a token, and nothing else. It stands for
// one that is added later: advice for it must be right without a word about it here.
var (
	askToy = &dissect.Type{Name: "ASK", Asks: dissect.AskStatus, Wire: []dissect.Pattern{dissect.Begins("TOY?")},
		Token: &dissect.Token{FromEnd: 4, Len: 4, Plain: []dissect.Pattern{dissect.Begins("TOY?").Sized(4, 4),
			dissect.Begins("TOY?none").Sized(8, 8)}}}
	tokenToy = &dissect.Type{Name: "TOKEN", Reply: true, Asks: dissect.AskStatus, Wire: []dissect.Pattern{dissect.Begins("TOY#").Sized(8, 8)},
		Token: &dissect.Token{FromEnd: 4, Len: 4}}
	giveToy  = &dissect.Type{Name: "GIVE", Reply: true, Asks: dissect.AskStatus, Wire: []dissect.Pattern{dissect.Begins("TOY!").Sized(20, 0)}}
	protoToy = &dissect.Proto{Name: "toy", Types: []*dissect.Type{askToy, tokenToy, giveToy}}
)

type declared struct{ proto *dissect.Proto }

func (d declared) Proto() *dissect.Proto { return d.proto }

// The packets of the protocol.
var (
	pktToy      = track.Sighting{What: track.IsRequest, Proto: protoToy, Type: askToy, Asks: askToy.Asks, Bytes: 4}
	pktToyNone  = track.Sighting{What: track.IsRequest, Proto: protoToy, Type: askToy, Asks: askToy.Asks, Bytes: 8}
	pktToyAgain = track.Sighting{What: track.IsRequest, Proto: protoToy, Type: askToy, Asks: askToy.Asks, Bytes: 8,
		Flags: track.HasKey, Key: 7}
	pktToyToken  = track.Sighting{What: track.IsReply, Proto: protoToy, Type: tokenToy, Asks: tokenToy.Asks, Bytes: 8}
	pktToyAnswer = track.Sighting{What: track.IsReply, Proto: protoToy, Type: giveToy, Asks: giveToy.Asks, Bytes: 120}
)

// advisor knows the toy and the protocols that the tests are about: lines for a server of
// which nothing is known name all, and would change with each that is added.
var advisor = func() *Advisor {
	about := slices.DeleteFunc(protocols.All(), func(p dissect.Protocol) bool {
		return !slices.Contains([]string{"goldsource", "a2s", "master", "ase", "rcon"}, p.Proto().Name)
	})
	reg, err := dissect.NewRegistry(append(about, declared{protoToy})...)
	if err != nil {
		panic(err)
	}
	return New(reg, DefaultExpiry)
}()

// protoNamed returns a protocol, nil if there is none of the name.
func protoNamed(name string) *dissect.Proto {
	for _, p := range advisor.reg.Protos() {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// typeNamed returns a type of message.
func typeNamed(proto, name string, isReply bool) *dissect.Type {
	for _, t := range protoNamed(proto).Types {
		if t.Name == name && t.Reply == isReply {
			return t
		}
	}
	panic(proto + " has no " + name)
}

// drip is the packets of a flood against the lines for "flood_spoofed-gated": 2,000 a second, so
// that what is not let pass first is dropped more often than not.
func drip(tr *trial, from, to time.Duration) {
	for at := from; at < to; at += time.Second / 2000 {
		n := uint32(at / (time.Second / 2000))
		src := netip.AddrFrom4([4]byte{20, byte(n >> 16), byte(n >> 8), byte(n)}).String()
		tr.Apply(pktFrom(pktRules, src, at), false)
	}
}

// TestAnsweredPass: a client that the server answered for a challenge passes before the cap, up
// to a limit of its own, for ten minutes; who was sent a challenge only does not.
func TestAnsweredPass(t *testing.T) {
	tr := newTrial(adviceIncident("flood_spoofed-gated"))
	end := time.Duration(0)
	lost := func() uint64 { c := tr.outcomeSoFar(); return c.FloodDropped + c.ClientLost }
	passed := func(src string, at time.Duration) (n int) {
		drip(tr, max(end, at-5*time.Second), at) // the cap is used up
		for range 40 {
			before := lost()
			if tr.Apply(pktFrom(pktRules, src, at), true); lost() == before {
				n++
			}
			drip(tr, at, at+time.Millisecond)
			at += time.Millisecond
		}
		end = at
		return n
	}
	const answered, challenged, later = "192.0.2.1", "192.0.2.2", "192.0.2.3"
	tr.Apply(pktTo(pktAnswer, answered, 2*time.Second), true)
	tr.Apply(pktTo(pktChallenge, challenged, 2*time.Second), true)
	tr.Apply(pktTo(pktAnswer, later, 2*time.Second), true)
	if n := passed(answered, 3*time.Second); n < 30 || n > 38 {
		t.Errorf("%d of 40 queries of an answered client passed, want 30 and a few by the cap", n)
	}
	if n := passed(challenged, 4*time.Second); n > 15 {
		t.Errorf("%d of 40 queries of a client that was only challenged passed", n)
	}
	if n := passed(later, 2*time.Second+answeredIdle); n > 15 {
		t.Errorf("%d of 40 queries passed ten minutes after the answer", n)
	}
}

// TestAnsweredAreGated: an answer that the server gives without a challenge lets nobody pass,
// nor does a challenge, whoever is sent one; and where it gives all of them so, or its protocol
// has no challenge, no line is about it.
func TestAnsweredAreGated(t *testing.T) {
	in := *adviceIncident("flood_spoofed-gated")
	for _, x := range []struct {
		name  string
		gated dissect.Asked
		proto string
		want  bool
	}{
		{"rules alone", dissect.AskRules, "a2s", false},
		{"information", dissect.AskInfo, "a2s", true},
		{"nothing", 0, "a2s", false},
		{"no challenge in the protocol", dissect.AskStatus, "ase", false},
	} {
		in.Gated, in.Proto = x.gated, protoNamed(x.proto)
		tr := newTrial(&in)
		tr.Apply(pktTo(pktAnswer, "192.0.2.1", 0), true)
		tr.Apply(pktTo(pktChallenge, "192.0.2.2", 0), false)
		if n := tr.attempts[0].answered.numKeys; n > 1 || (n == 1) != x.want {
			t.Errorf("%s: %d sources pass after an answer with information, want %v", x.name, n, x.want)
		}
		text := strings.Join(tr.attempts[0].plan.paragraphs(&in), "\n") + tr.attempts[0].plan.NFTables()
		if has := strings.Contains(text, "answered"); has != (x.gated&(dissect.AskInfo|dissect.AskRules) != 0) {
			t.Errorf("%s: lines about who was answered: %v\n%s", x.name, has, text)
		}
	}
	in = *adviceIncident("flood_few")
	in.Gated = dissect.AskInfo
	if tr := newTrial(&in); tr.attempts[0].plan.needsAnswered() {
		t.Error("lines without a cap look at answers")
	}
	if p := advisor.newPlan(&in); p.kind != flood.FloodFew || strings.Contains(p.formatIPTables(), "ipset") {
		t.Error(p.formatIPTables())
	}
}

// TestAnswerToDropped: the answer to a request that the lines dropped lets nobody pass: the
// server would not have sent it.
func TestAnswerToDropped(t *testing.T) {
	tr := newTrial(adviceIncident("flood_spoofed-gated"))
	drip(tr, 0, 2*time.Second)
	dropped, n := tr.outcomeSoFar().FloodDropped, 0
	for i := 0; n == 0 && i < 10; i++ { // one of them is dropped
		tr.Apply(pktFrom(pktRules, "192.0.2.1", 2*time.Second), false)
		n = int(tr.outcomeSoFar().FloodDropped - dropped)
	}
	tr.Apply(pktTo(pktAnswer, "192.0.2.1", 2*time.Second), false)
	if n != 1 || tr.attempts[0].answered.numKeys != 0 {
		t.Errorf("%d dropped, %d sources pass", n, tr.attempts[0].answered.numKeys)
	}
}
