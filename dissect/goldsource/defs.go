package goldsource

import (
	"qsniff/dissect"
)

var (
	defHeader = dissect.Def{Name: "goldsource.header", Label: "header", Kind: dissect.Int, Flags: dissect.Framing,
		Values: dissect.HeaderName, Doc: "-1: a message in one datagram"}
	defOpcode = dissect.Def{Name: "goldsource.opcode", Label: "opcode", Kind: dissect.Char, Flags: dissect.Framing,
		Values: opcodeName, Doc: "what kind of message follows"}
	defAddress = dissect.Def{Name: "goldsource.info.address", Label: "address", Kind: dissect.Text, Flags: dissect.Identifying,
		Doc: "address the server believes it has"}
	defName    = dissect.Def{Name: "goldsource.info.name", Role: dissect.ServerName, Label: "name", Kind: dissect.Text, Flags: dissect.Identifying, Doc: "server name"}
	defMap     = dissect.Def{Name: "goldsource.info.map", Role: dissect.MapName, Label: "map", Kind: dissect.Text, Doc: "map being played"}
	defDir     = dissect.Def{Name: "goldsource.info.folder", Label: "folder", Kind: dissect.Text, Doc: "game directory"}
	defGame    = dissect.Def{Name: "goldsource.info.game", Label: "game", Kind: dissect.Text, Doc: "description of the game"}
	defPlayers = dissect.Def{Name: "goldsource.info.players", Role: dissect.PlayerCount, Label: "players", Kind: dissect.Uint,
		Doc: "players on the server; 255 from HLTV: see spectators"}
	defMaxPlayers = dissect.Def{Name: "goldsource.info.max_players", Role: dissect.MaxPlayers, Label: "max_players", Kind: dissect.Uint, Doc: "slots"}
	defProtocol   = dissect.Def{Name: "goldsource.info.protocol", Label: "protocol", Kind: dissect.Uint,
		Doc: "network protocol: 47 or 48 from Valve's engine"}
	defServerType = dissect.Def{Name: "goldsource.info.server_type", Label: "server_type", Kind: dissect.Char,
		Values: dissect.ServerTypeName, Doc: "dedicated, listen or proxy"}
	defEnvironment = dissect.Def{Name: "goldsource.info.environment", Label: "environment", Kind: dissect.Char,
		Values: dissect.EnvironmentName, Doc: "operating system of the server"}
	defVisibility = dissect.Def{Name: "goldsource.info.visibility", Label: "visibility", Kind: dissect.Uint,
		Values: dissect.VisibilityName, Doc: "whether a password is needed"}
	defMod = dissect.Def{Name: "goldsource.info.mod", Label: "mod", Kind: dissect.Uint, Values: modName,
		Doc: "whether a block about the mod follows"}
	defURL       = dissect.Def{Name: "goldsource.info.url", Label: "url", Kind: dissect.Text, Flags: dissect.Prose, Doc: "mod: information page"}
	defDownload  = dissect.Def{Name: "goldsource.info.download_url", Label: "download_url", Kind: dissect.Text, Flags: dissect.Prose, Doc: "mod: download page"}
	defHLVersion = dissect.Def{Name: "goldsource.info.hl_version", Label: "hl_version", Kind: dissect.Text,
		Doc: "mod: version of Half-Life it wants; empty except from HLTV"}
	defModVersion = dissect.Def{Name: "goldsource.info.mod_version", Label: "mod_version", Kind: dissect.Int, Doc: "mod: version"}
	defModSize    = dissect.Def{Name: "goldsource.info.mod_size", Label: "mod_size", Kind: dissect.Int, Unit: "bytes",
		Doc: "mod: size of the download"}
	defModType = dissect.Def{Name: "goldsource.info.mod_type", Label: "mod_type", Kind: dissect.Uint, Values: modTypeName,
		Doc: "mod: whether it is for multiplayer only"}
	defModDLL = dissect.Def{Name: "goldsource.info.mod_dll", Label: "mod_dll", Kind: dissect.Uint, Values: modDLLName,
		Doc: "mod: whether it has a game library of its own"}
	defVAC = dissect.Def{Name: "goldsource.info.vac", Label: "vac", Kind: dissect.Uint, Values: dissect.SecuredName,
		Doc: "Valve Anti-Cheat"}
	defBots       = dissect.Def{Name: "goldsource.info.bots", Role: dissect.BotCount, Label: "bots", Kind: dissect.Uint, Doc: "how many of the players are bots"}
	defSpectators = dissect.Def{Name: "goldsource.info.spectators", Label: "spectators", Kind: dissect.Int,
		Doc: "HLTV: spectators, where they need more than a byte"}
	defSpecSlots = dissect.Def{Name: "goldsource.info.spectator_slots", Label: "spectator_slots", Kind: dissect.Int,
		Doc: "HLTV: slots for spectators"}
)

var defs = []*dissect.Def{
	&defHeader, &defOpcode, &defAddress, &defName, &defMap, &defDir, &defGame, &defPlayers, &defMaxPlayers,
	&defProtocol, &defServerType, &defEnvironment, &defVisibility, &defMod, &defURL, &defDownload, &defHLVersion,
	&defModVersion, &defModSize, &defModType, &defModDLL, &defVAC, &defBots, &defSpectators, &defSpecSlots,
}

func opcodeName(v uint64) string {
	switch v {
	case opDetailed:
		return typeDetailed.Name
	case opInfo:
		return typeInfo.Name
	case opPrint:
		return typePrint.Name
	case opProxyListen:
		return typeProxyListen.Name
	case opProxyRedirect:
		return typeProxyRedirect.Name
	case opConnectChallenge:
		return typeConnectChallenge.Name
	}
	return ""
}

func modName(v uint64) string {
	switch v {
	case 0:
		return "Half-Life itself"
	case 1:
		return "a mod"
	}
	return ""
}

func modTypeName(v uint64) string {
	switch v {
	case 0:
		return "single and multiplayer"
	case 1:
		return "multiplayer only"
	}
	return ""
}

func modDLLName(v uint64) string {
	switch v {
	case 0:
		return "uses Half-Life's library"
	case 1:
		return "library of its own"
	}
	return ""
}

var detailedFields = []*dissect.Def{&defAddress, &defName, &defMap, &defDir, &defGame, &defPlayers, &defMaxPlayers, &defProtocol, &defServerType,
	&defEnvironment, &defVisibility, &defMod, &defURL, &defDownload, &defHLVersion, &defModVersion, &defModSize, &defModType, &defModDLL, &defVAC,
	&defBots, &defSpectators, &defSpecSlots}

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

// Answers, and the log, which is sent without a request.
var (
	typeInfostringReply = dissect.Type{Name: "INFOSTRING_RESPONSE", Wire: wordPatterns("infostringresponse"), Reply: true, Asks: dissect.AskInfo, Unmistakable: true, Doc: "information as keys and values",
		Summary: []*dissect.Def{&defPairs},
		Fields:  []*dissect.Def{&defPairs, &defText, &defTextSecret}}
	typeXashInfo = dissect.Type{Name: "XASH_INFO", Wire: wordPatterns("info\n", "netinfo "), Reply: true, Asks: dissect.AskInfo | dissect.AskPlayers | dissect.AskRules,
		Doc: "information of Xash3D as keys and values", Summary: []*dissect.Def{&defPairs, &defText},
		Fields: []*dissect.Def{&defPairs, &defNetContext, &defNetType, &defOldPlayers, &defText, &defTextSecret}}
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

// The framing of text, and what stands in requests.
var (
	defWord = dissect.Def{Name: "goldsource.word", Label: "word", Kind: dissect.Text, Flags: dissect.Framing,
		Doc: "what kind of message this is, in a word"}
	defTerminator = dissect.Def{Name: "goldsource.terminator", Label: "terminator", Kind: dissect.Bytes, Flags: dissect.Framing,
		Doc: "NUL, line feed or blanks after text"}
	defVersion = dissect.Def{Name: "goldsource.request.version", Label: "version", Kind: dissect.Uint,
		Doc: "Xash3D: network protocol of the client"}
	defAuth = dissect.Def{Name: "goldsource.getchallenge.auth", Label: "auth", Kind: dissect.Text,
		Doc: "how the client wants to prove who it is: steam"}
	defNetContext = dissect.Def{Name: "goldsource.netinfo.context", Label: "context", Kind: dissect.Uint,
		Doc: "old Xash3D: number that the answer repeats"}
	defNetType = dissect.Def{Name: "goldsource.netinfo.type", Label: "type", Kind: dissect.Uint, Values: netTypeName,
		Doc: "old Xash3D: what is asked for"}
	defOldPlayers = dissect.Def{Name: "goldsource.netinfo.players", Label: "players", Kind: dissect.List, Doc: "old Xash3D: players"}
	defOldPlayer  = dissect.Def{Name: "goldsource.netinfo.players.player", Label: "player", Kind: dissect.Group, Doc: "one of them"}
	defOldNumber  = dissect.Def{Name: "goldsource.netinfo.players.number", Label: "number", Kind: dissect.Text, Doc: "digits, or a byte in their place"}
	defOldName    = dissect.Def{Name: "goldsource.netinfo.players.name", Label: "name", Kind: dissect.Text, Flags: dissect.Identifying, Doc: "name of the player"}
	defOldFrags   = dissect.Def{Name: "goldsource.netinfo.players.frags", Label: "frags", Kind: dissect.Text, Doc: "frags, in digits"}
	defOldTime    = dissect.Def{Name: "goldsource.netinfo.players.time", Label: "time", Kind: dissect.Text, Doc: "seconds since the player joined, in digits"}
)

// Challenges and rcon.
var (
	defChallenge = dissect.Def{Name: "goldsource.challenge", Label: "challenge", Kind: dissect.Uint, Flags: dissect.Identifying,
		Doc: "number that proves the client's address"}
	defZeros = dissect.Def{Name: "goldsource.connect.zeros", Label: "zeros", Kind: dissect.Text, Flags: dissect.Framing,
		Doc: "eight zeros that mark a challenge for joining"}
	defAuthProtocol = dissect.Def{Name: "goldsource.connect.auth_protocol", Label: "auth_protocol", Kind: dissect.Uint, Values: authName,
		Doc: "how the client has to prove who it is"}
	defSteamID = dissect.Def{Name: "goldsource.connect.steam_id", Label: "steam_id", Kind: dissect.Uint, Flags: dissect.AsString | dissect.Identifying,
		Doc: "the server's SteamID"}
	defSecure = dissect.Def{Name: "goldsource.connect.secure", Label: "secure", Kind: dissect.Uint, Values: dissect.SecuredName,
		Doc: "Valve Anti-Cheat"}
	defMaybeChallenge = dissect.Def{Name: "goldsource.rcon.doubtful.challenge", Label: "challenge", Kind: dissect.Uint, Flags: dissect.Secret,
		Doc: "number before the password: the challenge, or where there are none the password itself"}
	defPassword = dissect.Def{Name: "goldsource.rcon.password", Label: "password", Kind: dissect.Text, Flags: dissect.Secret,
		Doc: "password for the server's console"}
	defCommand = dissect.Def{Name: "goldsource.rcon.command", Label: "command", Kind: dissect.Text, Flags: dissect.Prose,
		Doc: "what the server's console shall do"}
	defCommandSecret = dissect.Def{Name: "goldsource.rcon.command_secret", Label: "secret", Kind: dissect.Text, Flags: dissect.Secret,
		PartOf: &defCommand, Doc: "password in a command"}
)

// Text of servers.
var (
	defText       = dissect.Def{Name: "goldsource.print.text", Label: "text", Kind: dissect.Text, Flags: dissect.Prose, Doc: "text for the console"}
	defTextSecret = dissect.Def{Name: "goldsource.print.text_secret", Label: "secret", Kind: dissect.Text, Flags: dissect.Secret,
		PartOf: &defText, Doc: "password that the text repeats"}
	defLine = dissect.Def{Name: "goldsource.log.line", Label: "line", Kind: dissect.Text, Flags: dissect.Prose,
		Doc: "line of the log, with its line feed"}
	defLineSecret = dissect.Def{Name: "goldsource.log.line_secret", Label: "secret", Kind: dissect.Text, Flags: dissect.Secret,
		PartOf: &defLine, Doc: "password that the line quotes"}
	defHidden = dissect.Def{Name: "goldsource.behind", Label: "behind", Kind: dissect.Bytes, Flags: dissect.Secret,
		Doc: "bytes after the end of the text, with a password in them"}
	defProxyAddress = dissect.Def{Name: "goldsource.proxy.address", Label: "address", Kind: dissect.Text, Flags: dissect.Identifying,
		Doc: "address of a proxy; 0.0.0.0 from those without multicast"}
	defPairs      = dissect.Def{Name: "goldsource.pairs", Label: "pairs", Kind: dissect.List, Doc: "keys and values"}
	defPair       = dissect.Def{Name: "goldsource.pairs.pair", Label: "pair", Kind: dissect.Group, Doc: "one key with its value"}
	defPairName   = dissect.Def{Name: "goldsource.pairs.name", Label: "name", Kind: dissect.Text, Doc: "key"}
	defPairSecret = dissect.Def{Name: "goldsource.pairs.hidden.value", Label: "value", Kind: dissect.Text, Flags: dissect.Secret,
		Doc: "value of a variable that holds a password"}
	defPairValue = dissect.Def{Name: "goldsource.pairs.value", Label: "value", Kind: dissect.Text, Flags: dissect.Prose,
		Doc: "its value; ReHLDS writes secure inverted, 0 with VAC"}
)

var textDefs = []*dissect.Def{
	&defWord, &defTerminator, &defVersion, &defAuth, &defNetContext, &defNetType,
	&defOldPlayers, &defOldPlayer, &defOldNumber, &defOldName, &defOldFrags, &defOldTime,
	&defChallenge, &defZeros, &defAuthProtocol, &defSteamID, &defSecure, &defMaybeChallenge, &defPassword, &defCommand, &defCommandSecret,
	&defText, &defTextSecret, &defLine, &defLineSecret, &defHidden, &defProxyAddress,
	&defPairs, &defPair, &defPairName, &defPairValue, &defPairSecret,
}

func netTypeName(v uint64) string {
	switch v {
	case 1:
		return "ping"
	case 2:
		return "rules"
	case 3:
		return "players"
	case 4:
		return "details"
	}
	return ""
}

func authName(v uint64) string {
	switch v {
	case 2:
		return "CD key"
	case 3:
		return "Steam"
	}
	return ""
}
