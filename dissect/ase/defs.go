package ase

import (
	"qsniff/dissect"
)

// Requests, and what the replies share.
var (
	defQuery = dissect.Def{Name: "ase.query", Label: "query", Kind: dissect.Char, Values: queryName,
		Doc: "what the client asks for"}
	defText = dissect.Def{Name: "ase.text", Label: "text", Kind: dissect.Text, Flags: dissect.Prose,
		Doc: "what follows the letter of a request; servers ignore it"}
	defHeader = dissect.Def{Name: "ase.header", Label: "header", Kind: dissect.Text, Flags: dissect.Framing,
		Doc: "EYE1, EYE2 or EYE3: the kind of reply; in a fragment its number"}
	defPiece = dissect.Def{Name: "ase.piece", Label: "piece", Kind: dissect.Bytes, Flags: dissect.Framing | dissect.Secret,
		Doc: "part of a reply that lacks its beginning; a setting in it may be a password"}

	defGame = dissect.Def{Name: "ase.game", Label: "game", Kind: dissect.Text, Doc: "short name of the game: mta, farcry"}
	defPort = dissect.Def{Name: "ase.port", Role: dissect.GamePort, Label: "port", Kind: dissect.Text,
		Doc: "port of the game; queries usually go to this plus 123"}
	defName     = dissect.Def{Name: "ase.name", Role: dissect.ServerName, Label: "name", Kind: dissect.Text, Flags: dissect.Identifying, Doc: "server name"}
	defGametype = dissect.Def{Name: "ase.gametype", Label: "gametype", Kind: dissect.Text, Doc: "game mode, free text"}
	defMap      = dissect.Def{Name: "ase.map", Role: dissect.MapName, Label: "map", Kind: dissect.Text, Doc: "map being played"}
	defVersion  = dissect.Def{Name: "ase.version", Role: dissect.GameVersion, Label: "version", Kind: dissect.Text, Doc: "version of the game"}
)

// EYE1: everything is text.
var (
	defFullPassword = dissect.Def{Name: "ase.full.password", Label: "password", Kind: dissect.Text,
		Doc: "whether a password is needed: 0 or 1"}
	defFullSecret = dissect.Def{Name: "ase.full.hidden.password", Label: "password", Kind: dissect.Text, Flags: dissect.Secret,
		Doc: "the same, where it is neither 0 nor 1: it may be the password"}
	defFullPlayers = dissect.Def{Name: "ase.full.players", Role: dissect.PlayerCount, Label: "players", Kind: dissect.Text, Doc: "players on the server"}
	defFullMax     = dissect.Def{Name: "ase.full.max_players", Role: dissect.MaxPlayers, Label: "max_players", Kind: dissect.Text, Doc: "slots"}

	defRules      = dissect.Def{Name: "ase.full.rules", Label: "rules", Kind: dissect.List, Doc: "settings of the server"}
	defRule       = dissect.Def{Name: "ase.full.rules.rule", Label: "rule", Kind: dissect.Group, Doc: "one setting"}
	defRuleName   = dissect.Def{Name: "ase.full.rules.name", Label: "name", Kind: dissect.Text, Doc: "name of the setting"}
	defRuleValue  = dissect.Def{Name: "ase.full.rules.value", Label: "value", Kind: dissect.Text, Flags: dissect.Prose, Doc: "its value"}
	defRuleSecret = dissect.Def{Name: "ase.full.rules.hidden.value", Label: "value", Kind: dissect.Text, Flags: dissect.Secret,
		Doc: "value of a setting that holds a password, other than 0 and 1"}
	defRulesEnd = dissect.Def{Name: "ase.full.end_of_rules", Label: "end of rules", Kind: dissect.Bytes, Flags: dissect.Framing,
		Doc: "an empty name ends the settings"}

	defList   = dissect.Def{Name: "ase.full.player_list", Label: "player_list", Kind: dissect.List, Doc: "players in the reply"}
	defPlayer = dissect.Def{Name: "ase.full.player_list.player", Label: "player", Kind: dissect.Group, Doc: "one player"}
	defFlags  = dissect.Def{Name: "ase.full.player_list.flags", Label: "flags", Kind: dissect.Uint, Flags: dissect.Framing | dissect.Hex,
		Values: flagsName, Doc: "which texts follow for this player"}
	defPlayerName  = dissect.Def{Name: "ase.full.player_list.name", Label: "name", Kind: dissect.Text, Flags: dissect.Identifying, Doc: "player's name"}
	defPlayerTeam  = dissect.Def{Name: "ase.full.player_list.team", Label: "team", Kind: dissect.Text, Flags: dissect.Identifying, Doc: "team; empty from MTA"}
	defPlayerSkin  = dissect.Def{Name: "ase.full.player_list.skin", Label: "skin", Kind: dissect.Text, Flags: dissect.Identifying, Doc: "skin; empty from MTA"}
	defPlayerScore = dissect.Def{Name: "ase.full.player_list.score", Label: "score", Kind: dissect.Text, Doc: "points"}
	defPlayerPing  = dissect.Def{Name: "ase.full.player_list.ping", Label: "ping", Kind: dissect.Text, Doc: "round-trip time in ms"}
	defPlayerTime  = dissect.Def{Name: "ase.full.player_list.time", Label: "time", Kind: dissect.Text,
		Doc: "time connected, as the game writes it: 8m, 1:23"}
	defPlayersEnd = dissect.Def{Name: "ase.end_of_players", Label: "end of players", Kind: dissect.Bytes, Flags: dissect.Framing,
		Doc: "a byte of 0 where a player's flags or name should be"}
)

// EYE2 and EYE3.
var (
	defMapLength = dissect.Def{Name: "ase.light.map_length", Label: "map length", Kind: dissect.Uint, Flags: dissect.Framing,
		Unit: "bytes", Doc: "length of the map and what follows it, this byte included"}
	defOnline = dissect.Def{Name: "ase.light.online", Label: "online", Kind: dissect.Text,
		Doc: "players and slots without the limit of a byte: 2/32"}
	defBuildType   = dissect.Def{Name: "ase.light.build_type", Label: "build_type", Kind: dissect.Text, Doc: "kind of build; 9 is a release"}
	defBuildNumber = dissect.Def{Name: "ase.light.build_number", Label: "build_number", Kind: dissect.Text, Doc: "number of the build"}
	defPingStatus  = dissect.Def{Name: "ase.light.ping_status", Label: "ping_status", Kind: dissect.Text, Flags: dissect.Prose,
		Doc: "a text of MTA's network module, meaning unknown"}
	defNetRoute = dissect.Def{Name: "ase.light.net_route", Label: "net_route", Kind: dissect.Text, Flags: dissect.Prose,
		Doc: "a text of MTA's network module, meaning unknown"}
	defUptime   = dissect.Def{Name: "ase.light.uptime", Label: "uptime", Kind: dissect.Text, Doc: "seconds since the server started"}
	defHTTPPort = dissect.Def{Name: "ase.light.http_port", Label: "http_port", Kind: dissect.Text, Doc: "port of the server's downloads"}
	defExtras   = dissect.Def{Name: "ase.light.extras", Label: "extras", Kind: dissect.List, Flags: dissect.Experimental,
		Doc: "items after the map that are not known"}
	defExtra = dissect.Def{Name: "ase.light.extras.extra", Label: "extra", Kind: dissect.Text, Flags: dissect.Prose, Doc: "one of them"}

	defPassword = dissect.Def{Name: "ase.light.password", Label: "password", Kind: dissect.Uint, Values: passwordName,
		Doc: "whether a password is needed"}
	defSerials = dissect.Def{Name: "ase.light.serials", Label: "serials", Kind: dissect.Uint, Values: serialsName,
		Doc: "whether the server verifies serials"}
	defPlayers = dissect.Def{Name: "ase.light.players", Role: dissect.PlayerCount, Label: "players", Kind: dissect.Uint, Values: cappedName,
		Doc: "players on the server, 255 at most"}
	defMax       = dissect.Def{Name: "ase.light.max_players", Role: dissect.MaxPlayers, Label: "max_players", Kind: dissect.Uint, Values: cappedName, Doc: "slots, 255 at most"}
	defNames     = dissect.Def{Name: "ase.light.player_list", Label: "player_list", Kind: dissect.List, Doc: "players in the reply"}
	defNameGroup = dissect.Def{Name: "ase.light.player_list.player", Label: "player", Kind: dissect.Group, Doc: "one player"}
	defNick      = dissect.Def{Name: "ase.light.player_list.name", Label: "name", Kind: dissect.Text, Flags: dissect.Identifying,
		Doc: "player's name; empty where the datagram had no room for it"}
)

var defs = []*dissect.Def{
	&defQuery, &defText, &defHeader, &defPiece, &defGame, &defPort, &defName, &defGametype, &defMap, &defVersion,
	&defFullPassword, &defFullSecret, &defFullPlayers, &defFullMax, &defRules, &defRule, &defRuleName, &defRuleValue, &defRuleSecret, &defRulesEnd,
	&defList, &defPlayer, &defFlags, &defPlayerName, &defPlayerTeam, &defPlayerSkin, &defPlayerScore, &defPlayerPing,
	&defPlayerTime, &defPlayersEnd, &defMapLength, &defOnline, &defBuildType, &defBuildNumber, &defPingStatus,
	&defNetRoute, &defUptime, &defHTTPPort, &defExtras, &defExtra, &defPassword, &defSerials, &defPlayers, &defMax,
	&defNames, &defNameGroup, &defNick,
}

// Names of values, for Def.Values: constants only.

func queryName(v uint64) string {
	switch v {
	case queryFull:
		return "everything"
	case queryLight:
		return "short form for browsers"
	case queryRelease:
		return "short form for browsers, asked by a release"
	case queryXfire:
		return "shortest form, for Xfire"
	case queryVersion:
		return "version"
	case queryPing:
		return "ping; no answer is known"
	}
	return ""
}

func flagsName(v uint64) string {
	switch v {
	case 0x3f:
		return "name, team, skin, score, ping, time"
	case 0x01:
		return "name"
	}
	return ""
}

func passwordName(v uint64) string {
	switch v {
	case 0:
		return "not needed"
	case 1:
		return "needed"
	}
	return ""
}

func serialsName(v uint64) string {
	switch v {
	case 0:
		return "not verified"
	case 1:
		return "verified"
	}
	return ""
}

func cappedName(v uint64) string {
	if v == byteLimit {
		return "or more: see online"
	}
	return ""
}
