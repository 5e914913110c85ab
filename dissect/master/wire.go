package master

import (
	_ "embed"

	"qsniff/dissect"
)

// What the messages look like on the wire. The letters of requests begin packets of
// games too, so most forms are looked for at the ports of master servers only.

// patterns is the pattern of what follows FF FF FF FF.
func patterns(op byte) []dissect.Pattern {
	return []dissect.Pattern{dissect.Begins(string(oobMark) + string(rune(op)))}
}

const (
	missedLists = "the old list requests"
	missedJoins = "join and shutdown"
	missedBeats = "heartbeats of WON and QuakeWorld"
)

var (
	wireQuery = append(patterns(opQuery),
		dissect.BeginsMasked("1\x00\x30", "\xff\x00\xf0").Sized(4, 0), // a region, and a digit of an IPv4 address
		dissect.BeginsMasked("1\x00[", "\xff\x00\xff").Sized(4, 0),    // the same for IPv6
		dissect.Begins("1\x00\x00\x00"),                               // the first page of the older form, or no address
		dissect.BeginsMasked("1\x00\x00\x00\x00\\", "\xff\x00\x00\x00\x00\xff"),
		dissect.Begins("1").OnlyAtPort(missedLists))

	// A tag of three bytes, or of four as replies have it.
	wireBatch    = append(patterns(opBatch), dissect.Begins("e").Sized(4, 5).OnlyAtPort(missedLists))
	wireServers  = append(patterns(opServers), dissect.Begins("c\n").Sized(2, 3).OnlyAtPort(missedLists))
	wireCheckMD5 = append(patterns(opCheckMD5), dissect.Begins("M\xff").Sized(2, 2).OnlyAtPort(missedLists))

	wireJoin       = []dissect.Pattern{dissect.Begins("q").Sized(1, 6).OnlyAtPort(missedJoins)}
	wireShutdown   = []dissect.Pattern{dissect.Begins("b\n").Sized(2, 3).OnlyAtPort(missedJoins)}
	wireHeartbeat  = []dissect.Pattern{dissect.Begins("a\n").OnlyAtPort(missedBeats)}
	wireHeartbeat2 = []dissect.Pattern{dissect.Begins("0\n\\").Sized(4, 0)}
)

// operator is for those who run master servers.
var operator = dissect.Operator{
	Limits: "Steam's master servers took about 30 a minute.",
	Cap:    100,
	Each:   1, Burst: 30,
}

//go:embed wireshark.lua
var lua string

// plugin is how Wireshark reads the protocol.
var plugin = dissect.Plugin{
	Lua: lua,
	Unread: []dissect.Omission{{Why: "made of the filter, which is there",
		Defs: []*dissect.Def{&defConditions, &defCondition, &defKey, &defValue, &defGroup}}},
}
