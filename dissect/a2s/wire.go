package a2s

import (
	_ "embed"

	"qsniff/dissect"
)

// mark is what every connectionless packet of the engines begins with.
var mark = []byte{0xff, 0xff, 0xff, 0xff}

// patterns is the pattern of a message in one datagram.
func patterns(op byte) []dissect.Pattern {
	return []dissect.Pattern{dissect.Begins(string(mark) + string(rune(op)))}
}

// replyPatterns is the pattern of a reply, and that of one whose server wrote the mark twice.
func replyPatterns(op byte) []dissect.Pattern {
	twice := dissect.Begins(string(mark) + string(mark) + string(rune(op)))
	twice.IsMistake = true
	return append(patterns(op), twice)
}

// wireZeros is that of an answer which is nothing but zeros.
var wireZeros = func() []dissect.Pattern {
	p := dissect.Begins(string(make([]byte, minZeros)))
	p.IsMistake = true
	return []dissect.Pattern{p}
}()

// infoToken: A2S_INFO without a challenge is its text and a NUL.
var infoToken = &dissect.Token{FromEnd: challengeLen, Len: challengeLen,
	Plain: []dissect.Pattern{dissect.Begins(string(mark)+string(rune(opInfoReq))).Sized(infoLen, infoLen)}}

// infoLen is the length of A2S_INFO without a challenge.
const infoLen = bodyOff + len("Source Engine Query") + 1

// pageToken is that of A2S_PLAYER and A2S_RULES, which have a placeholder where there
// is no challenge.
func pageToken(op byte) *dissect.Token {
	t := &dissect.Token{FromEnd: challengeLen, Len: challengeLen}
	const pageLen = bodyOff + challengeLen
	for _, placeholder := range []string{"\x00\x00\x00\x00", "\xff\xff\xff\xff"} {
		p := dissect.Begins(string(mark) + string(rune(op)) + placeholder)
		t.Plain = append(t.Plain, p.Sized(pageLen, pageLen))
	}
	return t
}

// What to set in servers. The challenge is off by default in some games, the limit in
// all; Valve suggested 25 to 75 for it.
const (
	requireChallenge = "STEAM_GAMESERVER_A2S_INFO_REQUIRE_CHALLENGE=1"
	otherSettings    = "In the server itself: STEAM_GAMESERVER_RATE_LIMIT_200MS=25 in its environment, and sv_max_queries_sec 3."
	settings         = "In the server itself: " + requireChallenge + " and STEAM_GAMESERVER_RATE_LIMIT_200MS=25" +
		" in its environment, and sv_max_queries_sec 3."
)

// joins are what Source's clients send to join: they ask for a challenge of another
// kind, and connect.
var joins = append(patterns('q'), patterns('k')...)

// operator is for those who run Source servers. A challenge costs a server next to
// nothing: later branches of the engine answer 3000 queries a second.
var operator = dissect.Operator{
	Limits:   "The engines allow 3 by default (sv_max_queries_sec); players behind one address share it.",
	Settings: settings,

	ChallengeFor: dissect.AskInfo, OtherSettings: otherSettings,
	Reflected: "The cure is the challenge, with which the answer to a forged query is smaller than the query. " + settings +
		" If these are set and answers still go out, something in front of the server answers from a cache.",
	Crowded:   "If the server has trouble answering, raise sv_max_queries_sec_global, or let a cache that checks challenges answer A2S_INFO.",
	Polled:    "If the server should have rest, sv_max_queries_sec 3 gives it.",
	Challenge: requireChallenge + " makes Source servers do it",
	Cap:       300,
}

var (
	//go:embed wireshark.lua
	luaProbe string
	//go:embed wireshark_read.lua
	luaRead string
)

// plugin is how Wireshark reads the protocol.
var plugin = dissect.Plugin{
	Lua: luaProbe + luaRead,
	Unread: []dissect.Omission{
		{Why: "made of the keywords by rules of each game; the keywords are there", Defs: tagDefs},
		{Why: "made of pages that are escaped; the rules that hold them are there", Defs: bohemiaDefs},
	},
}
