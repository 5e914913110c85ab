package advice

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"qsniff/dissect"
	"qsniff/internal/flood"
	"qsniff/internal/flood/other"
	"qsniff/internal/test/race"
	"qsniff/internal/track"
)

var (
	protoA2S  = protoNamed("a2s")
	protoWord = protoNamed("goldsource")
	protoASE  = protoNamed("ase")
	askInfo   = typeNamed("a2s", "A2S_INFO", false)
	askRules  = typeNamed("a2s", "A2S_RULES", false)
	askKey    = typeNamed("a2s", "A2S_SERVERQUERY_GETCHALLENGE", false)
	askWord   = typeNamed("goldsource", "DETAILS", false)
	askShort  = typeNamed("goldsource", "INFO", false)
	askRcon   = typeNamed("goldsource", "RCON", false)
	askASE    = typeNamed("ase", "ASE_QUERY", false)
	giveInfo  = typeNamed("a2s", "S2A_INFO_SRC", true)
	askPage   = typeNamed("master", "A2M_GET_SERVERS_BATCH2", false)
	askList   = typeNamed("master", "A2M_GET_SERVERS", false)
	sayBeat   = typeNamed("master", "S2M_HEARTBEAT2", false)
)

// The packets that the tests use. Names say what they are to the server.
var (
	pktInfo      = track.Sighting{What: track.IsRequest, Proto: protoA2S, Type: askInfo, Asks: dissect.AskInfo, Bytes: 25}
	pktInfoAgain = track.Sighting{What: track.IsRequest, Proto: protoA2S, Type: askInfo, Asks: dissect.AskInfo, Bytes: 29,
		Flags: track.HasKey, Key: 7}
	pktPadded    = track.Sighting{What: track.IsRequest, Proto: protoA2S, Type: askInfo, Asks: dissect.AskInfo, Bytes: 1200}
	pktChallenge = track.Sighting{What: track.IsChallenge, Proto: protoA2S, Type: typeNamed("a2s", "S2C_CHALLENGE", true), Bytes: 9,
		Flags: track.HasKey, Key: 7}
	pktRules      = track.Sighting{What: track.IsRequest, Proto: protoA2S, Type: askRules, Asks: dissect.AskRules, Bytes: 9}
	pktRulesAgain = track.Sighting{What: track.IsRequest, Proto: protoA2S, Type: askRules, Asks: dissect.AskRules, Bytes: 9,
		Flags: track.HasKey, Key: 7}
	pktRulesCut = track.Sighting{What: track.IsRequest, Proto: protoA2S, Type: askRules, Asks: dissect.AskRules, Bytes: 9,
		Flags: track.Cut}
	pktGetKey   = track.Sighting{What: track.IsRequest, Proto: protoA2S, Type: askKey, Asks: dissect.AskChallenge, Bytes: 5}
	pktDetails  = track.Sighting{What: track.IsRequest, Proto: protoWord, Type: askWord, Asks: dissect.AskInfo, Bytes: 12}
	pktShort    = track.Sighting{What: track.IsRequest, Proto: protoWord, Type: askShort, Asks: dissect.AskInfo, Bytes: 9}
	pktCommand  = track.Sighting{What: track.IsRequest, Proto: protoWord, Type: askRcon, Asks: dissect.AskRcon, Bytes: 30}
	pktStatus   = track.Sighting{What: track.IsRequest, Proto: protoASE, Type: askASE, Asks: dissect.AskStatus, Bytes: 1}
	pktAnswer   = track.Sighting{What: track.IsReply, Proto: protoA2S, Type: giveInfo, Asks: dissect.AskInfo, Bytes: 170}
	pktPart     = track.Sighting{What: track.IsPart, Bytes: 1260}
	pktPage     = track.Sighting{What: track.IsRequest, Proto: protoNamed("master"), Type: askPage, Asks: dissect.AskServers, Bytes: 13}
	pktList     = track.Sighting{What: track.IsRequest, Proto: protoNamed("master"), Type: askList, Asks: dissect.AskServers, Bytes: 2}
	pktBeat     = track.Sighting{What: track.IsRequest, Proto: protoNamed("master"), Type: sayBeat, Bytes: 13}
	pktJoin     = track.Sighting{What: track.IsOther, Bytes: 20} // as the lines see it: see TestKernelAgrees
	pktJunk     = track.Sighting{What: track.IsJunk, Bytes: 40}
	pktFamiliar = track.Sighting{What: track.IsJunk, Flags: track.Familiar, Bytes: 30}
	pktGame     = track.Sighting{What: track.IsOther, Bytes: 80}
	pktOpened   = track.Sighting{What: track.IsOpened, Flags: track.Connection}
	pktSegment  = track.Sighting{What: track.IsAcked, Flags: track.Connection, Bytes: 40}
	pktICMP     = track.Sighting{What: track.IsUnreachable, Bytes: 25}
	pktPassword = track.Sighting{What: track.IsLogin, Flags: track.Connection}
)

// pktFrom is a packet of a source at a time after the beginning.
func pktFrom(s track.Sighting, src string, at time.Duration) *track.Sighting {
	s.Src, s.SrcPort = track.HostOf(netip.AddrPortFrom(adviceAddr(src), 40000)), 40000
	server := adviceEnd("198.51.100.17:27015")
	if adviceAddr(src).Is6() {
		server = adviceEnd("[2001:db8::17]:27015")
	}
	s.Dst, s.DstPort = track.HostOf(server), server.Port()
	s.Age = 1_700_000_000_000_000_000 + int64(at)
	return &s
}

func pktTo(s track.Sighting, dst string, at time.Duration) *track.Sighting {
	x := pktFrom(s, dst, at)
	x.Src, x.Dst, x.SrcPort, x.DstPort = x.Dst, x.Src, x.DstPort, x.SrcPort
	return x
}

func adviceIncident(name string) *flood.Incident {
	for _, x := range adviceExamples() {
		if x.name == name {
			return &x.in
		}
	}
	panic(name)
}

// newTrial tries the lines that advise writes for in as it is now.
func newTrial(in *flood.Incident) *trial {
	t := &trial{advisor: advisor}
	t.reset(in)
	return t
}

// TestLinesMatch pins which packets each incident's lines look at: with every
// bucket empty, what they look at is dropped.
func TestLinesMatch(t *testing.T) {
	packets := []struct {
		name string
		s    track.Sighting
	}{{"info", pktInfo}, {"infoAgain", pktInfoAgain}, {"rules", pktRules}, {"rulesAgain", pktRulesAgain}, {"rulesCut", pktRulesCut},
		{"getKey", pktGetKey}, {"details", pktDetails}, {"short", pktShort}, {"command", pktCommand}, {"status", pktStatus}, {"answer", pktAnswer},
		{"part", pktPart}, {"familiar", pktFamiliar}, {"junk", pktJunk}, {"game", pktGame}, {"toy", pktToy}, {"toyNone", pktToyNone}, {"toyAgain", pktToyAgain},
		{"toyToken", pktToyToken}, {"toyAnswer", pktToyAnswer}, {"opened", pktOpened}, {"segment", pktSegment}, {"icmp", pktICMP},
		{"password", pktPassword}}
	for _, x := range []struct {
		incident string
		want     []string
	}{
		{"flood_spoofed", []string{"info", "rules", "getKey", "short"}},
		{"flood_distributed", []string{"info", "infoAgain", "rules", "rulesAgain", "rulesCut", "getKey", "short"}},
		{"flood_few-goldsource", []string{"details", "short"}},
		{"flood_distributed-ase", []string{"status"}},
		{"flood_spoofed-other", []string{"info", "infoAgain", "rules", "rulesAgain", "rulesCut", "getKey", "details", "short", "command",
			"answer", "familiar", "junk"}},
		{"flood_spoofed-toy", []string{"toy", "toyNone"}},
		{"flood_few-toy", []string{"toy", "toyNone", "toyAgain"}},
		{"reflection-toy", []string{"toyAnswer"}},
		{"reply_flood_victim-toy", []string{"toyToken", "toyAnswer"}},
		{"reflection", []string{"answer"}},
		{"reply_flood_victim", []string{"answer", "part"}},
		{"junk_flood", []string{"answer", "junk"}},
		{"rcon_bruteforce", []string{"opened"}},
		{"rcon_bruteforce-udp", []string{"command"}},
	} {
		in := adviceIncident(x.incident)
		var got []string
		for _, p := range packets {
			tr := newTrial(in)
			for i := range tr.attempts[0].plan.rules {
				tr.attempts[0].plan.rules[i].limit.burst = 0
			}
			tr.attempts[0].setTests()
			s := pktFrom(p.s, "192.0.2.99", 0)
			if in.Kind == flood.Reflection {
				s = pktTo(p.s, "192.0.2.99", 0)
			}
			tr.Apply(s, true)
			if tr.outcomeSoFar().ClientLost > 0 {
				got = append(got, p.name)
			}
		}
		if len(got) != len(x.want) {
			t.Errorf("%s:\ngot  %v\nwant %v", x.incident, got, x.want)
			continue
		}
		for i := range got {
			if got[i] != x.want[i] {
				t.Errorf("%s:\ngot  %v\nwant %v", x.incident, got, x.want)
				break
			}
		}
	}
}

// TestNamedSources: what they send is dropped, proven or not, and counts as the
// flood; a proven client in a network that is blocked is collateral.
func TestNamedSources(t *testing.T) {
	tr := newTrial(adviceIncident("flood_few-carpet")) // 203.0.113.0/24
	for range 10 {
		tr.Apply(pktFrom(pktInfo, "203.0.113.200", 0), false)
		tr.Apply(pktFrom(pktInfoAgain, "203.0.113.201", 0), true)
		tr.Apply(pktFrom(pktInfoAgain, "192.0.2.1", 0), true)
	}
	want := outcome{Flood: 10, FloodDropped: 10, Clients: 2, ClientsHit: 1, NewHit: 1, ClientPackets: 20, ClientLost: 10}
	checkTrial(t, "network", tr, want)

	tr = newTrial(adviceIncident("flood_few"))
	for range 10 {
		tr.Apply(pktFrom(pktInfo, "203.0.113.7", 0), true) // a flooder who completes
		tr.Apply(pktFrom(pktInfo, "203.0.113.8", 0), true)
	}
	checkTrial(t, "hosts", tr, outcome{Flood: 10, FloodDropped: 10, Clients: 1, ClientPackets: 10})

	tr = newTrial(adviceIncident("reflection"))
	for range 10 {
		tr.Apply(pktTo(pktAnswer, "203.0.113.7", 0), false)
		tr.Apply(pktTo(pktAnswer, "192.0.2.1", 0), true)
	}
	checkTrial(t, "victims", tr, outcome{Flood: 10, FloodDropped: 5, Clients: 1, ClientPackets: 10})
}

func checkTrial(t *testing.T, name string, tr *trial, want outcome) {
	t.Helper()
	if diff := cmp.Diff(want, tr.outcomeSoFar(), cmpopts.IgnoreUnexported(outcome{})); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// TestEachSource: every IPv4 address has its own bucket, every /64 of IPv6 has.
func TestEachSource(t *testing.T) {
	tr := newTrial(adviceIncident("flood_few")) // 30 at once
	for range 40 {
		tr.Apply(pktFrom(pktInfo, "192.0.2.1", 0), false)
		tr.Apply(pktFrom(pktInfo, "192.0.2.2", 0), false)
	}
	checkTrial(t, "IPv4", tr, outcome{Flood: 80, FloodDropped: 20})

	tr = newTrial(adviceIncident("flood_few6"))
	for range 20 {
		tr.Apply(pktFrom(pktInfo, "2001:db8:9:9::1", 0), false)
		tr.Apply(pktFrom(pktInfo, "2001:db8:9:9:8000::2", 0), false)
		tr.Apply(pktFrom(pktInfo, "2001:db8:9:a::1", 0), true)
	}
	checkTrial(t, "IPv6", tr, outcome{Flood: 40, FloodDropped: 10, Clients: 1, ClientPackets: 20})
}

// TestNames: whom the lines name, and whom they must not.
func TestNames(t *testing.T) {
	top := func(low uint64, a string) flood.Source { return flood.Source{Addr: netip.MustParseAddr(a), Low: low} }
	nat := top(900, "192.0.2.5")
	nat.Verified, nat.Ports = true, 40
	network := func(low uint64, hosts int, s string) flood.Prefix {
		return flood.Prefix{Prefix: netip.MustParsePrefix(s), Low: low, Hosts: hosts}
	}
	for _, x := range []struct {
		name string
		in   flood.Incident
		want string
	}{
		{"busiest and like it, no monitor", flood.Incident{Top: []flood.Source{top(1000, "192.0.2.1"), top(100, "192.0.2.2"),
			top(99, "192.0.2.3")}}, "[192.0.2.1/32 192.0.2.2/32]"},
		{"no NAT, no other family, not the target", flood.Incident{Top: []flood.Source{nat, top(900, "2001:db8::1"),
			top(900, "198.51.100.17"), top(900, "::ffff:192.0.2.9")}}, "[192.0.2.9/32]"},
		{"network in place of its hosts", flood.Incident{Requests: 5000, Top: []flood.Source{top(50, "203.0.113.1"), top(50, "192.0.2.1")},
			Prefixes: []flood.Prefix{network(4000, 200, "203.0.113.0/24")}}, "[203.0.113.0/24 192.0.2.1/32]"},
		{"no small network, not the target's", flood.Incident{Requests: 5000, Prefixes: []flood.Prefix{network(4000, 7, "203.0.113.0/24"),
			network(4000, 200, "198.51.100.0/24"), network(400, 200, "192.0.2.0/24")}}, "[]"},
	} {
		x.in.Kind, x.in.Target.End = flood.FloodFew, adviceEnd("198.51.100.17:27015")
		p := advisor.newPlan(&x.in)
		if got := fmt.Sprint(p.named[:p.numNames]); got != x.want {
			t.Errorf("%s:\ngot  %s\nwant %s", x.name, got, x.want)
		}
	}
}

// TestCap: well above the traffic of before, and below the flood.
func TestCap(t *testing.T) {
	for _, x := range []struct {
		protocol       string
		peak, baseline float64
		want           int64
	}{
		{"a2s", 20000, 2, 300}, {"a2s", 20000, 41, 500}, {"a2s", -1, -1, 300}, {"a2s", 400, 2, 100},
		{"ase", 3000, 2, 50}, {"ase", 30, 2, 10}, {"a2s", math.NaN(), math.Inf(1), 300}, {"a2s", 1e9, 1e9, 100000},
		{"", 120, 7, 30}, {"goldsource", 5000, 1, 100},
	} {
		p := advisor.newPlan(&flood.Incident{Kind: flood.FloodSpoofed, Proto: protoNamed(x.protocol), Peak: x.peak, Baseline: x.baseline,
			Target: flood.Target{End: adviceEnd("198.51.100.17:27015")}})
		if got := p.rules[0].limit.packets; got != x.want {
			t.Errorf("%s at %v, before %v: cap %d, want %d", x.protocol, x.peak, x.baseline, got, x.want)
		}
	}
}

// TestOrder: what the first line drops costs the cap after it nothing.
func TestOrder(t *testing.T) {
	tr := newTrial(adviceIncident("flood_distributed")) // 30 at once each, 1000 at once for all
	for range 5000 {
		tr.Apply(pktFrom(pktInfo, "192.0.2.1", 0), false)
	}
	for i := range 970 {
		tr.Apply(pktFrom(pktInfo, netip.AddrFrom4([4]byte{198, 18, byte(i >> 8), byte(i)}).String(), 0), false)
	}
	tr.Apply(pktFrom(pktInfo, "192.0.2.2", 0), true)
	tr.Apply(pktFrom(pktInfoAgain, "192.0.2.2", 0), true)
	checkTrial(t, "order", tr, outcome{Flood: 5970, FloodDropped: 4970, Clients: 1, ClientsHit: 1, ClientPackets: 2,
		ClientLost: 1})
}

// TestCapBelowLimit: where a server showed what it answers at most, what passes the cap leaves room for those who
// bring challenges back.
func TestCapBelowLimit(t *testing.T) {
	for _, x := range []struct {
		stands, usual float64
		want          int64
	}{
		{0, 10, 300}, {60, 0, 45}, {60, 10, 40}, {60, 20, 20}, {60, 40, 15}, {400, 10, 300}, {199, 10, 140}, {5000, 10, 300},
	} {
		in := adviceIncident("flood_spoofed")
		in.Peak, in.Stands, in.Baseline = 4000, x.stands, x.usual
		p := advisor.newPlan(in)
		if got := p.findRule(lineFirst).limit.packets; got != x.want {
			t.Errorf("a server that answers %g/s, asked %g/s usually: a cap of %d, want %d", x.stands, x.usual, got, x.want)
		}
	}
}

// TestRefit: a trial begins anew where the cap would be half of what it tries, and goes on else.
func TestRefit(t *testing.T) {
	in := adviceIncident("flood_spoofed")
	in.Peak = 4000
	tr := newTrial(in)
	was := tr.attempts[0].plan.findRule(lineFirst).limit.packets
	for _, x := range []struct {
		stands float64
		want   bool
	}{{0, false}, {300, false}, {100, true}, {100, false}, {0, true}} {
		in.Stands = x.stands
		if got := tr.Refit(in); got != x.want {
			t.Errorf("a limit of %g/s, and a cap of %d: begins anew: %v", x.stands, was, got)
		}
		was = tr.attempts[0].plan.findRule(lineFirst).limit.packets
	}
}

// TestTablesFull: sources that the set has no room for pass, until others have been
// idle for a minute. Clients beyond the table are said to be more.
func TestTablesFull(t *testing.T) {
	tr := newTrial(adviceIncident("flood_few"))
	host := func(i int) string { return netip.AddrFrom4([4]byte{20, byte(i >> 16), byte(i >> 8), byte(i)}).String() }
	for i := range trialSources {
		tr.Apply(pktFrom(pktInfo, host(i), 0), false)
	}
	flood := func(src string, at time.Duration) uint64 {
		before := tr.outcomeSoFar().FloodDropped
		for range 40 {
			tr.Apply(pktFrom(pktInfo, src, at), false)
		}
		return tr.outcomeSoFar().FloodDropped - before
	}
	if got := flood("30.0.0.1", time.Second); got != 0 {
		t.Errorf("dropped %d of a source beyond the table", got)
	}
	if got := flood(host(5), 2*time.Second); got != 10 {
		t.Errorf("dropped %d of a source inside, want 10", got)
	}
	if got := flood("30.0.0.1", 62*time.Second); got != 10 {
		t.Errorf("dropped %d when there was room again, want 10", got)
	}
	if n := tr.attempts[0].sourceBuckets.numKeys; n != 2 {
		t.Errorf("%d sources left, want 2", n)
	}
	for i := range trialClients + 100 {
		tr.Apply(pktFrom(pktInfoAgain, host(i), 63*time.Second), true)
	}
	if c := tr.outcomeSoFar(); c.Clients != trialClients || !c.HasMoreClients {
		t.Errorf("%d clients, more %v", c.Clients, c.HasMoreClients)
	}
	if got := len(tr.attempts[0].sourceBuckets.slots)*16 + len(tr.clients.slots)*16; got > 640<<10 { // of 3 MiB
		t.Errorf("%d bytes", got)
	}
}

// TestTrialMemory: a trial with all tables full has the size that maxTrials states.
func TestTrialMemory(t *testing.T) {
	tr := &trial{}
	size := unsafe.Sizeof(*tr)
	slot, record := unsafe.Sizeof(hashSlot{}), unsafe.Sizeof(clientRecord{})
	fill := func(x *hashTable, most int) {
		x.reset(most)
		for k := range uint64(most) + 1 {
			x.findOrAdd((k + 1) * 0x9e3779b97f4a7c15)
		}
		size += uintptr(cap(x.slots))*slot + uintptr(cap(x.marks))*unsafe.Sizeof(x.marks[0])
	}
	for i := range tr.attempts {
		fill(&tr.attempts[i].sourceBuckets, trialSources)
		fill(&tr.attempts[i].peers, trialPeers)
	}
	fill(&tr.clients, trialClients)
	for range trialClients {
		tr.records = append(tr.records, clientRecord{})
	}
	size += uintptr(cap(tr.records)) * record
	if size < 13<<19 || size > 69<<20/10 {
		t.Errorf("got  %d bytes\nwant 6.9 MiB at most, and about that", size)
	}
}

// TestTrialAllocates nothing once its tables have grown.
func TestTrialAllocates(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	for _, name := range []string{"flood_few", "flood_spoofed", "flood_spoofed-gated", "reflection", "junk_flood"} {
		tr := newTrial(adviceIncident(name))
		packets := make([]*track.Sighting, 4096)
		for i := range packets {
			src := netip.AddrFrom4([4]byte{20, 0, byte(i >> 8), byte(i)}).String()
			packets[i] = pktFrom([]track.Sighting{pktInfo, pktAnswer, pktJunk, pktGame}[i%4], src, time.Duration(i)*time.Millisecond)
			if name == "reflection" {
				packets[i] = pktTo(*packets[i], src, time.Duration(i)*time.Millisecond)
			}
		}
		run := func() {
			for i, p := range packets {
				tr.Apply(p, i&8 == 0)
			}
		}
		run()
		if n := testing.AllocsPerRun(10, run); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
		tr.reset(adviceIncident(name)) // the memory is kept
		if n := testing.AllocsPerRun(5, run); n != 0 {
			t.Errorf("%s: %v allocations after reset", name, n)
		}
	}
}

// TestTry: notes are not tried, at most maxTrials incidents are, and one that ends makes room.
func TestTry(t *testing.T) {
	a := New(advisor.reg, DefaultExpiry)
	in := *adviceIncident("flood_few")
	in.Level = flood.Info
	if a.Try(&in) != nil {
		t.Error("a note is tried")
	}
	in.Level = flood.Warn
	var all []flood.Trial
	for range maxTrials {
		x := a.Try(&in)
		if x == nil {
			t.Fatalf("the %d. is not tried", len(all)+1)
		}
		all = append(all, x)
	}
	if a.Try(&in) != nil {
		t.Errorf("more than %d are tried", maxTrials)
	}
	all[0].Conclude(&in, false)
	if a.Try(&in) == nil || a.Try(&in) != nil {
		t.Error("the end of one makes room for one")
	}
}

func BenchmarkTrial(b *testing.B) {
	for _, name := range []string{"flood_few", "flood_spoofed", "reflection"} {
		b.Run(name, func(b *testing.B) {
			tr := newTrial(adviceIncident(name))
			r := rand.New(rand.NewPCG(7, 8))
			packets := make([]*track.Sighting, 1<<12)
			for i := range packets {
				src := netip.AddrFrom4([4]byte{20, 0, byte(r.Uint32()), byte(r.Uint32())}).String()
				packets[i] = pktFrom(pktInfo, src, time.Duration(i)*time.Millisecond)
			}
			b.ReportAllocs()
			for i := range b.N {
				tr.Apply(packets[i&(1<<12-1)], i&31 == 0)
			}
		})
	}
}

// outcomeSoFar returns what the lines of the first plan would have done so far.
func (t *trial) outcomeSoFar() outcome { return t.outcomeOf(0) }

// TestJunkReplies: a reply that is sent to a server, and that it did not ask for, is junk as the
// lines see it, and counts as the flood.
func TestJunkReplies(t *testing.T) {
	tr := newTrial(adviceIncident("junk_flood"))
	for i := range 1000 {
		at := time.Duration(i) * time.Millisecond
		tr.Apply(pktFrom([]track.Sighting{pktJunk, pktAnswer, pktChallenge}[i%3], netip.AddrFrom4([4]byte{20, 2, 0, byte(i)}).String(), at), false)
	}
	if c := tr.outcomeSoFar(); c.Flood != 1000 || c.FloodDropped < 900 {
		t.Errorf("dropped %d of %d", c.FloodDropped, c.Flood)
	}
}

// TestRateLimit follows one bucket.
func TestRateLimit(t *testing.T) {
	a := rateLimit{10, time.Second, 3} // one more each 100 ms, three at once
	full := int64(math.MinInt64)
	const start = int64(1e18)
	for _, x := range []struct {
		at   time.Duration
		drop bool
	}{
		{0, false}, {0, false}, {0, false}, {0, true},
		{99 * time.Millisecond, true}, {100 * time.Millisecond, false}, {100 * time.Millisecond, true},
		{250 * time.Millisecond, false}, {299 * time.Millisecond, true}, {300 * time.Millisecond, false},
		{10 * time.Second, false}, {10 * time.Second, false}, {10 * time.Second, false}, {10 * time.Second, true},
	} {
		if got := a.charge(&full, start+int64(x.at)); got != x.drop {
			t.Errorf("at %v: dropped %v, want %v", x.at, got, x.drop)
		}
	}
}

// TestRateLimitIsTheKernels compares with nft_limit_eval of Linux, as it counts.
func TestRateLimitIsTheKernels(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		a := rateLimit{1 + r.Int64N(1000), [...]time.Duration{time.Second, time.Minute}[r.IntN(2)], 1 + r.Int64N(50)}
		cost := int64(a.per) / a.packets
		most := cost * a.burst
		now := int64(1e18)
		tokens, last, full := most, now, int64(math.MinInt64)
		for i := range 2000 {
			now += r.Int64N(3 * cost)
			tokens = min(tokens+now-last, most)
			last = now
			drop := tokens < cost
			if !drop {
				tokens -= cost
			}
			if got := a.charge(&full, now); got != drop {
				t.Fatalf("%+v, packet %d: dropped %v, the kernel %v", a, i, got, drop)
			}
		}
	}
}

// TestHashTable compares with a map, over growing, removing and all.
func TestHashTable(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	var tab hashTable
	tab.reset(1000)
	model := map[uint64]int64{}
	now := int64(0)
	for range 200000 {
		now += r.Int64N(int64(time.Millisecond))
		key := 1 + r.Uint64N(4000)*0x9e3779b97f4a7c15
		v := tab.findOrAdd(key)
		if _, ok := model[key]; v == nil != (!ok && len(model) == 1000) {
			t.Fatalf("room %v, model has %d", v != nil, len(model))
		} else if !ok && v != nil && *v != math.MinInt64 || ok && *v != model[key] {
			t.Fatalf("value %d, want %d", *v, model[key])
		}
		if v != nil {
			*v, model[key] = now, now
			continue
		}
		if now >= tab.nextSweep {
			tab.removeIdle(now, time.Second)
			for k, at := range model {
				if at <= now-int64(time.Second) {
					delete(model, k)
				}
			}
		}
		if tab.numKeys != len(model) {
			t.Fatalf("%d entries, want %d", tab.numKeys, len(model))
		}
	}
}

// TestAnswers: first queries of proven clients count among what they asked, a client whose last query got no reply is
// not served, and what asks more than clients do counts as the flood, as all without a proof does.
func TestAnswers(t *testing.T) {
	tr := newTrial(adviceIncident("flood_spoofed"))
	ask := func(src string, at time.Duration, proven, isAnswered bool) {
		tr.Apply(pktFrom(pktInfo, src, at), proven)
		if isAnswered {
			tr.Apply(pktTo(pktChallenge, src, at+time.Millisecond), proven)
		}
	}
	for i := range 20 {
		at := time.Duration(i) * time.Second
		ask("192.0.2.1", at, true, true)
		ask("192.0.2.2", at, true, i < 10)
	}
	for i := range 100 {
		at := 20*time.Second + time.Duration(i)*10*time.Millisecond
		ask("192.0.2.3", at, true, false) // a forged address of a client
		ask(fmt.Sprintf("20.0.0.%d", i), at, false, i < 6)
	}
	want := flood.Answers{ProvenAsked: 40, ProvenGiven: 30, FirstAsked: 200, FirstGiven: 6, Clients: 2, ClientsServed: 1}
	if diff := cmp.Diff(want, tr.Answers()); diff != "" {
		t.Errorf("want -, got +\n%s", diff)
	}
	in := adviceIncident("flood_spoofed")
	tr.Restart(in)
	ask("192.0.2.1", 30*time.Second, true, true)
	want.ProvenAsked, want.ProvenGiven, want.Clients, want.ClientsServed = 41, 31, 1, 1
	if diff := cmp.Diff(want, tr.Answers()); diff != "" {
		t.Errorf("after the rules changed: want -, got +\n%s", diff)
	}
	if a := (flood.Answers{ProvenAsked: 9, ProvenGiven: 9}); a.Served() != -1 || want.Served() < 0.75 || want.FirstServed() != 0.03 {
		t.Errorf("shares: %g %g %g", a.Served(), want.Served(), want.FirstServed())
	}
}

// TestTrialOfClass: lines against a class are tried on its packets, each with the limit that it has. Fragments
// after the first pass lines that look at ports.
func TestTrialOfClass(t *testing.T) {
	target := flood.Target{End: netip.MustParseAddrPort("198.51.100.17:27015")}
	first := track.Sighting{What: track.IsFragment, Flags: track.First}
	later, whole := track.Sighting{What: track.IsFragment}, track.Sighting{What: track.IsOther, Bytes: 60}
	for _, tc := range []struct {
		class   other.Class
		packets []track.Sighting
		sources int
		want    uint64 // dropped of 300, which come in three seconds
		isShort bool
	}{
		{other.Class{SourcePorts: []uint16{53}}, []track.Sighting{first, later, whole}, 300, 200, false},
		{other.Class{Protocol: 47}, []track.Sighting{later, whole}, 300, 300, false},
		{other.Class{TCP: true, Sessions: true}, []track.Sighting{whole}, 300, 300 - 100 - 149, false},
		{other.Class{Wire: []dissect.Pattern{dissect.Begins("SAMP")}}, []track.Sighting{whole}, 2, 300 - 2*20 - 2*2, false},
		{other.Class{Wire: []dissect.Pattern{dissect.Begins("SAMP")}}, []track.Sighting{whole}, 100, 0, true},
	} {
		in := flood.Incident{ID: 1, Kind: flood.OtherFlood, Level: flood.Alert, Class: &tc.class, Target: target, Packets: 5000, Sources: 2}
		tr := New(advisor.reg, DefaultExpiry).Try(&in)
		for i := range 300 {
			s := tc.packets[i%len(tc.packets)]
			s.Age = int64(i) * int64(10*time.Millisecond)
			s.Src = track.HostOf(netip.AddrPortFrom(netip.AddrFrom4([4]byte{45, 0, 0, byte(i % tc.sources)}), 0))
			tr.Apply(&s, false)
		}
		tr.Conclude(&in, true)
		if a := &in.Advice; a.Rules == nil || a.Tried != 300 || a.Dropped != tc.want || (a.TooFew != "") != tc.isShort {
			t.Errorf("%+v: dropped %d of %d, want %d of 300; %q", tc.class, a.Dropped, a.Tried, tc.want, a.TooFew)
		}
	}
}
