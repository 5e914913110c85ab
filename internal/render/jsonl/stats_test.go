package jsonl

import (
	"encoding/json"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"qsniff/dissect/finding"
	"qsniff/internal/render"
	"qsniff/internal/render/tally"
	"qsniff/internal/track/stats"
	"qsniff/reassembly"
	"qsniff/reassembly/ipfrag"
	"qsniff/reassembly/split"
	"qsniff/reassembly/tcpstream"
)

// TestStats: the object is JSON with the names that others rely on, whatever a
// server is called.
func TestStats(t *testing.T) {
	s := &render.Stats{Run: tally.Run{Packets: 5, Bytes: 500, First: 1_700_000_000_000_000_000, Last: 1_700_000_002_500_000_000, Messages: 3,
		Skipped: []tally.Reason{{Why: "UDP of other protocols", Count: 2}},
		Split:   split.Counters{Sets: 4, Complete: 3, Incomplete: 1, Compressed: 2, BadBzip2: 1, Evicted: 8}, IP: ipfrag.Counters{Fragments: 6, Joined: 3},
		Joined: reassembly.JoinCounters{Complete: 9, Incomplete: 10}, TCP: tcpstream.Counters{Conns: 7, Gaps: 11, Expired: 12, Evicted: 13, GivenUp: 15},
		SessionsEvicted: 14, Gaps: 16, FlowsEvicted: 17}}
	s.Requests, s.Replies, s.Answered, s.Others = 2, 1, 1, 9
	s.Messages = []stats.Message{{Protocol: "a2s", Reply: true, Count: 1, Bytes: 123}}
	s.Response = stats.Times{Count: 1, P50: time.Millisecond, P95: time.Millisecond, P99: time.Millisecond, Max: 1500 * time.Microsecond, Error: 0.001}
	s.Servers = []stats.Server{{Addr: netip.MustParseAddrPort("[::1]:27015"), Requests: 2, Replies: 1, Answered: 1, Unanswered: 1, ICMPErrors: 3, BytesIn: 30, BytesOut: 100,
		WireIn: 86, WireOut: 128, HasInfo: true, Name: []byte("a\x1b\xff<"), Map: []byte("m"), Players: -1, Max: 16, Challenged: 1, Unchallenged: 2,
		Response: s.Response, Challenge: 2 * time.Millisecond, Train: -1}}
	s.Clients = []stats.Client{{Addr: netip.MustParseAddr("10.64.0.1"), Requests: 1}}
	s.Distinct = stats.Distinct{Estimate: 7, Error: 0.012187, Standard: 0.0040625}
	s.Questions = []stats.Question{{Protocol: "a2s", Request: "A2S_INFO", Before: stats.Gain{Answers: 1, Payload: 10.0 / 3, Wire: 1.5}}}
	s.Findings = []stats.Finding{{Code: &finding.Code{ID: "NET-04"}, Severity: finding.Warn, Count: 3, First: 9}}
	s.Interval, s.SeriesStart = time.Second, s.Run.First+500_000_000
	s.Points = []stats.Point{{Requests: 1, BytesIn: 25}, {Replies: 1, BytesOut: 100}}
	const want = `{"schema":1,"packets":5,"bytes":500,"start":"2023-11-14T22:13:20.000000Z","end":"2023-11-14T22:13:22.500000Z","duration_s":2.5,` +
		`"skipped":{"UDP of other protocols":2,"messages of servers that --servers leaves out":9},` +
		`"messages":[{"protocol":"a2s","message":null,"direction":"reply","count":1,"bytes":123}],` +
		`"requests":2,"replies":1,"answered":1,"unanswered":0,"replied":0,"proven":0,"proven_served":0,"late":0,` +
		`"rtt_ms":{"p50":1,"p95":1,"p99":1,"max":1.5,"count":1,"error":0.001},` +
		`"amplification":[{"protocol":"a2s","message":"A2S_INFO","before_challenge":{"answers":1,"payload":3.333,"wire":1.5}}],` +
		`"servers":[{"server":"[::1]:27015","name":"a\u001b` + "\ufffd" + `\u003c","name_hex":"611bff3c","map":"m","max_players":16,` +
		`"requests":2,"replies":1,"answered":1,"unanswered":1,"replied":0,"proven":0,"proven_served":0,"late":0,"icmp_errors":3,"bytes_in":30,"bytes_out":100,"wire_in":86,"wire_out":128,` +
		`"amplification":{"payload":3.333,"wire":1.488},"challenged":"sometimes","challenged_share":0.3333,` +
		`"rtt_ms":{"p50":1,"p95":1,"p99":1,"max":1.5,"count":1,"error":0.001},"challenge_ms":2}],"servers_not_listed":0,"servers_forgotten":0,` +
		`"clients":[{"address":"10.64.0.1","requests":1,"share":0.5,"error":0}],"programs":[],` +
		`"distinct_clients":{"estimate":7,"error":0.01219,"standard_error":0.004063},` +
		`"reassembly":{"split_sets":4,"split_complete":3,"split_incomplete":1,"compressed":2,"crc_errors":1,"ip_fragments":6,"ip_reassembled":3,` +
		`"fragmented_complete":9,"fragmented_incomplete":10,"tcp_streams":7,"tcp_gaps":11,"tcp_expired":12,"tcp_evicted":13,"tcp_given_up":14,"tcp_bytes_dropped":15,"evicted":8,"split_evicted":8},"input":{"gaps":16},"tables":{"flows_evicted":17},` +
		`"findings":[{"id":"NET-04","severity":"warn","count":3,"first_frame":9}],` +
		`"interval_s":1,"series":[{"t":0.5,"requests":1,"replies":0,"bytes_in":25,"bytes_out":0},{"t":1.5,"requests":0,"replies":1,"bytes_in":0,"bytes_out":100}]}` + "\n"
	got := string(AppendStats(nil, s))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want -, got +\n%s", diff)
	}
	if !json.Valid([]byte(got)) {
		t.Error("not JSON")
	}
}

// TestStatsEmpty: lists are lists where there is nothing in them.
func TestStatsEmpty(t *testing.T) {
	const want = `{"schema":1,"packets":0,"bytes":0,"skipped":{},"messages":[],"requests":0,"replies":0,"answered":0,"unanswered":0,"replied":0,"proven":0,"proven_served":0,"late":0,` +
		`"amplification":[],"servers":[],"servers_not_listed":0,"servers_forgotten":0,"clients":[],"programs":[],` +
		`"distinct_clients":{"estimate":0,"error":0,"standard_error":0},` +
		`"reassembly":{"split_sets":0,"split_complete":0,"split_incomplete":0,"compressed":0,"crc_errors":0,"ip_fragments":0,"ip_reassembled":0,` +
		`"fragmented_complete":0,"fragmented_incomplete":0,"tcp_streams":0,"tcp_gaps":0,"tcp_expired":0,"tcp_evicted":0,"tcp_given_up":0,"tcp_bytes_dropped":0,"evicted":0},` +
		`"findings":[],"interval_s":0,"series":[]}` + "\n"
	if diff := cmp.Diff(want, string(AppendStats(nil, new(render.Stats)))); diff != "" {
		t.Errorf("want -, got +\n%s", diff)
	}
}
