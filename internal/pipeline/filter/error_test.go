package filter_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"qsniff/internal/pipeline/filter"
	"qsniff/internal/test/protos"
)

// wrong are expressions with a mistake, and what is printed of each after the expression.
var wrong = []struct{ text, want string }{
	{"", "^\nthe expression is empty: name a field, as in players > 10"},
	{"a2s.info.playerz > 10", "^~~~~~~~~~~~~~~~\nno field is called a2s.info.playerz: did you mean a2s.info.players or goldsource.info.players or goldsource.netinfo.players?"},
	{"players > ", "          ^\nexpected a value before the end"},
	{"players = 3", "        ^\n\"=\" has no meaning here: a comparison is =="},
	{"players > ten", "          ^~~\nten is no number: players is compared with values like 10 or 0x0a"},
	{"players > -1", "          ^~\nplayers is never negative"},
	{"message > S2A_INFO", "^~~~~~~\nmessage has no order: use == or in"},
	{"message == S2A_RULEZ", "           ^~~~~~~~~\nmessage has no value S2A_RULEZ: did you mean S2A_RULES or A2S_RULES?"},
	{"S2A_RULES", "^~~~~~~~~\nno field is called S2A_RULES: did you mean message == S2A_RULES?"},
	{"direction == up", "             ^~\ndirection has no value up: its values are request, reply"},
	{"ip.addr == ::1", "           ^~~\n::1 is no IPv4 address: addr, src and dst are of both versions"},
	{"ip.addr == www.example.org", "           ^~~~~~~~~~~~~~~\nwww.example.org is no address: write 10.0.0.1, 10.0.0.0/8, 10.0.0.1:27015 or [2001:db8::1]:27015"},
	{"ip.addr > 10.0.0.0/8", "          ^~~~~~~~~~\n10.0.0.0/8 has no order: use == or in for networks and ports"},
	{"udp.port contains 27", "^~~~~~~~\nudp.port is a number, which contains does not work on: it is for texts and bytes; use == or in"},
	{"udp.port in {1 2}", "               ^\nexpected a comma or } before 2: separate values by commas, as in {1, 3..5}"},
	{"udp.port == {1, 2}", "            ^\nexpected a value before {: a set is compared by in"},
	{"udp.port in {5..1}", "             ^~~~\nthe range ends before it begins"},
	{"(a2s or rcon", "            ^\nexpected ) before the end"},
	{"a2s rcon", "    ^~~~\ndid not expect rcon: join comparisons by and or or"},
	{`map matches "de_("`, "            ^~~~~~\nthe regular expression has an error: missing closing ): de_("},
	{`map == "de_`, "       ^~~~\nthe text has no end: it needs a \""},
	{`a2s.info.server_type == 'dx'`, "                        ^~~~\na character is one byte: write \"...\" for a text"},
	{`map contains "\d"`, "              ^~\n\\d stands for no character: write \\\\ for a backslash, or r\"...\" for a text in which it is itself"},
	{"a2s.log.secret == 1", "^~~~~~~~~~~~~~\na2s.log.secret is a secret and can be tested for presence only: --show-secrets allows comparisons"},
	{"len(a2s.log.secret) > 1", "    ^~~~~~~~~~~~~~\na2s.log.secret is a secret and can be tested for presence only: --show-secrets allows comparisons"},
	{"a2s.player.players > 1", "^~~~~~~~~~~~~~~~~~\na2s.player.players can be tested for presence only: it has a2s.player.players.duration, a2s.player.players.index, a2s.player.players.name, a2s.player.players.score"},
	{"rtt > fast", "      ^~~~\nfast is no duration: write 100ms, 1.5s or, in seconds, 0.1"},
	{"frame.time > 25:00", "             ^~~~~\n25:00 is no time: write \"2023-11-14 22:13:20\", \"22:13:20\" or seconds since 1970"},
	{"frame.time in {22:00..21:00}", "               ^~~~~~~~~~~~\nthe range ends before it begins"},
	{"payload[0:0] == 00", "       ^~~~~\n\"0:0\" is no slice: write [offset:length], [offset] or [first-last]"},
	{"payload[0", "       ^~\nthe slice has no end: it needs a ]"},
	{"players[0] == 1", "^~~~~~~\nplayers is a number: a slice is for texts and bytes"},
	{"payload == xyz", "           ^~~\nxyz is no bytes: payload is compared with values like ff:fe:00 or \"text\""},
	{"size(map) > 1", "^~~~\nno function is called size: there are count, len, lower, upper"},
	{"map == players", "       ^~~~~~~\nmap and players cannot be compared: one is a text, the other a number"},
	{"a2s.info.environment == bsd", "                        ^~~\na2s.info.environment has no value called bsd: its values are numbers and Linux, macOS, Windows"},
	{"1 == 2", "^\nexpected a field, not 1: as in players > 10"},
	{"all a2s", "       ^\nexpected a comparison after all a2s"},
	{"players + 1 > 2", "        ^\ndid not expect +: there is no arithmetic"},
	{"exchange.rtt == rtt", "                ^~~\nwhat is known later is compared with values only"},
	{"exchange.rtt > 1 or exchange.rtt > 2 or exchange.rtt > 3 or exchange.rtt > 4 or exchange.rtt > 5 or exchange.rtt > 6 or exchange.rtt > 7",
		strings.Repeat(" ", 120) + "^~~~~~~~~~~~\nmore than 6 comparisons on what is known later"},
	{"a2s or\nplayerz > 1", "^~~~~~~\nno field is called playerz: did you mean players or goldsource.info.players or goldsource.netinfo.players?"},
	{"日本 == 1", "^~~~\nno field is called 日本: qsniff fields lists all"},
	{"goldsource.netinfo && map", "^~~~~~~~~~~~~~~~~~\nno field is called goldsource.netinfo: there is goldsource.netinfo.context, goldsource.netinfo.type, goldsource.netinfo.players and 5 more"},
}

// TestErrors: each mistake is shown at its place, with what to do about it.
func TestErrors(t *testing.T) {
	reg := protos.Registry(t)
	for _, tc := range wrong {
		_, err := filter.Compile(tc.text, reg, filter.Options{})
		var e *filter.Error
		if !errors.As(err, &e) {
			t.Errorf("%q compiles", tc.text)
			continue
		}
		line := tc.text[strings.LastIndexByte(tc.text, '\n')+1:]
		if got, want := e.Page(), line+"\n"+tc.want; got != want {
			t.Errorf("%q\ngot:\n%s\nwant:\n%s", tc.text, got, want)
		}
		checkErrors(t, reg, tc.text)
	}
}

// TestGroup: of a group of many fields some are named, and the others counted.
func TestGroup(t *testing.T) {
	_, err := filter.Compile("a2s.info", protos.Registry(t), filter.Options{})
	const want = `no field is called a2s\.info: there is (a2s\.info\.\w+, ){2}a2s\.info\.\w+ and [1-9]\d* more$`
	if err == nil || !regexp.MustCompile(want).MatchString(err.Error()) {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// TestLongWord: no names are searched near a long word, which would take seconds.
func TestLongWord(t *testing.T) {
	reg := protos.Registry(t)
	count := func(word string) float64 {
		return testing.AllocsPerRun(3, func() {
			if _, err := filter.Compile(word, reg, filter.Options{}); err == nil {
				t.Fatalf("%.60s compiles", word)
			}
		})
	}
	if short, long := count("nosuchfield"), count(strings.Repeat("players.", 100)); long >= short {
		t.Errorf("%v allocations for a long word, %v for a short one", long, short)
	}
}

// TestLimits: expressions that are too large are refused, in sentences.
func TestLimits(t *testing.T) {
	reg := protos.Registry(t)
	for _, tc := range []struct{ text, want string }{
		{strings.Repeat(" ", 40_000), "longer than"},
		{strings.Repeat("(", 200), "nests deeper"},
		{strings.Repeat("not ", 5000) + "a2s", "nests deeper"},
		{strings.Repeat("a2s or ", 400) + "a2s", "comparisons"},
		{"payload" + strings.Repeat("[0:]", 400), "comparisons"},
		{"udp.port in {" + strings.Repeat("1,", 2000) + "1}", "at most 1024 values"},
		{`map matches "` + strings.Repeat("a", 600) + `"`, "longer than 512"},
		{`map matches "((a{100}){100}){100}"`, "has an error"},
		{"payload[" + strings.Repeat("1,", 50) + "1] == 00", "is no slice"},
		{strings.Repeat("count(", 500) + "a2s" + strings.Repeat(")", 500), "nests deeper"},
	} {
		if _, err := filter.Compile(tc.text, reg, filter.Options{}); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%.40s: %v, want %q", tc.text, err, tc.want)
		}
	}
}
