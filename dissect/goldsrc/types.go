package goldsrc

import "qsniff/dissect"

// firstOfInfo is the letter of "info" and "infostring" as the engines' own clients
// write them; others write them large.
const firstOfInfo = 'i'

// Questions in words.
var (
	typePing    = dissect.Type{Name: "PING", Asks: dissect.AskPing, Doc: "asks in a word for a sign of life"}
	typeInfoReq = dissect.Type{Name: "INFO", Letter: firstOfInfo, Asks: dissect.AskInfo, Doc: "asks in a word for the short information; Xash3D: with its protocol",
		Summary: []*dissect.Def{&defVersion}}
	typeInfostring = dissect.Type{Name: "INFOSTRING", Letter: firstOfInfo, Asks: dissect.AskInfo, Doc: "asks in a word for information as keys and values"}
	typeDetails    = dissect.Type{Name: "DETAILS", Asks: dissect.AskInfo, Doc: "asks in a word for the detailed information"}
	typePlayers    = dissect.Type{Name: "PLAYERS", Asks: dissect.AskPlayers, Doc: "asks in a word who plays"}
	typeRules      = dissect.Type{Name: "RULES", Asks: dissect.AskRules, Doc: "asks in a word for the server's settings"}
	typeListen     = dissect.Type{Name: "LISTEN", Asks: dissect.AskProxy, Doc: "asks an HLTV proxy for its multicast address"}
	typeNetinfo    = dissect.Type{Name: "NETINFO", Asks: dissect.AskInfo | dissect.AskPlayers | dissect.AskRules,
		Doc: "asks an old Xash3D server", Summary: []*dissect.Def{&defNetType}}
	typeGetChallenge = dissect.Type{Name: "GETCHALLENGE", Asks: dissect.AskConnect, Doc: "asks for a challenge to join the game",
		Summary: []*dissect.Def{&defAuth}}
	typeRconChallengeReq = dissect.Type{Name: "RCON_CHALLENGE", Asks: dissect.AskRconChallenge, Doc: "asks for a challenge for rcon"}
	typeRcon             = dissect.Type{Name: "RCON", Asks: dissect.AskRcon, Doc: "a command for the server's console, with its password",
		Summary: []*dissect.Def{&defChallenge, &defPassword, &defCommand}}
)

// Answers, and the log, which nobody asked for.
var (
	typeInfostringReply = dissect.Type{Name: "INFOSTRING_RESPONSE", Letter: firstOfInfo, Reply: true, Asks: dissect.AskInfo, Doc: "information as keys and values",
		Summary: []*dissect.Def{&defPairs}}
	typeXashInfo = dissect.Type{Name: "XASH_INFO", Reply: true, Asks: dissect.AskInfo | dissect.AskPlayers | dissect.AskRules,
		Doc: "information of Xash3D as keys and values", Summary: []*dissect.Def{&defPairs, &defText}}
	typeConnectChallenge = dissect.Type{Name: "CONNECT_CHALLENGE", Letter: opConnectChallenge, Reply: true, Asks: dissect.AskConnect, Doc: "a number for joining the game",
		Summary: []*dissect.Def{&defChallenge, &defAuthProtocol}}
	typeRconChallenge = dissect.Type{Name: "RCON_CHALLENGE", Reply: true, Asks: dissect.AskRconChallenge, Doc: "a number to send with rcon",
		Summary: []*dissect.Def{&defChallenge}}
	typePrint = dissect.Type{Name: "A2A_PRINT", Reply: true, Asks: dissect.AskRcon, Doc: "text for the console: output of rcon",
		Summary: []*dissect.Def{&defText}}
	typeProxyListen = dissect.Type{Name: "S2A_PROXY_LISTEN", Reply: true, Asks: dissect.AskProxy, Doc: "the multicast address of an HLTV proxy",
		Summary: []*dissect.Def{&defProxyAddress}}
	typeProxyRedirect = dissect.Type{Name: "S2A_PROXY_REDIRECT", Reply: true, Asks: dissect.AskProxy, Doc: "the address of another HLTV proxy",
		Summary: []*dissect.Def{&defProxyAddress}}
	typeLog = dissect.Type{Name: "LOG", Doc: "a line of the server's log", Summary: []*dissect.Def{&defLine}}
)
