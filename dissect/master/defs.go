package master

import "qsniff/dissect"

// The framing.
var (
	defHeader = dissect.Def{Name: "master.header", Label: "header", Kind: dissect.Int, Flags: dissect.Framing,
		Values: dissect.HeaderName, Doc: "-1: a message in one datagram; most messages to a master have none"}
	defOpcode = dissect.Def{Name: "master.opcode", Label: "opcode", Kind: dissect.Char, Flags: dissect.Framing,
		Doc: "what kind of message follows"}
	defForm = dissect.Def{Name: "master.form", Label: "form", Kind: dissect.Uint, Flags: dissect.Framing | dissect.Hex,
		Values: formName, Doc: "the byte after the opcode: which form of the message this is"}
	defTerminator = dissect.Def{Name: "master.terminator", Label: "terminator", Kind: dissect.Bytes, Flags: dissect.Framing,
		Doc: "line feed or NUL at the end of a message"}
)

// The questions of clients.
var (
	defRegion = dissect.Def{Name: "master.query.region", Label: "region", Kind: dissect.Uint, Flags: dissect.Hex,
		Values: regionName, Doc: "part of the world whose servers are asked for"}
	defSeed = dissect.Def{Name: "master.query.seed", Label: "seed", Kind: dissect.Text, Flags: dissect.Identifying,
		Doc: "0.0.0.0:0 for the first page, then the last address of the page before"}
	defFilter = dissect.Def{Name: "master.query.filter", Label: "filter", Kind: dissect.Text,
		Doc: "what servers must be like, as it was sent: \\key\\value, repeated"}
	defConditions = dissect.Def{Name: "master.query.conditions", Label: "conditions", Kind: dissect.List,
		Doc: "the filter, taken apart"}
	defCondition = dissect.Def{Name: "master.query.conditions.condition", Label: "condition", Kind: dissect.Group,
		Doc: "one pair of the filter"}
	defKey   = dissect.Def{Name: "master.query.conditions.key", Label: "key", Kind: dissect.Text, Doc: "what is compared"}
	defValue = dissect.Def{Name: "master.query.conditions.value", Label: "value", Kind: dissect.Text, Flags: dissect.Prose, Doc: "what it must be"}
	defGroup = dissect.Def{Name: "master.query.conditions.group", Label: "group", Kind: dissect.Text,
		Doc: "the word of the group that negates this pair: nand or nor"}
)

// The lists of servers.
var (
	defNext = dissect.Def{Name: "master.list.next", Label: "next", Kind: dissect.Uint, Flags: dissect.Hex,
		Doc: "older lists: tag that asks for the next page; 0 begins and ends a list"}
	defKeyMark = dissect.Def{Name: "master.list.key_mark", Label: "key follows", Kind: dissect.Uint,
		Flags: dissect.Framing | dissect.Hex, Doc: "Xash3D: 0x7f before the key"}
	defListKey = dissect.Def{Name: "master.list.key", Label: "key", Kind: dissect.Uint, Flags: dissect.Hex,
		Doc: "Xash3D: number from the filter's key, sent back"}
	defReserved = dissect.Def{Name: "master.list.reserved", Label: "reserved", Kind: dissect.Uint, Flags: dissect.Framing,
		Doc: "Xash3D: a byte after the key, without a meaning"}
	defServers = dissect.Def{Name: "master.list.servers", Label: "servers", Kind: dissect.List,
		Doc: "addresses of servers, and the end mark 0.0.0.0:0 if this page has it"}
	defServer = dissect.Def{Name: "master.list.servers.server", Label: "server", Kind: dissect.Addr,
		Doc: "address and port of a server"}
)

// Fields of the messages between game servers and masters.
var (
	defChallenge = dissect.Def{Name: "master.challenge", Label: "challenge", Kind: dissect.Uint, Flags: dissect.Hex | dissect.Identifying,
		Doc: "number that proves an address; a heartbeat carries it as text"}
	defEcho = dissect.Def{Name: "master.echo", Label: "echo", Kind: dissect.Uint, Flags: dissect.Hex,
		Doc: "Xash3D: the number that the server joined with, sent back"}
	defPairs  = dissect.Def{Name: "master.pairs", Label: "pairs", Kind: dissect.List, Doc: "what the server says about itself"}
	defPair   = dissect.Def{Name: "master.pairs.pair", Label: "pair", Kind: dissect.Group, Doc: "a name and its value"}
	defName   = dissect.Def{Name: "master.pairs.name", Label: "name", Kind: dissect.Text, Doc: "name of a property"}
	defWhat   = dissect.Def{Name: "master.pairs.value", Label: "value", Kind: dissect.Text, Flags: dissect.Prose, Doc: "its value"}
	defSecret = dissect.Def{Name: "master.pairs.hidden.value", Label: "value", Kind: dissect.Text, Flags: dissect.Secret,
		Doc: "value of a property that holds a password, other than 0 and 1"}
	defAddr = dissect.Def{Name: "master.address", Label: "address", Kind: dissect.Text, Flags: dissect.Identifying,
		Doc: "client that the server should contact, so that its router lets the client in"}
	defText = dissect.Def{Name: "master.text", Label: "text", Kind: dissect.Text, Flags: dissect.Prose,
		Doc: "lines of an old heartbeat: numbers whose order is not documented"}
)

var defs = []*dissect.Def{
	&defHeader, &defOpcode, &defForm, &defTerminator,
	&defRegion, &defSeed, &defFilter, &defConditions, &defCondition, &defKey, &defValue, &defGroup,
	&defNext, &defKeyMark, &defListKey, &defReserved, &defServers, &defServer,
	&defChallenge, &defEcho, &defPairs, &defPair, &defName, &defWhat, &defSecret, &defAddr, &defText,
}

// The byte after an opcode.
const (
	formPlain = 0x0A // line feed
	formTag   = 0x0D // carriage return: the tag of the next page follows
	formXash  = 0xFF
)

func formName(v uint64) string {
	switch v {
	case formPlain:
		return "line feed"
	case formTag:
		return "carriage return"
	}
	return ""
}

// regionAll asks for servers everywhere: documents call it "rest of the world"
// and "all", and masters treat it as all.
const regionAll = 0xFF

func regionName(v uint64) string {
	switch v {
	case 0:
		return "US East"
	case 1:
		return "US West"
	case 2:
		return "South America"
	case 3:
		return "Europe"
	case 4:
		return "Asia"
	case 5:
		return "Australia"
	case 6:
		return "Middle East"
	case 7:
		return "Africa"
	case regionAll:
		return "all regions"
	}
	return ""
}

// keyMeaning returns what a filter's pair asks for. The keys empty and full mean the
// opposite of what they seem to: servers that are not.
func keyMeaning(key []byte) string {
	switch string(key) {
	case "dedicated", "type":
		return "dedicated servers"
	case "secure":
		return "protected by VAC"
	case "gamedir":
		return "game directory"
	case "linux":
		return "running on Linux"
	case "password":
		return "0: without a password"
	case "empty":
		return "servers that are not empty"
	case "full":
		return "servers that are not full"
	case "noplayers":
		return "empty servers"
	case "proxy":
		return "spectator proxies"
	case "appid":
		return "Steam application"
	case "napp":
		return "any but this Steam application"
	case "white":
		return "whitelisted servers"
	case "gametype":
		return "all of these tags"
	case "gamedata":
		return "all of these hidden tags"
	case "gamedataor":
		return "any of these hidden tags"
	case "name_match":
		return "name, * stands for anything"
	case "version_match":
		return "version, * stands for anything"
	case "collapse_addr_hash":
		return "one server for each address"
	case "gameaddr":
		return "servers at this address"
	}
	return xashMeaning(key)
}

// xashMeaning explains the keys that only Xash3D has: what the client is, more
// than what it wants.
func xashMeaning(key []byte) string {
	switch string(key) {
	case "protocol":
		return "Xash3D: network protocol"
	case "lan":
		return "Xash3D: servers on a local network"
	case "nat":
		return "Xash3D: servers after address translation"
	case "bots":
		return "Xash3D: servers with bots"
	case "clver":
		return "Xash3D: version of the client"
	case "commit", "branch", "buildnum":
		return "Xash3D: build of the client"
	case "os", "arch":
		return "Xash3D: machine of the client"
	case "key":
		return "Xash3D: number that the reply must bring back"
	}
	return ""
}
