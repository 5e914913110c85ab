package text

import (
	"net/netip"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"qsniff/dissect/finding"
	"qsniff/internal/base/display"
	"qsniff/internal/render"
	"qsniff/internal/render/tally"
	"qsniff/internal/test/race"
	"qsniff/internal/track/stats"
	"qsniff/internal/track/vantages"
	"qsniff/reassembly"
	"qsniff/reassembly/ipfrag"
	"qsniff/reassembly/split"
	"qsniff/reassembly/tcpstream"
)

// statsExample is a run with something in every section.
func statsExample() *render.Stats {
	s := &render.Stats{Run: tally.Run{Packets: 1_234_567, Bytes: 98_765_432, First: 1_700_000_000_000_000_000, Last: 1_700_000_030_000_000_000,
		Messages: 1_200_000, Dropped: 3, Backwards: 1,
		Skipped: []tally.Reason{{Why: "UDP of other protocols", Count: 34_567}},
		Split:   split.Counters{Sets: 40, Complete: 38, Compressed: 2}, IP: ipfrag.Counters{Fragments: 6, Joined: 2}, TCP: tcpstream.Counters{Conns: 1}}}
	ms := func(n float64) time.Duration { return time.Duration(n * 1e6) }
	times := stats.Times{Count: 400_000, P50: ms(1.25), P95: ms(31.4), P99: ms(250), Max: ms(2900), Error: 0.001}
	s.Requests, s.Replies, s.Answered, s.Unanswered, s.Late, s.Others = 700_000, 500_000, 400_000, 9_000, 12, 5
	s.Messages = []stats.Message{{Protocol: "a2s", Name: "A2S_INFO", Count: 700_000, Bytes: 17_500_000},
		{Protocol: "a2s", Name: "S2A_INFO_SRC", Reply: true, Count: 499_999, Bytes: 61_499_877}, {Protocol: "a2s", Reply: true, Count: 1, Bytes: 9}}
	s.Servers = []stats.Server{
		{Addr: netip.MustParseAddrPort("198.18.0.1:27015"), Requests: 600_000, Replies: 499_000, Answered: 390_000, Unanswered: 1000, Late: 12,
			BytesIn: 15_000_000, BytesOut: 61_000_000, WireIn: 31_800_000, WireOut: 75_000_000, HasInfo: true, Name: []byte("Test server"),
			Map: []byte("de_dust2"), Players: 3, Max: 16, Challenged: 99, Unchallenged: 1, Response: times, Challenge: -1, Train: -1},
		{Addr: netip.MustParseAddrPort("[2001:db8:1234:5678:9abc:def0:1234:5678]:27016"), Requests: 100_000, Unanswered: 8000,
			BytesIn: 2_500_000, WireIn: 5_300_000, ICMPErrors: 2, Challenge: -1, Train: -1},
	}
	s.ServersUnlisted = 7
	s.Clients = []stats.Client{{Addr: netip.MustParseAddr("10.64.0.1"), Requests: 350_000, Error: 12}}
	s.Distinct = stats.Distinct{Estimate: 654_321, Error: 0.0122, Standard: 0.0041}
	s.Challenge, s.Response, s.Total = times, times, times
	s.Questions = []stats.Question{{Protocol: "a2s", Request: "A2S_INFO", Before: stats.Gain{Answers: 1, Payload: 4.92, Wire: 2.849}, After: stats.Gain{Answers: 99, Payload: 4.24, Wire: 2.65}}}
	s.Findings = []stats.Finding{{Code: &finding.Code{ID: "NET-04", Seen: "an ICMP error that quotes a query"}, Severity: finding.Error, Count: 2, First: 77}}
	s.Interval, s.SeriesStart = time.Second, s.Run.First
	for i := range 30 {
		s.Points = append(s.Points, stats.Point{Requests: uint64(1000 * (i % 8)), Replies: uint64(500 * (i % 5)), BytesIn: uint64(25_000 * (i % 8)), BytesOut: uint64(61_000 * (i % 5))})
	}
	return s
}

// What reassembly did and what it gave up is in one line.
func TestStatsJoined(t *testing.T) {
	s := &render.Stats{Run: tally.Run{Packets: 1, Messages: 1, Joined: reassembly.JoinCounters{Sets: 2, Complete: 1},
		TCP: tcpstream.Counters{Conns: 9, Expired: 2, Evicted: 3, GivenUp: 2048}, SessionsEvicted: 4, Split: split.Counters{Evicted: 1}}}
	s.Messages = []stats.Message{{Protocol: "a2s", Name: "A2S_INFO", Count: 1, Bytes: 25}}
	page := string(AppendStats(nil, s, Options{Width: 300}))
	const want = "  1 of 2 replies in fragments whole; 9 TCP connections; 2 silent too long; 3 evicted for others; 4 read no further for room; " +
		"2.00 KiB of them dropped for room; 1 unfinished message evicted early\n"
	if !strings.Contains(page, want) {
		t.Errorf("no %q in\n%s", want, page)
	}
}

// TestStatsWidth: every section stands on the page, no line is longer than it, and
// a wide page has columns that a narrow one has not.
func TestStatsWidth(t *testing.T) {
	for _, width := range []int{40, 60, 80, 100, 120, 200} {
		out := string(AppendStats(nil, statsExample(), Options{Width: width, UTC: true}))
		for line := range strings.Lines(out) {
			if n := display.Cells([]byte(strings.TrimSuffix(line, "\n"))); n > max(width, 64) || width >= 80 && n > width {
				t.Errorf("%d cells of %d: %s", n, width, line)
			}
			if strings.HasSuffix(line, " \n") {
				t.Errorf("width %d: blanks at the end of %q", width, line)
			}
		}
		for _, section := range []string{"Rate", "Messages", "Servers", "Time", "Amplification", "Clients", "Findings", "Joined", "Left out"} {
			if !strings.Contains(out, "\n"+section) {
				t.Errorf("width %d: no section %s", width, section)
			}
		}
		if wide := strings.Contains(out, "P99 MS"); wide != (width >= 200) {
			t.Errorf("width %d: P99 of servers: %t", width, wide)
		}
	}
}

// TestStatsEmpty: what is not there is said.
func TestStatsEmpty(t *testing.T) {
	const span = "2023-11-14 22:13:20.000000Z to 22:13:21.000000Z, 1 s\n"
	run := tally.Run{Packets: 2, Bytes: 100, First: 1_700_000_000_000_000_000, Last: 1_700_000_001_000_000_000}
	found := run
	found.Messages = 2
	other := run
	other.Skipped = []tally.Reason{{Why: "UDP of other protocols", Count: 2}}
	for _, tc := range []struct {
		name string
		in   render.Stats
		want string
	}{
		{"no packets", render.Stats{}, "The capture has no packets.\n"},
		{"nothing of ours", render.Stats{Run: other}, span + "2 packets, 100 B captured; 0 messages: 0 requests, 0 replies\n" +
			"No query traffic was found. qsniff looks for it on all ports; -d\nudp.port==N,PROTOCOL names one to try harder on.\n" +
			"\nLeft out\n  2  UDP of other protocols\n"},
		{"of other servers", func() render.Stats {
			s := render.Stats{Run: found}
			s.Others = 2
			return s
		}(), span + "2 packets, 100 B captured; 2 messages: 0 requests, 0 replies\nNone of the messages is of the servers that --servers names.\n" +
			"\nLeft out\n  2  messages of servers that --servers leaves out\n"},
	} {
		got := string(AppendStats(nil, &tc.in, Options{UTC: true}))
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: want -, got +\n%s", tc.name, diff)
		}
	}
}

// TestStatsOneWay: where a direction is missing nobody is called unanswered.
func TestStatsOneWay(t *testing.T) {
	s := statsExample()
	s.Replies, s.Answered = 0, 0
	s.Servers = s.Servers[1:]
	out := string(AppendStats(nil, s, Options{UTC: true}))
	if !strings.Contains(out, "Only requests were captured") || strings.Contains(out, " 0%") {
		t.Errorf("got\n%s", out)
	}
}

// TestStatsHarmless: names from the network do no harm.
func TestStatsHarmless(t *testing.T) {
	for _, name := range []string{"\x1b[2J\x1b]0;x\x07", "a\u202eb\n\r", "\xff\xfe\xc3", "e\u0301\u0301\u0301\u0301\u0301\u0301", "\u009b31m\u2028\u0085", strings.Repeat("東", 21)} {
		s := statsExample()
		s.Servers[0].Name, s.Servers[0].Map = []byte(name), []byte(name)
		for _, width := range []int{40, 80, 200} {
			out := string(AppendStats(nil, s, Options{Width: width}))
			for _, r := range out {
				if r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028') {
					t.Errorf("%q at width %d: %U in the output", name, width, r)
				}
			}
			for line := range strings.Lines(out) {
				if n := display.Cells([]byte(strings.TrimSuffix(line, "\n"))); width >= 80 && n > width {
					t.Errorf("%q: %d cells of %d: %s", name, n, width, line)
				}
			}
		}
	}
}

func TestSparkline(t *testing.T) {
	for _, tc := range []struct {
		in   []uint64
		want string
	}{
		{[]uint64{0, 1, 1000, 500}, " ▁█▅"},
		{[]uint64{7}, "█"},
		{[]uint64{1, 2, 3, 4, 5, 6, 7, 8}, "▂▃▄▅▅▆▇█"},
	} {
		if got := sparkline(tc.in); got != tc.want {
			t.Errorf("%v:\ngot  %s\nwant %s", tc.in, got, tc.want)
		}
	}
}

func TestPercent(t *testing.T) {
	for _, tc := range []struct {
		part, of uint64
		want     string
	}{
		{0, 0, "-"}, {0, 5, "0%"}, {5, 5, "100%"}, {1, 3, "33.3%"}, {999_999, 1_000_000, "99.9%"}, {1, 1_000_000, "0.1%"},
	} {
		if got := percent(tc.part, tc.of); got != tc.want {
			t.Errorf("%d of %d:\ngot  %s\nwant %s", tc.part, tc.of, got, tc.want)
		}
	}
}

// TestMicros: times from an interface have the same digits, whatever their last three.
func TestMicros(t *testing.T) {
	const start = 1_700_000_000_000_000_123
	o := Options{UTC: true, Location: time.UTC, Micros: true}
	for _, clock := range []render.Clock{render.Absolute, render.Relative, render.Epoch} {
		o.Clock = clock
		want := -1
		for _, nanos := range []int64{0, 1, 999, 1000, 877, 1_000_877, 123_456_789} {
			got := string(o.appendClockTime(nil, start+nanos, start, true, &render.Hole{}))
			if want < 0 {
				want = len(got)
			}
			if len(got) != want {
				t.Errorf("clock %d: %q has %d characters, others have %d", clock, got, len(got), want)
			}
		}
	}
}

// TestGroupByServer: findings come by server, those without one and those that were evicted apart,
// and many at a server allocate no more than few.
func TestGroupByServer(t *testing.T) {
	code := &finding.Code{ID: "TOY-01"}
	client := netip.MustParseAddrPort("192.0.2.1:4000")
	repeats := func(server netip.AddrPort, evicted uint64) stats.Repeats {
		return stats.Repeats{Expert: finding.Expert{Code: code}, Server: server, Client: client, Count: 1, Evicted: evicted}
	}
	servers := []netip.AddrPort{netip.MustParseAddrPort("198.51.100.1:27015"), netip.MustParseAddrPort("198.51.100.1:27016"),
		netip.MustParseAddrPort("[2001:db8::1]:27015"), {}, netip.AddrPortFrom(netip.Addr{}, 27015)}
	few := []stats.Repeats{repeats(netip.AddrPort{}, 7)}
	for _, s := range servers {
		few = append(few, repeats(s, 0))
	}
	var many []stats.Repeats
	for range 100 {
		many = append(many, few...)
	}
	var got []string
	for _, s := range groupByServer(many) {
		got = append(got, s.server)
		want := uint64(100)
		if s.server == "No server" {
			want *= 2
		}
		if n := s.groups[0].rows[0].Count; n != want {
			t.Errorf("%s: %d findings, want %d", s.server, n, want)
		}
	}
	want := []string{"Evicted", "198.51.100.1:27015", "198.51.100.1:27016", "[2001:db8::1]:27015", "No server"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("servers (-want +got)\n%s", diff)
	}
	allocations := func(all []stats.Repeats) float64 { return testing.AllocsPerRun(10, func() { groupByServer(all) }) }
	if n, m := allocations(few), allocations(many); m > n && !race.Enabled {
		t.Errorf("%v allocations for few, %v for many", n, m)
	}
}

// TestVantages: names of captures reach no terminal as they are, nothing is wider than the page, and what was
// evicted, lost and not read is said.
func TestVantages(t *testing.T) {
	hostile := "\x1b[31m" + strings.Repeat("long name ", 20) + "\n.pcap"
	x := &render.Vantages{Top: 1, Unread: 2,
		Captures: []render.Vantage{
			{Name: hostile, Run: tally.Run{Packets: 3, Dropped: 7, Interrupted: true}, Evicted: vantages.Evicted{Servers: 1, Answers: 2, Paths: 3, Trips: 4, Repeated: 5}},
			{Name: "far.pcap"}},
		Servers: []vantages.Server{
			{Addr: netip.MustParseAddrPort("[2001:db8:1111:2222:3333:4444:5555:6666]:27015"), Points: []vantages.Point{{Asked: 9}, {Capture: 1, Asked: 9, Answered: 3}}},
			{Addr: netip.MustParseAddrPort("198.51.100.7:27015")}}}
	page := string(AppendVantages(nil, x, Options{Width: 80}))
	for _, want := range []string{
		"Interrupted after 3 packets", "2 captures were not read", "the capturing program lost 7 packets", "1 server was evicted", "2 series of answers were evicted",
		"3 series of handshakes or echoes were evicted", "4 handshakes or echoes that waited were evicted", "5 exchanges with repeated requests were evicted",
		"far.pcap: 3 answered of 9 requests", "Not listed: 1 more server (--top)", "2 with answers of one kind in fewer than two captures",
	} {
		if !strings.Contains(strings.Join(strings.Fields(page), " "), want) {
			t.Errorf("no %q in\n%s", want, page)
		}
	}
	if strings.Contains(page, "\x1b") {
		t.Errorf("an escape reaches the terminal: %q", page)
	}
	for line := range strings.Lines(page) {
		if n := display.Cells([]byte(strings.TrimRight(line, "\n"))); n > 80 {
			t.Errorf("%d cells: %s", n, line)
		}
	}
}
