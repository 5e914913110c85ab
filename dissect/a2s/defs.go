package a2s

import "qsniff/dissect"

// The framing that all messages share.
var (
	defHeader = dissect.Def{Name: "a2s.header", Label: "header", Kind: dissect.Int, Flags: dissect.Framing,
		Values: dissect.HeaderName, Doc: "-1: a message in one datagram"}
	defOpcode = dissect.Def{Name: "a2s.opcode", Label: "opcode", Kind: dissect.Char, Flags: dissect.Framing,
		Values: opcodeName, Doc: "what kind of message follows"}
	defSecondHeader = dissect.Def{Name: "a2s.second_header", Label: "header", Kind: dissect.Int, Flags: dissect.Framing,
		Values: dissect.HeaderName, Doc: "the same once more, by mistake"}
	defChallenge = dissect.Def{Name: "a2s.challenge", Label: "challenge", Kind: dissect.Int, Flags: dissect.Hex | dissect.Identifying,
		Values: challengeName, Doc: "number that proves the client's address; -1 or 0 asks for one"}
	defPayload = dissect.Def{Name: "a2s.payload", Label: "payload", Kind: dissect.Text, Flags: dissect.Framing,
		Doc: "fixed text of an A2S_INFO request"}
	defPadding = dissect.Def{Name: "a2s.padding", Label: "padding", Kind: dissect.Bytes, Flags: dissect.Size,
		Unit: "bytes", Doc: "zeros after a request, counted in bytes"}
	defZeros = dissect.Def{Name: "a2s.zeros", Label: "zeros", Kind: dissect.Bytes, Flags: dissect.Size,
		Unit: "bytes", Doc: "zeros in place of a message, counted in bytes"}
	defTerminator = dissect.Def{Name: "a2s.terminator", Label: "terminator", Kind: dissect.Bytes, Flags: dissect.Framing,
		Doc: "optional NUL or line feed after a ping"}
	defBody = dissect.Def{Name: "a2s.ack.body", Label: "body", Kind: dissect.Text, Flags: dissect.Prose,
		Doc: "text of a ping's answer: fourteen zeros from Source, empty from GoldSource"}
)

// S2A_INFO_SRC.
var (
	defProtocol = dissect.Def{Name: "a2s.info.protocol", Label: "protocol", Kind: dissect.Uint,
		Values: protocolName, Doc: "network protocol version of the server"}
	defName = dissect.Def{Name: "a2s.info.name", Role: dissect.ServerName, Label: "name", Kind: dissect.Text, Flags: dissect.Identifying, Doc: "server name"}
	defMap  = dissect.Def{Name: "a2s.info.map", Role: dissect.MapName, Label: "map", Kind: dissect.Text, Doc: "map being played"}
	defDir  = dissect.Def{Name: "a2s.info.folder", Label: "folder", Kind: dissect.Text, Doc: "game directory"}
	defGame = dissect.Def{Name: "a2s.info.game", Label: "game", Kind: dissect.Text,
		Doc: "description of the game, free text"}
	defAppID = dissect.Def{Name: "a2s.info.app_id", Label: "app_id", Kind: dissect.Uint,
		Values: appName, Doc: "Steam application; 0 where it needs more than 16 bits"}
	defPlayers = dissect.Def{Name: "a2s.info.players", Role: dissect.PlayerCount, Label: "players", Kind: dissect.Uint,
		Doc: "players on the server, bots included"}
	defMaxPlayers = dissect.Def{Name: "a2s.info.max_players", Role: dissect.MaxPlayers, Label: "max_players", Kind: dissect.Uint, Doc: "slots"}
	defBots       = dissect.Def{Name: "a2s.info.bots", Role: dissect.BotCount, Label: "bots", Kind: dissect.Uint, Doc: "how many of the players are bots"}
	defServerType = dissect.Def{Name: "a2s.info.server_type", Label: "server_type", Kind: dissect.Char,
		Values: dissect.ServerTypeName, Doc: "dedicated, listen or proxy"}
	defEnvironment = dissect.Def{Name: "a2s.info.environment", Label: "environment", Kind: dissect.Char,
		Values: dissect.EnvironmentName, Doc: "operating system of the server"}
	defVisibility = dissect.Def{Name: "a2s.info.visibility", Label: "visibility", Kind: dissect.Uint,
		Values: dissect.VisibilityName, Doc: "whether a password is needed"}
	defVAC  = dissect.Def{Name: "a2s.info.vac", Label: "vac", Kind: dissect.Uint, Values: dissect.SecuredName, Doc: "Valve Anti-Cheat"}
	defMode = dissect.Def{Name: "a2s.info.mode", Label: "mode", Kind: dissect.Uint, Values: modeName, Doc: "The Ship: game mode"}
	defWit  = dissect.Def{Name: "a2s.info.witnesses", Label: "witnesses", Kind: dissect.Uint,
		Doc: "The Ship: witnesses needed for an arrest"}
	defDur = dissect.Def{Name: "a2s.info.duration", Label: "duration", Kind: dissect.Uint, Unit: "s",
		Doc: "The Ship: time of exposure before an arrest"}
	defVersion = dissect.Def{Name: "a2s.info.version", Role: dissect.GameVersion, Label: "version", Kind: dissect.Text, Doc: "version of the game"}
	defEDF     = dissect.Def{Name: "a2s.info.edf", Role: dissect.ReplyForm, Label: "edf", Kind: dissect.Uint, Flags: dissect.Hex,
		Values: edfName, Doc: "extra data flags: which fields follow"}
	defPort = dissect.Def{Name: "a2s.info.port", Role: dissect.GamePort, Label: "port", Kind: dissect.Uint, Doc: "game port"}
	defSID  = dissect.Def{Name: "a2s.info.steam_id", Role: dissect.ServerID, Label: "steam_id", Kind: dissect.Uint, Flags: dissect.AsString | dissect.Identifying,
		Values: steamIDName, IsNobody: hasNoAccount, Doc: "the server's SteamID"}
	defSID3 = dissect.Def{Name: "a2s.info.steam_id3", Label: "steam_id3", Kind: dissect.Text,
		Doc: "the same as Steam writes it: [type:universe:account], with the instance where that matters"}
	defTVPort = dissect.Def{Name: "a2s.info.tv_port", Label: "tv_port", Kind: dissect.Uint, Doc: "port of SourceTV"}
	defTVName = dissect.Def{Name: "a2s.info.tv_name", Label: "tv_name", Kind: dissect.Text, Flags: dissect.Identifying, Doc: "name of SourceTV"}
	defKeys   = dissect.Def{Name: "a2s.info.keywords", Role: dissect.Tags, Label: "keywords", Kind: dissect.Text, Doc: "tags of the game (sv_tags)"}
	defGameID = dissect.Def{Name: "a2s.info.game_id", Label: "game_id", Kind: dissect.Uint, Flags: dissect.AsString,
		Values: gameIDName, Doc: "64-bit game: application in bits 0 to 23, type in 24 to 31, mod in 32 to 63"}
)

var infoFields = []*dissect.Def{&defProtocol, &defName, &defMap, &defDir, &defGame, &defAppID, &defPlayers, &defMaxPlayers, &defBots, &defServerType,
	&defEnvironment, &defVisibility, &defVAC, &defMode, &defWit, &defDur, &defVersion, &defEDF, &defPort, &defSID, &defSID3, &defTVPort, &defTVName,
	&defKeys, &defTags, &defGameID}

// S2A_PLAYER.
var (
	defPlayerCount = dissect.Def{Name: "a2s.player.count", Role: dissect.ListCount, Label: "count", Kind: dissect.Uint,
		Doc: "players that the server counts; the list may hold fewer"}
	defPlayerList = dissect.Def{Name: "a2s.player.players", Label: "players", Kind: dissect.List, Doc: "players in the reply"}
	defPlayer     = dissect.Def{Name: "a2s.player.players.player", Role: dissect.PlayerEntry, Label: "player", Kind: dissect.Group, Doc: "one player"}
	defIndex      = dissect.Def{Name: "a2s.player.players.index", Label: "index", Kind: dissect.Uint,
		Doc: "a number without a fixed meaning: 0 for all, a place or a slot, by engine"}
	defPlayerName = dissect.Def{Name: "a2s.player.players.name", Role: dissect.PlayerName, Label: "name", Kind: dissect.Text, Flags: dissect.Identifying, Doc: "player's name"}
	defScore      = dissect.Def{Name: "a2s.player.players.score", Label: "score", Kind: dissect.Int, Doc: "frags or points"}
	defDuration   = dissect.Def{Name: "a2s.player.players.duration", Role: dissect.PlayerTime, Label: "duration", Kind: dissect.Float, Unit: "s",
		Doc: "time connected; -1 marks a bot in some games"}
	defShipList = dissect.Def{Name: "a2s.player.ship", Label: "The Ship", Kind: dissect.List, Joins: &defPlayerList,
		Doc: "deaths and money, for the players above in the same order"}
	defShipPlayer = dissect.Def{Name: "a2s.player.ship.player", Label: "player", Kind: dissect.Group, Doc: "one player"}
	defDeaths     = dissect.Def{Name: "a2s.player.ship.deaths", Label: "deaths", Kind: dissect.Int, Doc: "The Ship: deaths"}
	defMoney      = dissect.Def{Name: "a2s.player.ship.money", Label: "money", Kind: dissect.Int, Doc: "The Ship: money"}
)

// S2A_RULES.
var (
	defRuleCount  = dissect.Def{Name: "a2s.rules.count", Label: "count", Kind: dissect.Uint, Doc: "rules that the server counts"}
	defRuleList   = dissect.Def{Name: "a2s.rules.rules", Label: "rules", Kind: dissect.List, Doc: "rules in the reply"}
	defRule       = dissect.Def{Name: "a2s.rules.rules.rule", Label: "rule", Kind: dissect.Group, Doc: "one rule"}
	defRuleName   = dissect.Def{Name: "a2s.rules.rules.name", Label: "name", Kind: dissect.Text, Doc: "name of the rule (cvar)"}
	defRuleValue  = dissect.Def{Name: "a2s.rules.rules.value", Label: "value", Kind: dissect.Text, Flags: dissect.Prose, Doc: "its value"}
	defRuleSecret = dissect.Def{Name: "a2s.rules.hidden.value", Label: "value", Kind: dissect.Text, Flags: dissect.Secret,
		Doc: "value of a rule that holds a password; engines tell 0 or 1 in its place"}
)

// S2A_LOGSTRING and S2A_LOGSTRING2.
var (
	defLogSecret = dissect.Def{Name: "a2s.log.secret", Label: "secret", Kind: dissect.Text, Flags: dissect.Secret,
		Doc: "what the receiver of the log knows the server by (sv_logsecret)"}
	defLine       = dissect.Def{Name: "a2s.log.line", Label: "line", Kind: dissect.Text, Flags: dissect.Prose, Doc: "line of the log, with its line feed"}
	defLineSecret = dissect.Def{Name: "a2s.log.line_secret", Label: "secret", Kind: dissect.Text, Flags: dissect.Secret, PartOf: &defLine,
		Doc: "password that the line quotes"}
	defLogBehind = dissect.Def{Name: "a2s.log.behind", Label: "behind", Kind: dissect.Bytes, Flags: dissect.Secret,
		Doc: "bytes after the end of the line, with a password in them"}
	defLogEnd = dissect.Def{Name: "a2s.log.end", Label: "end", Kind: dissect.Bytes, Flags: dissect.Framing,
		Doc: "line feeds and NULs that some servers add after a line"}
)

var defs = []*dissect.Def{
	&defHeader, &defOpcode, &defSecondHeader, &defChallenge, &defPayload, &defPadding, &defZeros, &defTerminator, &defBody,
	&defProtocol, &defName, &defMap, &defDir, &defGame, &defAppID, &defPlayers, &defMaxPlayers, &defBots,
	&defServerType, &defEnvironment, &defVisibility, &defVAC, &defMode, &defWit, &defDur, &defVersion, &defEDF,
	&defPort, &defSID, &defSID3, &defTVPort, &defTVName, &defKeys, &defGameID,
	&defPlayerCount, &defPlayerList, &defPlayer, &defIndex, &defPlayerName, &defScore, &defDuration,
	&defShipList, &defShipPlayer, &defDeaths, &defMoney,
	&defRuleCount, &defRuleList, &defRule, &defRuleName, &defRuleValue, &defRuleSecret,
	&defLogSecret, &defLine, &defLineSecret, &defLogBehind, &defLogEnd,
}

// The names of enumerated values. Each function returns constants only.

func opcodeName(v uint64) string {
	if v < uint64(len(byOpcode)) {
		if t := byOpcode[v]; t != nil {
			return t.Name
		}
	}
	return ""
}

func challengeName(v uint64) string {
	switch int64(v) {
	case -1, 0:
		return "none yet: asks for one"
	}
	return ""
}

func protocolName(v uint64) string {
	switch v {
	case 7:
		return "Source before 2009, Left 4 Dead, The Ship"
	case 17:
		return "Source, and games on Steam's API"
	case 47, 48:
		return "GoldSource"
	case 49:
		return "Xash3D"
	}
	return ""
}

func modeName(v uint64) string {
	names := [...]string{"Hunt", "Elimination", "Duel", "Deathmatch", "VIP Team", "Team Elimination"}
	if v < uint64(len(names)) {
		return names[v]
	}
	return ""
}

// edfNames lists what each combination of the extra data flags announces, in
// wire order. Made once: a field's name must be a constant.
var edfNames = func() (names [256]string) {
	for v := range names {
		for _, e := range edfFields {
			if v&e.bit == 0 {
				continue
			}
			if names[v] != "" {
				names[v] += ", "
			}
			names[v] += e.name
		}
	}
	return
}()

var edfFields = [...]struct {
	bit  int
	name string
}{
	{edfPort, "port"}, {edfSteamID, "steam_id"}, {edfTV, "tv"}, {edfKeywords, "keywords"}, {edfGameID, "game_id"},
	{edfUndefined, "undefined bits"},
}

func edfName(v uint64) string { return edfNames[v&0xff] }

// gameIDName names the application, or the type where it is not an application.
func gameIDName(v uint64) string {
	switch v >> 24 & 0xff {
	case 0:
		return appName(v & 0xff_ffff)
	case 1:
		return "game mod"
	case 2:
		return "shortcut"
	case 3:
		return "P2P file"
	}
	return ""
}

// appName names the Steam applications whose servers are often met. The list is
// for people only: nothing is decided by it.
func appName(id uint64) string {
	switch id {
	case 10:
		return "Counter-Strike"
	case 20:
		return "Team Fortress Classic"
	case 30:
		return "Day of Defeat"
	case 40:
		return "Deathmatch Classic"
	case 50:
		return "Opposing Force"
	case 60:
		return "Ricochet"
	case 70:
		return "Half-Life"
	case 80:
		return "CS: Condition Zero"
	case 130:
		return "Blue Shift"
	case 215:
		return "Source SDK Base 2006"
	case 218:
		return "Source SDK Base 2007"
	case 220:
		return "Half-Life 2"
	case 240:
		return "Counter-Strike: Source"
	case 300:
		return "Day of Defeat: Source"
	case 320:
		return "Half-Life 2: Deathmatch"
	case 360:
		return "Half-Life Deathmatch: Source"
	case 440:
		return "Team Fortress 2"
	case 500:
		return "Left 4 Dead"
	case 550:
		return "Left 4 Dead 2"
	case 630:
		return "Alien Swarm"
	case 730:
		return "Counter-Strike 2, Global Offensive"
	case 1002:
		return "Rag Doll Kung Fu"
	case 2130:
		return "Dark Messiah"
	case 2400:
		return "The Ship"
	case 2450:
		return "Bloody Good Time"
	case 4000:
		return "Garry's Mod"
	case 17500:
		return "Zombie Panic"
	case 17510:
		return "Age of Chivalry"
	case 17520:
		return "Synergy"
	case 17550:
		return "Eternal Silence"
	case 17570:
		return "Pirates, Vikings and Knights II"
	case 17700:
		return "Insurgency mod"
	case 17710:
		return "Nuclear Dawn"
	case 33930:
		return "Arma 2: Operation Arrowhead"
	case 70000:
		return "Dino D-Day"
	case 91700:
		return "E.Y.E"
	case 107410:
		return "Arma 3"
	case 108600:
		return "Project Zomboid"
	case 115300:
		return "Call of Duty: Modern Warfare 3"
	case 203290:
		return "America's Army PG"
	case 211820:
		return "Starbound"
	case 221100:
		return "DayZ"
	case 222880:
		return "Insurgency"
	case 224260:
		return "No More Room in Hell"
	case 225840:
		return "Sven Co-op"
	case 232090:
		return "Killing Floor 2"
	case 242760:
		return "The Forest"
	case 243750:
		return "Source SDK Base 2013"
	case 244630:
		return "Neotokyo"
	case 244850:
		return "Space Engineers"
	case 251570:
		return "7 Days to Die"
	case 252490:
		return "Rust"
	case 253530:
		return "Fortress Forever"
	case 265630:
		return "Fistful of Frags"
	case 282440:
		return "Quake Live"
	case 304930:
		return "Unturned"
	case 346110:
		return "ARK"
	case 362890:
		return "Black Mesa"
	case 365960:
		return "rFactor 2"
	case 393380:
		return "Squad"
	case 418460:
		return "Rising Storm 2"
	case 440900:
		return "Conan Exiles"
	case 489940:
		return "Battalion 1944"
	case 529180:
		return "Dark and Light"
	case 581320:
		return "Insurgency: Sandstorm"
	case 593600:
		return "PixARK"
	case 629760:
		return "Mordhau"
	case 686810:
		return "Hell Let Loose"
	case 736220:
		return "Post Scriptum"
	case 892970:
		return "Valheim"
	case 1604030:
		return "V Rising"
	case 1623730:
		return "Palworld"
	case 1874880:
		return "Arma Reforger"
	}
	return ""
}
