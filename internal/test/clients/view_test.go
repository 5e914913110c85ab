package clients

import (
	"cmp"
	"slices"
	"testing"
)

// view is what a query of a server tells, in the form that all clients can be
// brought to.
type view struct {
	Name, Map    string
	Players, Max int
	List         []player // by name: clients sort as they like
	Rules        []rule
}

type player struct {
	Name  string
	Score int
}

type rule struct{ Name, Value string }

func (v *view) sortPlayers() {
	slices.SortStableFunc(v.List, func(a, b player) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Score, b.Score))
	})
}

// read returns what messages tell about their server, and the one that names it.
func read(t *testing.T, messages []*message) (view, *message) {
	t.Helper()
	var v view
	var info *message
	for _, m := range messages {
		switch m.Message {
		case "S2A_INFO_SRC", "S2A_INFO_DETAILED", "EYE1":
			info = m
		case "S2A_PLAYER":
			v.List = players(t, m, "players")
		case "S2A_RULES":
			v.Rules = rules(t, m)
		}
	}
	if info == nil {
		t.Fatalf("no information in %d messages", len(messages))
	}
	v.Name, v.Map = info.text("name"), info.text("map")
	v.Players, v.Max = info.number(t, "players"), info.number(t, "max_players")
	if info.Message == "EYE1" {
		v.List, v.Rules = players(t, info, "player_list"), rules(t, info)
	}
	v.sortPlayers()
	return v, info
}

func players(t *testing.T, m *message, list string) []player {
	t.Helper()
	var out []player
	for _, p := range m.list(t, list) {
		out = append(out, player{p.text("name"), p.number(t, "score")})
	}
	return out
}

func rules(t *testing.T, m *message) []rule {
	t.Helper()
	var out []rule
	for _, r := range m.list(t, "rules") {
		out = append(out, rule{r.text("name"), r.text("value")})
	}
	return out
}
