package goldsource

import "qsniff/dissect"

// Questions in words.
var (
	typePing    = dissect.Type{Name: "PING", Wire: wordPatterns("ping"), Obsolete: true, Asks: dissect.AskPing, Doc: "asks in a word for a sign of life"}
	typeInfoReq = dissect.Type{Name: "INFO", Wire: wordPatterns("info"), Asks: dissect.AskInfo, Doc: "asks in a word for the short information; Xash3D: with its protocol",
		Summary: []*dissect.Def{&defVersion},
		Fields:  []*dissect.Def{&defVersion}}
	typeInfostring = dissect.Type{Name: "INFOSTRING", Wire: wordPatterns("infostring"), Obsolete: true, Asks: dissect.AskInfo, Doc: "asks in a word for information as keys and values"}
	typeDetails    = dissect.Type{Name: "DETAILS", Wire: wordPatterns("details"), Obsolete: true, Asks: dissect.AskInfo, Doc: "asks in a word for the detailed information"}
	typePlayers    = dissect.Type{Name: "PLAYERS", Wire: wordPatterns("players"), Obsolete: true, Asks: dissect.AskPlayers, Doc: "asks in a word who plays"}
	typeRules      = dissect.Type{Name: "RULES", Wire: wordPatterns("rules"), Obsolete: true, Asks: dissect.AskRules, Doc: "asks in a word for the server's settings"}
	typeListen     = dissect.Type{Name: "LISTEN", Wire: wordPatterns("listen"), Asks: dissect.AskProxy, Doc: "asks an HLTV proxy for its multicast address"}
	typeNetinfo    = dissect.Type{Name: "NETINFO", Wire: wordPatterns("netinfo"), Asks: dissect.AskInfo | dissect.AskPlayers | dissect.AskRules,
		Doc: "asks an old Xash3D server", Summary: []*dissect.Def{&defNetType},
		Fields: []*dissect.Def{&defVersion, &defNetContext, &defNetType}}
	typeGetChallenge = dissect.Type{Name: "GETCHALLENGE", Wire: wordPatterns("getchallenge"), Asks: dissect.AskConnect, Doc: "asks for a challenge to join the game",
		Summary: []*dissect.Def{&defAuth},
		Fields:  []*dissect.Def{&defAuth}}
	typeRconChallengeReq = dissect.Type{Name: "RCON_CHALLENGE", Wire: wordPatterns("challenge rcon"), Asks: dissect.AskRconChallenge, Doc: "asks for a challenge for rcon"}
	typeRcon             = dissect.Type{Name: "RCON", Wire: wordPatterns("rcon"), Asks: dissect.AskRcon, Doc: "a command for the server's console, with its password",
		Number: &defChallenge, Summary: []*dissect.Def{&defChallenge, &defPassword, &defCommand},
		Fields: []*dissect.Def{&defChallenge, &defMaybeChallenge, &defPassword, &defCommand, &defCommandSecret, &defHidden}}
)

// Answers, and the log, which nobody asked for.
var (
	typeInfostringReply = dissect.Type{Name: "INFOSTRING_RESPONSE", Wire: wordPatterns("infostringresponse"), Reply: true, Asks: dissect.AskInfo, Unmistakable: true, Doc: "information as keys and values",
		Summary: []*dissect.Def{&defPairs},
		Fields:  []*dissect.Def{&defPairs}}
	typeXashInfo = dissect.Type{Name: "XASH_INFO", Wire: wordPatterns("info\n", "netinfo "), Reply: true, Asks: dissect.AskInfo | dissect.AskPlayers | dissect.AskRules,
		Doc: "information of Xash3D as keys and values", Summary: []*dissect.Def{&defPairs, &defText},
		Fields: []*dissect.Def{&defPairs, &defNetContext, &defNetType, &defText, &defTextSecret}}
	typeConnectChallenge = dissect.Type{Name: "CONNECT_CHALLENGE", Wire: letterPatterns(opConnectChallenge), Reply: true, Asks: dissect.AskConnect, Doc: "a number for joining the game",
		Summary: []*dissect.Def{&defChallenge, &defAuthProtocol},
		Fields:  []*dissect.Def{&defChallenge, &defAuthProtocol, &defSteamID, &defSecure}}
	typeRconChallenge = dissect.Type{Name: "RCON_CHALLENGE", Wire: wordPatterns("challenge rcon "), Reply: true, Asks: dissect.AskRconChallenge, Doc: "a number to send with rcon",
		Number: &defChallenge, Summary: []*dissect.Def{&defChallenge},
		Fields: []*dissect.Def{&defChallenge}}
	typePrint = dissect.Type{Name: "A2A_PRINT", Wire: append(letterPatterns(opPrint), wordPatterns("print\n")...), Reply: true, Asks: dissect.AskRcon, Doc: "text for the console: output of rcon",
		Summary: []*dissect.Def{&defText}, Prints: &defText,
		Fields: []*dissect.Def{&defText, &defTextSecret, &defHidden}}
	typeProxyListen = dissect.Type{Name: "S2A_PROXY_LISTEN", Wire: letterPatterns(opProxyListen), Reply: true, Asks: dissect.AskProxy, Doc: "the multicast address of an HLTV proxy",
		Summary: []*dissect.Def{&defProxyAddress},
		Fields:  []*dissect.Def{&defProxyAddress}}
	typeProxyRedirect = dissect.Type{Name: "S2A_PROXY_REDIRECT", Wire: letterPatterns(opProxyRedirect), Reply: true, Asks: dissect.AskProxy, Doc: "the address of another HLTV proxy",
		Summary: []*dissect.Def{&defProxyAddress},
		Fields:  []*dissect.Def{&defProxyAddress}}
	typeLog = dissect.Type{Name: "LOG", Wire: wordPatterns("log "), Doc: "a line of the server's log", Summary: []*dissect.Def{&defLine},
		Fields: []*dissect.Def{&defLine, &defLineSecret, &defHidden}}
)
