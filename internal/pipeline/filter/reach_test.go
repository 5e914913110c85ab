package filter_test

import (
	"slices"
	"strings"
	"testing"

	"qsniff/internal/pipeline/filter"
	"qsniff/internal/test/protos"
)

// TestReach: what an expression can be true of is known before it is evaluated, as narrowly as
// these say.
func TestReach(t *testing.T) {
	reg := protos.Registry(t)
	for _, tc := range []struct {
		text, protos       string // the protocols of which messages can match
		records, incidents bool
		pairs              bool
	}{
		{text: "a2s.info.players > 250", protos: "a2s"},
		{text: "a2s", protos: "a2s"},
		{text: "not a2s", protos: "goldsource master rcon ase", records: true, incidents: true},
		{text: "a2s.info.players > 5 or ase.full.players == 3", protos: "a2s ase"},
		{text: "a2s.info.players > 5 and rcon.id == 3"},
		{text: "a2s.info.players > 5 xor rcon.id == 3", protos: "a2s rcon"},
		{text: "not (not a2s or rcon.id == 3)", protos: "a2s"},
		{text: "!a2s.info.players", protos: "goldsource a2s master rcon ase", records: true, incidents: true},
		{text: "len(lower(rcon.body)[0:4]) == 4 and count(rcon.body) > 0", protos: "rcon"},
		{text: "protocol == master or protocol matches \"^as\"", protos: "master ase"},
		{text: "message in {S2A_RULES, SERVERDATA_AUTH}", protos: "a2s rcon"},
		{text: "message != S2A_RULES and a2s", protos: "a2s"},
		{text: "players > max_players", protos: "goldsource a2s ase"},
		{text: "ip.addr == 10.0.0.0/8", protos: "goldsource a2s master rcon ase", records: true, incidents: true},
		{text: "udp.port == 27015", protos: "goldsource a2s master rcon ase"},
		{text: "payload contains 78 and port > 3 and frame.number > 3", protos: "goldsource a2s master rcon ase"},
		{text: "finding.severity >= warn", protos: "goldsource a2s master rcon ase", records: true, pairs: true},
		{text: "incident.level >= warn", incidents: true},
		{text: "a2s and exchange.rtt > 1s", protos: "a2s", pairs: true},
		{text: "!exchange.answered", protos: "goldsource a2s master rcon ase", records: true, incidents: true, pairs: true},
		{text: "record == finding", protos: "goldsource a2s master rcon ase", records: true, incidents: true},
	} {
		p, err := filter.Compile(tc.text, reg, filter.Options{})
		if err != nil {
			t.Errorf("%s: %v", tc.text, err)
			continue
		}
		var protos []string
		for _, x := range reg.Protos() {
			if p.CanMatchProto(x) {
				protos = append(protos, x.Name)
			}
		}
		want := strings.Fields(tc.protos)
		slices.Sort(protos)
		slices.Sort(want)
		if !slices.Equal(protos, want) || p.CanMatchRecords() != tc.records || p.CanMatchIncidents() != tc.incidents || p.NeedsPairs() != tc.pairs {
			t.Errorf("%s: %v, records %v, incidents %v, pairs %v", tc.text, protos, p.CanMatchRecords(), p.CanMatchIncidents(), p.NeedsPairs())
		}
	}
}

// TestReachUsual: messages without other fields than those of usual requests cannot match what
// asks for others.
func TestReachUsual(t *testing.T) {
	reg := protos.Registry(t)
	for _, tc := range []struct {
		text, want string // the types of a2s of which such messages can match
		readsTexts bool
	}{
		{text: "a2s.info.players > 250"},
		{text: "a2s.info.players > 250 and exchange.answered"},
		{text: "a2s.rules.rules.name contains sv_", readsTexts: true},
		{text: "count(a2s.rules.hidden.value) == 1", readsTexts: true},
		{text: "server_name matches x or trailing", readsTexts: true},
		{text: "not a2s"},
		{text: "rcon.id == 3"},
		{text: "message == A2S_INFO and a2s.info.players"},
		{text: "message == A2S_INFO", want: "A2S_INFO"},
		{text: "message == A2S_INFO xor a2s.info.players", want: "A2S_INFO"},
		{text: "a2s.challenge == 7 and message in {A2S_PLAYER, S2C_CHALLENGE}", want: "A2S_PLAYER S2C_CHALLENGE"},
		{text: "payload contains 78 and message == A2S_RULES", want: "A2S_RULES", readsTexts: true},
		{text: "players > 3 or message == A2S_INFO and udp.port == 3", want: "A2S_INFO"},
	} {
		p, err := filter.Compile(tc.text, reg, filter.Options{})
		if err != nil {
			t.Errorf("%s: %v", tc.text, err)
			continue
		}
		var got []string
		for _, x := range reg.Protos() {
			for _, typ := range x.Types {
				if len(x.Usual) > 0 && p.CanMatchUsual(x, typ) {
					got = append(got, typ.Name)
				}
			}
		}
		if s := strings.Join(got, " "); s != tc.want || p.ReadsTexts() != tc.readsTexts {
			t.Errorf("%s\ngot  %q, reads texts: %v\nwant %q, %v", tc.text, s, p.ReadsTexts(), tc.want, tc.readsTexts)
		}
	}
}
