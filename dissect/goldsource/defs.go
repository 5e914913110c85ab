package goldsource

import "qsniff/dissect"

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
