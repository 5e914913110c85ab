package text

import (
	"math"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"qsniff/dissect"
	"qsniff/internal/base/display"
	"qsniff/internal/flood"
	"qsniff/internal/flood/other"
	"qsniff/internal/flood/proof"
	"qsniff/internal/flood/rules"
	"qsniff/internal/flood/rules/loaded"
	"qsniff/internal/render"
	"qsniff/internal/render/tally"
	"qsniff/internal/track"
)

const floodStart = int64(1_700_000_000e9)

// someRules are rules of one line.
type someRules struct{}

func (someRules) NFTables() string        { return "table\n" }
func (someRules) IPTables() (_, _ string) { return "-A CHAIN\n", "iptables" }
func (someRules) Scope() flood.RuleScope {
	return flood.RuleScope{Net: netip.MustParsePrefix("198.51.100.0/24"), Port: 27015}
}
func (someRules) Lines() []flood.RuleLine {
	return []flood.RuleLine{{What: "a cap", Packets: 1000, Per: time.Second, Burst: 2000}}
}

// flooded is a report with an incident of each level, which lasted over a change of
// mind and has every figure that there is.
func flooded() *render.Floods {
	at := func(s int) int64 { return floodStart + int64(s)*1e9 }
	seen := &flood.Seen{}
	for _, what := range []track.PacketType{track.IsRequest, track.IsReply} {
		s := track.Sighting{What: what, Asks: 1, SrcPort: 2, DstPort: 2}
		seen.Sight(&s)
	}
	target := flood.Target{End: netip.MustParseAddrPort("[2001:db8:1234:5678:9abc:def0:1234:5678]:27015")}
	attack := flood.Incident{ID: 2, Campaign: 1, Kind: flood.FloodDistributed, Level: flood.Alert, Target: target, Proto: &dissect.Proto{Name: "a2s"},
		Start: at(100), Detected: at(103), End: at(200), Frame: 4711, Pulses: 3, Peak: 123456, Mean: 9.5, Baseline: 2.25,
		Requests: 1_000_000, Replies: 10, BytesIn: 25_000_000, BytesOut: 90, Sources: 300, SourcesError: 0.023, Completion: 0.5, Challenged: 4,
		Weight: flood.Weight{Value: 0.7}, TopOf: 600, TopFrom: at(105), TopTo: at(125),
		Evidence: []flood.Sentence{{Text: "many queries", From: at(100), To: at(200)}, {Text: strings.Repeat("a long sentence ", 9), From: at(105), To: at(125)},
			{Text: "right before", From: at(93), To: at(103)}, {Text: "and more"}}, Missing: []string{"C", "known", "challenge values (snap length)"},
		Advice: flood.Advice{Words: []string{"First."}, Rules: someRules{}, Measured: "Tried."}, Dropped: 7,
		History:  []flood.Change{{Kind: flood.FloodSuspect, Nanos: at(110)}},
		Top:      []flood.Source{{Addr: netip.MustParseAddr("2001:db8::1"), Low: 100, High: 120, Verified: true, Ports: 3, TTL: 52}, {Addr: netip.MustParseAddr("203.0.113.9"), Low: 9, High: 9, TTL: -1}},
		Prefixes: []flood.Prefix{{Prefix: netip.MustParsePrefix("2001:db8::/64"), Low: 100, High: 130, Hosts: 4}},
		Features: []flood.FeatureValue{{Name: "D", Value: 300}, {Name: "q", Value: 2}, {Name: "C", Value: math.NaN()}}}
	open := flood.Incident{ID: 3, Campaign: 1, Kind: flood.FloodSuspect, Level: flood.Warn, Target: target, Start: at(500), Detected: at(501), Evidence: []flood.Sentence{{Text: "perhaps", From: at(500), To: at(501)}}}
	note := flood.Incident{ID: 1, Campaign: 1, Kind: flood.Crowd, Level: flood.Info, Target: target, Start: at(50), Detected: at(60), End: at(70), Evidence: []flood.Sentence{{Text: "a crowd"}}}
	return &render.Floods{Run: tally.Run{Packets: 1000, First: floodStart, Last: at(600)}, Seen: seen,
		Incidents: []flood.Incident{note, attack, open}, Counts: [3]uint64{1, 1, 1}, Limits: flood.Defaults(),
		Asked: rules.Invocation{Captures: "a.pcap b.pcap", Flags: "--servers=2001:db8::/32"}, Expiry: time.Hour}
}

// TestFloods: what has to be on the page, at any width, and what must not be broken.
func TestFloods(t *testing.T) {
	for _, width := range []int{40, 80, 120, 200} {
		f := flooded()
		page := string(AppendFloods(nil, f, Options{UTC: true, Width: width}, FloodOptions{Verbose: true}))
		words := strings.Join(strings.Fields(page), " ")
		for _, want := range []string{
			"1 attack, 1 warning, 1 note in 10m0s of capture, 1,000 packets",
			"2023-11-14 22:13:20Z to 22:23:20Z: 1 query to 1 server, 1 reply; both directions were captured",
			"2023-11-14 22:15:00Z to 22:16:40Z, 1m40s, in 3 pulses; known after 3 s",
			"peak 123,456/s, mean 9.50/s, usual 2.25/s, 1,000,000 requests in all, 10 replies of the server,",
			"unknown in this capture: share of the challenged sources that brought the challenge back; challenge values (snap length)",
			"Over the whole 1m40s: - many queries In 20 s of it, 22:15:05Z to 22:15:25Z: - a long sentence",
			"In the 10 s before detection: - right before Besides: - and more To keep in mind: - unknown",
			"the capture had lost 7 packets",
			"sources were challenged 4 times only: what came back of that shows little",
			"taken for flood_suspect until 22:15:10Z",
			"Campaign 1: 2 other incidents at this target, too.",
			"The rules, for UDP to 198.51.100.0/24, port 27015: - a cap: 1,000 a second for all together, 2,000 at once Tried.",
			"2001:db8::/64 100 130 4",
			"22:21:40Z to the end of the capture and on, 1m40s",
		} {
			if !strings.Contains(words, want) {
				t.Errorf("width %d: %q is not in\n%s", width, want, page)
			}
		}
		for _, want := range []string{"2001:db8::1 100 120 16.7% yes 3 52", "203.0.113.9 9 9 1.5% no - -",
			"Summary: 1 attack: flood_distributed on udp/[2001:db8:1234:5678:9abc:def0:1234:5678]:27015, 22:15:00Z to 22:16:40Z, 1,000,000 requests of many sources. Next: what to do stands above."} {
			if width >= 80 && !strings.Contains(words, want) { // else columns are left out, and words are cut
				t.Errorf("width %d: %q is not in\n%s", width, want, page)
			}
		}
		for _, whole := range []string{"\n    qsniff floods -o nft --servers=2001:db8::/32 a.pcap b.pcap | sudo nft -f -\n",
			"\n    sudo nft delete table inet qsniff\n", "\n    First.\n\n", "\n    qsniff -o json a.pcap b.pcap | jq -c 'select(.frame >= 4711)'\n"} {
			if !strings.Contains(page, whole) {
				t.Errorf("width %d: %q is not in\n%s", width, whole, page)
			}
		}
		if strings.Contains(page, "known)") || strings.Contains(page, "NaN") {
			t.Errorf("width %d:\n%s", width, page)
		}
		if width < 80 {
			continue
		}
		for line := range strings.Lines(page) {
			if w := display.Cells([]byte(strings.TrimSuffix(line, "\n"))); w > width && !strings.Contains(line, "qsniff floods") {
				t.Errorf("width %d: %d columns: %q", width, w, line)
			}
		}
	}
}

// TestBrief: the page for somebody under attack says what comes, at whom and since when, then the command, then what
// that stops and costs, in at most 26 lines for one attack; commands stay whole at any width.
func TestBrief(t *testing.T) {
	one := func(change func(f *render.Floods, in *flood.Incident)) *render.Floods {
		f := flooded()
		f.Incidents, f.Counts = f.Incidents[1:2], [3]uint64{0, 0, 1}
		in := &f.Incidents[0]
		in.Advice.Tried, in.Advice.Dropped = 1000, 987
		in.Advice.Cost = &flood.Cost{Players: 16, Known: 207, New: 7, NewHit: 6}
		if change != nil {
			change(f, in)
		}
		return f
	}
	for _, tt := range []struct {
		name  string
		f     *render.Floods
		wants []string // in this order
	}{
		{"an attack that is over", one(nil), []string{"1 attack in", "ATTACK on udp/[2001:db8:1234:5678:9abc:def0:1234:5678]:27015, over since 22:16:40Z after 1m40s", "123,456 a second at the peak (usual: 2.25)",
			"DO qsniff floods -o nft --servers=2001:db8::/32 a.pcap b.pcap | sudo nft -f -", "UNDO sudo nft delete table inet qsniff", "end by themselves after 1h",
			"stops 98.7 % of the flood (987 of 1,000 packets after its detection)",
			"costs none of 16 players; none of 207 known visitors; 6 of 7 new visitors have to ask again", "sure low, flood_distributed: many queries", "MORE -v"}},
		{"that goes on", one(func(_ *render.Floods, in *flood.Incident) { in.End = 0 }), []string{"since 22:15:00Z; it goes on where the capture ends, after 8m20s"}},
		{"paused", one(func(f *render.Floods, in *flood.Incident) { f.IsLive, in.End, in.Paused = true, 0, in.Start+60e9 }), []string{"PAUSED since 22:16:00Z, after 1m0s; it is over if"}},
		{"live", one(func(f *render.Floods, in *flood.Incident) { f.IsLive, in.End = true, 0 }), []string{"GOING ON since 22:15:00Z, for 8m20s", "DO Ctrl-C"}},
		{"without rules", one(func(_ *render.Floods, in *flood.Incident) {
			in.Advice.Rules, in.Advice.Veto, in.Advice.Words = nil, "Filters stop too little.", []string{"Filters stop too little.", "Ask the provider.", "Third."}
		}), []string{"DO Filters stop too little. Ask the provider.", "sure", "MORE"}},
		{"too few to try", one(func(_ *render.Floods, in *flood.Incident) { in.Advice.TooFew = " So few show little." }), []string{"after its detection). So few show little. costs"}},
		{"a veto", one(func(_ *render.Floods, in *flood.Incident) { in.Advice.Veto = "They touch 9 of 10." }), []string{"DO qsniff", "costs", "but They touch 9 of 10."}},
		{"proven first", one(func(_ *render.Floods, in *flood.Incident) { in.Advice.ProvenFirst = true }), []string{"DO qsniff floods -o nft --proven --servers", "pass first"}},
		{"not tried", one(func(_ *render.Floods, in *flood.Incident) { in.Advice.Tried, in.Advice.Cost = 0, nil }), []string{"stops unknown", "costs unknown"}},
		{"none seen", one(func(_ *render.Floods, in *flood.Incident) { in.Advice.Cost = &flood.Cost{KnownHit: 2, Known: 3} }),
			[]string{"costs no players to see it at; 2 of 3 known visitors lose an answer; no new visitors to see it at"}},
		{"what clients lose without", one(func(_ *render.Floods, in *flood.Incident) {
			in.Answers = flood.Answers{FirstAsked: 1000, FirstGiven: 60, KeyedAsked: 100, KeyedGiven: 10}
		}), []string{"6 of 7 new visitors have to ask again; without them 94 % of the first queries got no reply, nor did 90 % of those that brought a challenge back"}},
		{"proven clients are asked for", one(func(f *render.Floods, in *flood.Incident) {
			in.Advice.ProvenFirst, f.Asked.Proven, f.Proven = true, true, &proof.Summary{Sources: make([]proof.Source, 207)}
		}), []string{"DO qsniff floods -o nft --proven --servers", "207 clients that proved their address pass first"}},
		{"of clients nothing is known", one(func(_ *render.Floods, in *flood.Incident) { in.Served, in.Answers.FirstAsked = -1, 1000 }),
			[]string{"of proven clients too few asked to say how these fare"}},
		{"usual is unknown", one(func(_ *render.Floods, in *flood.Incident) { in.Baseline = 0 }), []string{"a second at the peak (usual: unknown)"}},
		{"rules stay loaded", one(func(f *render.Floods, in *flood.Incident) {
			f.IsLive, f.Loaded = true, &loaded.State{Table: loaded.Table{IsLoaded: true, Undo: "sudo nft delete table inet qsniff"}}
		}), []string{"1 attack", "Your rules are still loaded. Undo: sudo nft delete table inet qsniff", "ATTACK on"}},
		{"the first seconds", func() *render.Floods {
			f := flooded()
			f.Incidents, f.Counts, f.IsLive, f.Run.Last = nil, [3]uint64{}, true, f.Run.First+4e9
			return f
		}(), []string{"Watching since 4 s, nothing yet"}},
		{"a full line", one(func(_ *render.Floods, in *flood.Incident) { in.BytesIn = 20 << 30 }), []string{"else if the line is full, now 1.72 Gbit/s", "qsniff floods -o path"}},
		{"an attack, a warning and a note", flooded(), []string{"1 attack, 1 warning, 1 note", "DO qsniff", "ATTACK on", "WARNING on", "Notes", "crowd udp/[2001:db8:1234:5678:9abc:def0:1234:5678]:27015: a crowd", "MORE"}},
		{"what goes on comes first, then what is fastest", func() *render.Floods {
			f := flooded()
			over := f.Incidents[1]
			fast, on := over, over
			fast.Kind, fast.Peak = flood.FloodSpoofed, 200_000
			on.Kind, on.End, on.Peak = flood.Reflection, 0, 7
			f.Incidents, f.Counts = []flood.Incident{over, fast, on}, [3]uint64{0, 0, 3}
			return f
		}(), []string{"3 attacks", "DO qsniff", "sure low, reflection", "sure low, flood_spoofed", "sure low, flood_distributed"}},
		{"nothing", func() *render.Floods { f := flooded(); f.Incidents, f.Counts = nil, [3]uint64{}; return f }(), []string{"No query floods"}},
	} {
		for _, width := range []int{40, 80, 200} {
			page := string(AppendFloods(nil, tt.f, Options{UTC: true, Width: width}, FloodOptions{}))
			words, at := strings.Join(strings.Fields(page), " "), 0
			for _, want := range tt.wants {
				i := strings.Index(words[at:], want)
				if i < 0 && width < 80 { // addresses are broken there
					continue
				}
				if i < 0 {
					t.Fatalf("%s, width %d: %q is not there, or not in order\n%s", tt.name, width, want, page)
				}
				at += i
			}
			lines := strings.Split(strings.TrimSuffix(page, "\n"), "\n")
			command := slices.IndexFunc(lines, func(s string) bool { return strings.HasPrefix(s, "DO     qsniff") })
			if width == 80 && (len(tt.f.Incidents) == 1 && len(lines) > 26 || command > 11) {
				t.Errorf("%s: %d lines, the command is in line %d\n%s", tt.name, len(lines), command+1, page)
			}
			if command >= 0 && !strings.HasSuffix(lines[command], " a.pcap b.pcap | sudo nft -f -") {
				t.Errorf("%s: a command is not whole: %q", tt.name, lines[command])
			}
			for _, line := range lines {
				if w := display.Cells([]byte(line)); w > width && width >= 80 && !strings.Contains(line, "qsniff") {
					t.Errorf("%s, width %d: %d columns: %q", tt.name, width, w, line)
				}
			}
		}
	}
}

// TestFloodCaveats: what a run could not count or see is said.
func TestFloodCaveats(t *testing.T) {
	for _, tc := range []struct {
		name string
		set  func(*render.Floods)
		want string
	}{
		{"uncounted", func(f *render.Floods) { f.Unnamed.Unopened = 3 }, "3 further incidents were not opened"},
		{"full", func(f *render.Floods) { f.FullTables = []string{"servers", "consoles"} }, "Tables were full of servers, consoles"},
		{"left", func(f *render.Floods) { f.Unnamed.Unlisted = 1 }, "1 incident is not listed, as the list is full: -o json has all."},
		{"others", func(f *render.Floods) { f.Unnamed.Elsewhere = 2 }, "2 incidents are at targets that --servers does not name."},
		{"lost", func(f *render.Floods) { f.Run.Dropped = 5 }, "The capturing program lost 5 packets"},
		{"backwards", func(f *render.Floods) { f.Run.Backwards = 1 }, "Time went backwards"},
		{"requests only", func(f *render.Floods) { f.Seen.Replies = 0 }, "Only what goes to servers was captured"},
		{"replies only", func(f *render.Floods) { f.Seen.Queries = 0 }, "Only what servers send was captured"},
		{"notes only", func(f *render.Floods) { f.Counts = [3]uint64{2, 0, 0} }, "No query floods, 2 notes in 10m0s"},
		{"warnings only", func(f *render.Floods) { f.Counts = [3]uint64{0, 1, 0} }, "0 attacks, 1 warning in 10m0s"},
		{"nothing", func(f *render.Floods) { f.Counts, f.Incidents = [3]uint64{}, nil }, "No query floods in 10m0s of capture, 1,000 packets"},
		{"another flood", func(f *render.Floods) {
			f.Counts, f.Others = [3]uint64{0, 0, 1}, [3]uint64{0, 0, 1}
			f.OtherPeak = other.Peak{Traffic: other.Traffic{Packets: 10_000}, Class: &other.Groups()[0], Port: 27015, Host: track.HostOf(netip.MustParseAddrPort("198.18.0.1:0"))}
		}, "1 attack (no queries) in 10m0s of capture, 1,000 packets; 10,000 other packets a second arrived (TCP SYN to port 27015 of 198.18.0.1)"},
		{"another flood besides", func(f *render.Floods) { f.Counts, f.Others = [3]uint64{0, 0, 2}, [3]uint64{0, 0, 1} }, "2 attacks in 10m0s"},
		{"players", func(f *render.Floods) { f.Counts, f.Sessions = [3]uint64{}, 1_584 },
			"No query floods in 10m0s of capture, 1,000 packets; other packets were of sessions, 1,584 a second at most"},
		{"empty", func(f *render.Floods) { f.Run.Packets = 0 }, "The capture has no packets."},
		{"a note of two", func(f *render.Floods) { f.Incidents[0].Servers = 2 }, ":27015 and 1 more server that the same sources ask: a crowd"},
		{"a network", func(f *render.Floods) {
			in := &f.Incidents[1]
			in.Target = flood.Target{End: netip.MustParseAddrPort("198.51.100.0:27015"), Prefix: netip.MustParsePrefix("198.51.100.0/24")}
			for i := range 9 {
				in.Targets = append(in.Targets, netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, 51, 100, byte(i)}), 27015))
			}
			in.Servers, in.MoreServers = 100, true
		}, "at least 100 servers, the busiest first: 198.51.100.0, 198.51.100.1, 198.51.100.2, 198.51.100.3, 198.51.100.4, 198.51.100.5, 198.51.100.6, 198.51.100.7 and 92 more"},
		{"short", func(f *render.Floods) { f.Run.Last = f.Run.First + int64(20*time.Second) }, "The capture is shorter than 30 s"},
	} {
		f := flooded()
		tc.set(f)
		page := strings.Join(strings.Fields(string(AppendFloods(nil, f, Options{UTC: true}, FloodOptions{}))), " ")
		if !strings.Contains(page, tc.want) {
			t.Errorf("%s: %q is not in\n%s", tc.name, tc.want, page)
		}
	}
}

// TestFloodDetails: what -v and --explain add.
func TestFloodDetails(t *testing.T) {
	brief := string(AppendFloods(nil, flooded(), Options{UTC: true}, FloodOptions{}))
	verbose := string(AppendFloods(nil, flooded(), Options{UTC: true}, FloodOptions{Verbose: true}))
	if strings.Contains(brief, "\ncrowd  ") || !strings.Contains(brief, "\nNotes") || !strings.Contains(verbose, "\ncrowd  ") || strings.Contains(verbose, "\nNotes") {
		t.Errorf("brief:\n%s\nverbose:\n%s", brief, verbose)
	}
	why := string(AppendFloods(nil, flooded(), Options{UTC: true}, FloodOptions{Explain: true}))
	for _, want := range []string{"Rule flood_distributed: ", "  >= 3  many_score", "  unknown  share of the challenged sources", "      300  different sources"} {
		if !strings.Contains(why, want) {
			t.Errorf("%q is not in\n%s", want, why)
		}
	}
}

// TestIncidentLine: the lines among messages, in both layouts.
func TestIncidentLine(t *testing.T) {
	f := flooded()
	in := &f.Incidents[1]
	for _, tc := range []struct {
		name string
		x    render.IncidentEvent
		want string
	}{
		{"open", render.IncidentEvent{Event: flood.Begins, Incident: in}, "! alert FLOOD  flood_distributed at " + in.Target.String() + ", from frame 4711 on: many queries (over the whole 1m40s)"},
		{"another kind", render.IncidentEvent{Event: flood.Changes, Incident: in}, "! alert FLOOD  flood_distributed at " + in.Target.String() + ", taken for flood_suspect before: many queries"},
		{"close", render.IncidentEvent{Event: flood.Ends, Incident: in}, "was over after 1m40s; peak 123,456/s, 1,000,000 requests"},
		{"update", render.IncidentEvent{Event: flood.Changes, Incident: &f.Incidents[2]}, "! warn FLOOD  flood_suspect at " + in.Target.String() + " goes on: perhaps"},
		{"cut off", render.IncidentEvent{Event: flood.Ends, Incident: &f.Incidents[2]}, "is not over where the capture ends"},
	} {
		tc.x.Nanos, tc.x.First = floodStart, floodStart
		raw := string(NewLine(Options{UTC: true, Width: 500}).AppendIncident(nil, &tc.x))
		line := raw[1:]
		if !strings.HasPrefix(line, "      22:13:20.000000Z ! ") || !strings.Contains(line, tc.want) || !strings.HasPrefix(raw, "\n") || !strings.HasSuffix(raw, "\n\n") {
			t.Errorf("%s: %q", tc.name, line)
		}
		tree := string(NewTree(Options{UTC: true}).AppendIncident(nil, &tc.x))
		if words := strings.Join(strings.Fields(tree), " "); !strings.Contains(words, strings.Join(strings.Fields(tc.want), " ")) || !strings.HasSuffix(tree, "\n\n") {
			t.Errorf("%s: %q", tc.name, tree)
		}
	}
}

// peerRules are rules that look at whom the server sent something.
type peerRules struct{ someRules }

func (peerRules) Lines() []flood.RuleLine { return []flood.RuleLine{{What: "a cap", NeedsPeers: true}} }

// TestLoadingNeeds: the commands for iptables name the package that they take besides.
func TestLoadingNeeds(t *testing.T) {
	f := flooded()
	const want = "With iptables instead, and undo:"
	if got := string(AppendFloods(nil, f, Options{Width: 200}, FloodOptions{Verbose: true})); !strings.Contains(got, want) {
		t.Errorf("got  %s\nwant %q in it", got, want)
	}
	f.Incidents[1].Advice.Rules = peerRules{}
	const wantMore = "With iptables instead, which needs ipset (Debian: apt install ipset) for these, and undo:"
	if got := string(AppendFloods(nil, f, Options{Width: 200}, FloodOptions{Verbose: true})); !strings.Contains(got, wantMore) {
		t.Errorf("got  %s\nwant %q in it", got, wantMore)
	}
}

// TestProvenFirst: where rules need the proven clients, the command that loads them has these.
func TestProvenFirst(t *testing.T) {
	f := flooded()
	f.Incidents[1].Advice.ProvenFirst = true
	page := string(AppendFloods(nil, f, Options{UTC: true, Width: 80}, FloodOptions{Verbose: true}))
	for _, want := range []string{"\n  Load, with the clients that proved their address, who pass first; they match",
		"\n    qsniff floods -o nft --proven --servers=2001:db8::/32 a.pcap b.pcap | sudo nft -f -\n",
		"\n    qsniff floods -o iptables --servers=2001:db8::/32 a.pcap b.pcap | sudo sh\n"} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is not in\n%s", want, page)
		}
	}
}

// TestCostTogether: what the rules against several attacks cost together is one figure.
func TestCostTogether(t *testing.T) {
	f := flooded()
	for i := range 2 {
		f.Incidents[i].Advice.Rules = peerRules{}
		f.Incidents[i].Advice.Losses.All = []flood.ClientLoss{{Client: 1, Packets: 10}}
	}
	const want = "against all 2 of these together: "
	if got := string(AppendFloods(nil, f, Options{Width: 200}, FloodOptions{})); !strings.Contains(got, want) {
		t.Errorf("got  %s\nwant %q in it", got, want)
	}
}
