package goldsource

import (
	_ "embed"

	"qsniff/dissect"
)

// mark is what every connectionless packet of the engines begins with.
const mark = "\xff\xff\xff\xff"

// wordPatterns is what messages that begin with one of some words look like. Engines take
// letters of either case.
func wordPatterns(words ...string) (all []dissect.Pattern) {
	for _, w := range words {
		all = append(all, dissect.BeginsFold(mark+w))
	}
	return all
}

// letterPatterns is what messages that begin with a letter look like.
func letterPatterns(op byte) []dissect.Pattern {
	return []dissect.Pattern{dissect.Begins(mark + string(rune(op)))}
}

// joins are what clients send to join, and what browsers of the relatives of Quake
// ask of servers.
var joins = wordPatterns("connect", "getinfo", "getstatus")

// operator is for those who run GoldSource servers, which stop at 30 answers a second
// by themselves.
var operator = dissect.Operator{
	Limits: "The engines allow 3 by default (sv_max_queries_sec); players behind one address share it.",
	Reflected: "The old text queries are answered without a challenge. Where the server can be set to ignore" +
		" them, do; max_queries_sec 3 and max_queries_sec_global 30 limit them.",
	Logins: "The password is in every packet, in the clear. Better than any limit: leave rcon_password empty, or let" +
		" the console be reached through a VPN only.",
	Crowded: "If the server has trouble answering, raise max_queries_sec_global.",
	Polled:  "If the server should have rest, max_queries_sec 3 gives it.",
	Cap:     100,
}

var (
	//go:embed wireshark.lua
	luaProbe string
	//go:embed wireshark_read.lua
	luaRead string
)

// plugin is how Wireshark reads the protocol.
var plugin = dissect.Plugin{Lua: luaProbe + luaRead}
