package filter_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"qsniff/dissect"
	"qsniff/dissect/finding"
	"qsniff/internal/base/communityid"
	"qsniff/internal/flood"
	"qsniff/internal/flood/other"
	"qsniff/internal/pipeline/filter"
	"qsniff/internal/render"
	"qsniff/internal/render/manual"
	"qsniff/internal/test/protos"
	"qsniff/internal/track/fingerprint"
	"qsniff/reassembly/wire"
)

// reply is the answer of a server with everything around it.
func reply(reg *dissect.Registry) *render.Event {
	var info *dissect.Type
	p := reg.Protos()[1]
	for _, t := range p.Types {
		if t.Name == "S2A_INFO_SRC" {
			info = t
		}
	}
	m := new(dissect.Message)
	m.Reset(p, []byte("\xff\xff\xff\xffI\x11Arena\x00de_dust2\x00"))
	m.Type, m.Wire, m.Conf = info, 40, dissect.Maybe
	add := func(name string, off, n uint32, num uint64) {
		i := slices.IndexFunc(p.Defs, func(d *dissect.Def) bool { return d.Name == name })
		m.Fields = append(m.Fields, dissect.Field{Def: p.Defs[i], Off: off, Len: n, Num: num})
	}
	add("a2s.info.name", 6, 6, 5)
	add("a2s.info.map", 12, 9, 8)
	add("a2s.info.players", 5, 1, 17)
	add("a2s.info.max_players", 5, 1, 24)
	m.Expert = []finding.Expert{{Code: p.Codes[0], Severity: finding.Note}, {Code: &dissect.TooManyFields, Severity: finding.Warn}}
	return &render.Event{Frame: 12, Frames: []uint64{7, 8, 12}, Nanos: 1_700_000_000_250_000_000, Start: 1_700_000_000_000_000_000,
		File: 1, Iface: 2, IfName: "eth0", Src: netip.MustParseAddrPort("198.18.0.1:27015"), Dst: netip.MustParseAddrPort("10.64.0.1:40001"),
		Reply: true, Msg: m, Split: &render.Split{Engine: wire.Source, ID: 343, Total: 3, Received: 2, Size: 1248, Compressed: true},
		Exchange: render.Exchange{ID: 5, Verb: "answers late", Request: 6, RTT: 31_000_000, ChallengeRTT: 12_000_000, Signs: fingerprint.BytesAfter}, Train: 400_000,
		Ways:     []render.Way{{Kind: "VLAN", ID: 7}, {Kind: "VXLAN", ID: 9, Src: netip.MustParseAddrPort("192.0.2.1:4789"), Dst: netip.MustParseAddrPort("192.0.2.2:4789")}},
		Comments: [][]byte{[]byte("from the edge")}}
}

// matching are expressions on the filter's own fields that match reply.
var matching = []string{
	"protocol == a2s and protocol != rcon and a2s and not rcon", "message == s2a_info_src and message matches info and message contains INFO",
	"direction == reply", "status == complete", "weak and weak == true and not weak == false", "length == 40", "captured == 21", "not record",
	"transport == udp and udp and not tcp", "addr == 198.18.0.1 and addr == 10.0.0.0/8 and addr == 10.64.0.1:40001", "src == 198.18.0.1:27015",
	"dst == 10.64.0.1 and dst != 10.64.0.1:1", "server == 198.18.0.1:27015 and server in {10.0.0.0/8, 198.18.0.0/16}", "client == 10.64.0.1:40001",
	"port == 27015 and port == 40001", "server.port == 27015", "client.port > 40000", `community_id contains "1:"`,
	"ip and ip.addr == 10.64.0.1 and not ipv6", "ip.src == 198.18.0.1", "ip.dst == 10.64.0.1", "not ipv6.addr and not ipv6.src and not ipv6.dst",
	"udp.port == 40001", "udp.srcport == 27015", "udp.dstport == 40001", "not tcp.port and not tcp.srcport and not tcp.dstport",
	"via == vlan and via == VXLAN and count(via) == 2", "via.id == 9", "via.src == 192.0.2.1:4789", "via.dst == 192.0.2.0/24",
	"frame", "frame.number == 7 and frame.number == 12 and not frame.number == 9", "frame.count == 3",
	`frame.time == "2023-11-14 22:13:20.25" and frame.time > "2023-11-14" and frame.time < "2023-11-14T23:13:21+00:30"`, "frame.time > 22:13 and frame.time < 22:13:21 and frame.time in {22:13:20 .. 22:14}",
	"frame.time_epoch == 1700000000.25 and frame.time_epoch > 1700000000", "frame.time_relative == 250ms and frame.time_relative < 0.3",
	"frame.span == 400us", "frame.comment contains edge", "file == 1", "interface == 2", "interface_name == eth0",
	"split", "split.engine == source", "split.id == 343", "split.total > split.received", "split.received == 2", "split.size_field == 1248", "split.compressed",
	"exchange", "exchange.id == 5", `exchange.verb == "answers late"`, "exchange.request_frame == 6", "client.name contains query", "rtt == 31ms and rtt > .03 and rtt in {30ms..40ms}", "challenge_rtt == 12ms",
	"finding and count(finding) == 2 and finding == LIM-01", "finding.severity >= warn and finding.severity == note and not all finding.severity >= warn and not finding.severity > warn",
	"finding.fault == server", "not incident and not incident.event and not incident.kind and not incident.code and not incident.level and not incident.target and not incident.id and not incident.protocol and not incident.class",
	"server_name == Arena and lower(server_name) == arena", "map == de_dust2 and map[0:3] == \"de_\" and len(map) == 8", "players == 17 and 10 < players < 20", "max_players > players",
	"udp.payload[4] == 49 and not tcp.payload", "payload[4] == 49 and payload contains \"Arena\\x00\"", "goldsource.info.name or a2s.info.name", "not (master or ase)",
}

// TestOwnFields: each of the filter's own fields is what the message says.
func TestOwnFields(t *testing.T) {
	reg := protos.Registry(t)
	e := reply(reg)
	o := filter.Options{UTC: true}
	for _, text := range matching {
		if compile(t, text, o).Matcher().Match(e) != filter.All {
			t.Errorf("%s does not match", text)
		}
	}
	all := strings.Join(matching, " ") + " " + strings.Join(steady, " ")
	seen := map[string]bool{}
	for _, f := range filter.Fields(reg, o)[filter.Own].Rows {
		if seen[f.Name] || f.Doc == "" || f.Filter == nil || f.Filter.Name == "" || f.Name != strings.ToLower(f.Name) {
			t.Errorf("%+v", f)
		}
		seen[f.Name] = true
		if !slices.Contains(f.Flags, manual.Later) && !strings.Contains(all, f.Name) {
			t.Errorf("no expression here has %s", f.Name)
		}
	}
	for _, d := range dissect.Shared {
		if seen[d.Name] {
			t.Errorf("%s is a field of messages, too", d.Name)
		}
	}
	for _, p := range reg.Protos() {
		for _, d := range p.Defs {
			if seen[d.Name] || d.Name != strings.ToLower(d.Name) {
				t.Errorf("%s is a field of the filter, or not in small letters", d.Name)
			}
		}
	}
}

// TestCommunityID: the same ends have another number over TCP.
func TestCommunityID(t *testing.T) {
	reg := protos.Registry(t)
	e := reply(reg)
	for _, e.TCP = range []bool{false, true} {
		for number, want := range map[uint8]bool{17: !e.TCP, 6: e.TCP} {
			text := `community_id == "` + string(communityid.Append(nil, e.Src, e.Dst, number)) + `"`
			if got := compile(t, text, filter.Options{}).Matcher().Match(e) == filter.All; got != want {
				t.Errorf("TCP %v: %s: %v, want %v", e.TCP, text, got, want)
			}
		}
	}
}

// TestRecords: what belongs to no message is matched by what it has; of anything else a
// comparison is false.
func TestRecords(t *testing.T) {
	reg := protos.Registry(t)
	r := &render.Record{Nanos: 2e9, Start: 1e9, Expert: &finding.Expert{Code: &dissect.Deprecated, Severity: finding.Note}, Frames: []uint64{3, 4},
		Server: netip.MustParseAddrPort("198.18.0.1:27015"), Client: netip.MustParseAddrPort("[2001:db8::1]:40001")}
	x := &render.IncidentEvent{Nanos: 3e9, First: 1e9, Event: flood.Ends, Incident: &flood.Incident{ID: 3, Kind: flood.OtherFlood, Level: flood.Warn,
		Target: flood.Target{End: netip.MustParseAddrPort("198.51.100.17:27015")}, Proto: reg.Protos()[0], Class: &other.Class{Name: "tcp_syn"}, Frame: 9}}
	for _, tc := range []struct {
		text             string
		record, incident bool
	}{
		{"finding == A2S-C07", true, false},
		{"finding.severity == note and finding.fault == client", true, false},
		{"record == finding", true, false},
		{"record == incident", false, true},
		{"server == 198.18.0.1:27015", true, false},
		{"client == 2001:db8::1", true, false},
		{"addr == 198.18.0.0/15 and addr == [2001:db8::1]:40001 and port == 27015", true, false},
		{"frame.number == 4", true, false},
		{"frame.number == 9", false, true},
		{"frame.time_relative == 1s", true, false},
		{"frame.time_epoch == 3", false, true},
		{"incident", false, true},
		{"incident.event == close and incident.id == 3 and incident.kind == other_flood and incident.code == DOS-O01", false, true},
		{"incident.level >= warn and incident.level < alert and not incident.level == info", false, true},
		{"incident.target contains \"198.51.100\" and incident.class == tcp_syn", false, true},
		{"incident.protocol == goldsource", false, true},
		{"server == 198.51.100.0/24 and addr == 198.51.100.17:27015", false, true},
		{"players > 0 or a2s or rcon or payload or message or protocol or udp or tcp or via or split or exchange or length or file or interface or interface_name", false, false},
		{"not players > 0", true, true},
		{"exchange.answered or exchange.rtt or exchange.challenge_rtt", false, false},
		{"!exchange.answered", true, true},
		{"a2s.player.players.name or map or community_id or frame.comment or frame.count or ip or weak or status", false, false},
	} {
		m := compile(t, tc.text, filter.Options{}).Matcher()
		if got := m.MatchRecord(r); got != tc.record {
			t.Errorf("%s: %v for a finding", tc.text, got)
		}
		if got := m.MatchIncident(x); got != tc.incident {
			t.Errorf("%s: %v for an incident", tc.text, got)
		}
	}
}

// TestComplete: what is proposed fits the place.
func TestComplete(t *testing.T) {
	reg := protos.Registry(t)
	for _, tc := range []struct{ prefix, want string }{
		{"a2s.info.max", "a2s.info.max_players"},
		{"frame.time_", "frame.time_epoch|frame.time_relative"},
		{"a2s and (frame.c", "a2s and (frame.comment|a2s and (frame.count"},
		{"not spl", "not split|not split.compressed|not split.crc32|not split.decompressed_size|not split.engine|not split.hidden_part|not split.id|not split.part|not split.received|not split.size_field|not split.total"},
		{"direction ", "direction !=|direction ==|direction and|direction contains|direction in|direction matches|direction or|direction xor"},
		{"players i", "players in"},
		{"players in ", "players in {"},
		{"direction == ", "direction == reply|direction == request"},
		{"direction==re", "direction==reply|direction==request"},
		{"message == s2a_ru", "message == S2A_RULES"},
		{"protocol in {a2s, rc", "protocol in {a2s, rcon"},
		{"finding.severity >= ", "finding.severity >= chat|finding.severity >= error|finding.severity >= note|finding.severity >= warn"},
		{"finding == LIM", "finding == LIM-01"},
		{`via == "ip`, `via == "ip in ip"`},
		{"weak == ", "weak == false|weak == true"},
		{"a2s.info.environment == ", "a2s.info.environment == Linux|a2s.info.environment == Windows|a2s.info.environment == macOS"},
		{"players > 5 ", "players > 5 and|players > 5 or|players > 5 xor"},
		{"(players > 5) a", "(players > 5) and"},
		{"a2s ", "a2s and|a2s or|a2s xor"},
		{"players > ", ""},
		{"nosuchfield", ""},
	} {
		got := strings.Join(filter.Complete(tc.prefix, reg, filter.Options{Codes: dissect.Codes}), "|")
		if got != tc.want {
			t.Errorf("%q\ngot  %s\nwant %s", tc.prefix, got, tc.want)
		}
	}
}

// TestUnknownFinding: an id that no finding has is a mistake where all are listed.
func TestUnknownFinding(t *testing.T) {
	_, err := filter.Compile("finding == LIM-02", protos.Registry(t), filter.Options{Codes: dissect.Codes})
	if want := "finding has no value LIM-02: did you mean LIM-01?"; err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}
