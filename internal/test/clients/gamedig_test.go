package clients

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"qsniff/internal/test/binary"
	"qsniff/internal/test/responder"
)

func TestGamedig(t *testing.T) {
	goldsource := &responder.A2S{
		Challenge: challenge,
		// The second of its four replies is 'I' with protocol 48, by which gamedig
		// knows the engine.
		Info:    answered(t, "goldsource/several-replies", askInfo)[1:2],
		Players: answered(t, "a2s/players-54-bytes", askPlayers),
		Rules:   answered(t, "goldsource/rules-93", askRules),
	}
	tests := []struct {
		name     string
		protocol string
		server   func([]byte) [][]byte
	}{
		{"Source", "valve", a2s(t, "a2s/full-poll", "a2s/full-poll", "a2s/full-poll")},
		{"Source, players in two parts and rules in six", "valve",
			a2s(t, "a2s/full-poll", "split/source-players-58", "split/source-six-parts")},
		{"Source of 2007, names in UTF-8, compressed rules", "valve",
			a2s(t, "a2s/css-2007", "a2s/css-2007", "split/source-old-compressed-80-rules")},
		{"Source of 2007, compressed rules in three parts", "valve",
			a2s(t, "a2s/css-2007", "a2s/css-2007", "split/source-old-compressed-three-parts")},
		{"Source, compressed rules in three parts", "valve",
			a2s(t, "a2s/full-poll", "a2s/full-poll", "split/source-compressed-three-parts")},
		{"The Ship", "valve", a2s(t, "a2s/the-ship", "a2s/the-ship", "a2s/rules")},
		{"AppID that does not fit", "valve", a2s(t, "a2s/info-large-appid", "a2s/players", "a2s/rules")},
		{"GoldSource through Steam, rules in two parts", "valve", goldsource.Answer},
		{"GoldSource, asked in words", "goldsrc", words(t, "goldsource/text-requests", detailsWords...)},
		{"All-Seeing Eye, MTA", "ase", words(t, "ase/mta-full", "s")},
		{"All-Seeing Eye, MTA, 140 players", "ase", words(t, "ase/mta-full-large", "s")},
		{"All-Seeing Eye, Far Cry", "ase", words(t, "ase/farcry-full", "s")},
	}
	needCapture(t)
	node, npm, qsniff := program(t, "node"), modules(t, "gamedig"), binary.Path(t)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			server := listen(t, test.server)
			var got []byte
			capture := record(t, func() {
				got = output(t, node, append([]string{"gamedig.mjs", npm, test.protocol}, hostPort(server.Addr())...)...)
			}, server)
			want, info := read(t, decode(t, qsniff, capture))
			sortRules(want.Rules)
			if diff := cmp.Diff(want, gamedigView(t, got, info)); diff != "" {
				t.Errorf("qsniff -, gamedig +\n%s", diff)
			}
		})
	}
}

// gamedigJSON is what gamedig returns about a server. In raw are players in the order
// of the reply, or a rule each beside other facts, as the protocol has it.
type gamedigJSON struct {
	Name       string
	Map        string
	NumPlayers int
	MaxPlayers int
	Raw        map[string]json.RawMessage
	Players    []struct {
		Name string
		Raw  struct{ Score int }
	}
}

// gamedigView parses what gamedig returned for a server with this information.
func gamedigView(t *testing.T, out []byte, info *message) view {
	t.Helper()
	var g gamedigJSON
	parse(t, out, &g)
	v := view{Name: g.Name, Map: g.Map, Players: g.NumPlayers, Max: g.MaxPlayers}
	if raw, ok := g.Raw["players"]; ok {
		parse(t, raw, &v.List)
	} else {
		for _, p := range g.Players {
			v.List = append(v.List, player{p.Name, p.Raw.Score})
		}
	}
	v.sortPlayers()
	values := make(map[string]string)
	if raw, ok := g.Raw["rules"]; ok {
		parse(t, raw, &values)
	} else if info.Message == "EYE1" {
		for name, raw := range g.Raw {
			if name != "gamename" && name != "gametype" {
				var value string
				parse(t, raw, &value)
				values[name] = value
			}
		}
	}
	for name, value := range values {
		v.Rules = append(v.Rules, rule{name, value})
	}
	sortRules(v.Rules)
	return v
}

// sortRules orders rules as gamedig cannot: it keeps them in an object.
func sortRules(rules []rule) {
	slices.SortFunc(rules, func(a, b rule) int { return strings.Compare(a.Name, b.Name) })
}
