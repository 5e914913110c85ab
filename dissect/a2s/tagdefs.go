package a2s

import "qsniff/dissect"

// What games write into the keywords. One definition serves all games that say the
// same thing, whatever letters they use.
var (
	defTags  = dissect.Def{Name: "a2s.info.tags", Label: "tags", Kind: dissect.Group, Flags: dissect.Experimental, Doc: "what the keywords say in this game"}
	defWords = dissect.Def{Name: "a2s.info.tags.words", Label: "words", Kind: dissect.List, Doc: "keywords that are nothing else here"}
	defWord  = dissect.Def{Name: "a2s.info.tags.words.word", Label: "word", Kind: dissect.Text, Doc: "one of them"}

	defTagPlayers    = dissect.Def{Name: "a2s.info.tags.players", Role: dissect.TagPlayerCount, Label: "players", Kind: dissect.Uint, Doc: "Rust: players, counted with more than one byte"}
	defTagMaxPlayers = dissect.Def{Name: "a2s.info.tags.max_players", Label: "max_players", Kind: dissect.Uint, Doc: "Rust: slots, counted with more than one byte"}
	defTagQueue      = dissect.Def{Name: "a2s.info.tags.queue", Role: dissect.QueueLength, Label: "queue", Kind: dissect.Uint, Doc: "Rust, DayZ: players who wait for a slot"}
	defTagProtocol   = dissect.Def{Name: "a2s.info.tags.protocol", Label: "protocol", Kind: dissect.Uint, Doc: "Rust: network protocol of the game"}
	defTagBorn       = dissect.Def{Name: "a2s.info.tags.born", Label: "born", Kind: dissect.Uint, Doc: "Rust: when the map began, in seconds since 1970"}
	defTagMode       = dissect.Def{Name: "a2s.info.tags.mode", Label: "mode", Kind: dissect.Text, Doc: "Rust: game mode"}
	defTagHash       = dissect.Def{Name: "a2s.info.tags.hash", Label: "hash", Kind: dissect.Text, Doc: "Rust, Arma 3: hash of the content, hexadecimal"}
	defTagPT         = dissect.Def{Name: "a2s.info.tags.pt", Label: "pt", Kind: dissect.Text, Doc: "Rust: network layer (pt)"}

	defTagBattlEye = dissect.Def{Name: "a2s.info.tags.battleye", Label: "battleye", Kind: dissect.Uint, Values: yesNo, Doc: "Arma 3, DayZ: BattlEye is on"}
	defTagRequired = dissect.Def{Name: "a2s.info.tags.required_version", Label: "required_version", Kind: dissect.Uint,
		Doc: "Arma 3: version that players need, times 100"}
	defTagBuild      = dissect.Def{Name: "a2s.info.tags.build", Label: "build", Kind: dissect.Uint, Doc: "build of the game; Arma 3: the one that players need, 0 for any"}
	defTagState      = dissect.Def{Name: "a2s.info.tags.state", Label: "state", Kind: dissect.Uint, Values: armaStateName, Doc: "Arma 3: what the server does"}
	defTagDifficulty = dissect.Def{Name: "a2s.info.tags.difficulty", Label: "difficulty", Kind: dissect.Int, Values: difficultyName,
		Doc: "Arma 3: preset of the difficulty; -1 without a mission"}
	defTagEqualMods = dissect.Def{Name: "a2s.info.tags.equal_mods", Label: "equal_mods", Kind: dissect.Uint, Values: yesNo, Doc: "Arma 3: players need the same mods"}
	defTagLock      = dissect.Def{Name: "a2s.info.tags.lock", Label: "lock", Kind: dissect.Uint, Values: yesNo, Doc: "Arma 3: nobody may join"}
	defTagVerify    = dissect.Def{Name: "a2s.info.tags.verify_signatures", Label: "verify_signatures", Kind: dissect.Uint, Values: yesNo,
		Doc: "Arma 3: files of players are checked"}
	defTagDedicated = dissect.Def{Name: "a2s.info.tags.dedicated", Label: "dedicated", Kind: dissect.Uint, Values: yesNo, Doc: "Arma 3: dedicated server"}
	defTagGameType  = dissect.Def{Name: "a2s.info.tags.game_type", Label: "game_type", Kind: dissect.Text, Doc: "Arma 3: type of the mission"}
	defTagLanguage  = dissect.Def{Name: "a2s.info.tags.language", Label: "language", Kind: dissect.Uint, Doc: "Arma 3: language of the server, a number of the game"}
	defTagLongitude = dissect.Def{Name: "a2s.info.tags.longitude", Label: "longitude", Kind: dissect.Int, Values: placeName, Unit: "degrees",
		Doc: "Arma 3: where the server says it stands"}
	defTagLatitude = dissect.Def{Name: "a2s.info.tags.latitude", Label: "latitude", Kind: dissect.Int, Values: placeName, Unit: "degrees",
		Doc: "Arma 3: where the server says it stands"}
	defTagPlatform = dissect.Def{Name: "a2s.info.tags.platform", Label: "platform", Kind: dissect.Char, Values: dissect.EnvironmentName,
		Doc: "Arma 3: operating system of the server"}
	defTagMinutes  = dissect.Def{Name: "a2s.info.tags.minutes_left", Label: "minutes_left", Kind: dissect.Uint, Unit: "min", Doc: "Arma 3: until the mission ends"}
	defTagPatching = dissect.Def{Name: "a2s.info.tags.file_patching", Label: "file_patching", Kind: dissect.Uint,
		Doc: "Arma 3: who may run changed files; 0: nobody"}
	defTagCountry = dissect.Def{Name: "a2s.info.tags.country", Label: "country", Kind: dissect.Text, Doc: "Arma 3: country of the server"}
	defTagIsland  = dissect.Def{Name: "a2s.info.tags.island", Label: "island", Kind: dissect.Text, Doc: "Arma 3: island of the mission"}
	defTagParam1  = dissect.Def{Name: "a2s.info.tags.param1", Label: "param1", Kind: dissect.Int, Doc: "Arma 3: first parameter of the mission"}
	defTagParam2  = dissect.Def{Name: "a2s.info.tags.param2", Label: "param2", Kind: dissect.Int, Doc: "Arma 3: second parameter of the mission"}

	defTagNo3rd     = dissect.Def{Name: "a2s.info.tags.no3rd", Label: "no3rd", Kind: dissect.Uint, Values: yesNo, Doc: "DayZ: no third person view"}
	defTagExternal  = dissect.Def{Name: "a2s.info.tags.external", Label: "external", Kind: dissect.Uint, Values: yesNo, Doc: "DayZ: not run by the maker"}
	defTagPrivate   = dissect.Def{Name: "a2s.info.tags.private_hive", Label: "private_hive", Kind: dissect.Uint, Values: yesNo, Doc: "DayZ: characters are the server's own"}
	defTagShard     = dissect.Def{Name: "a2s.info.tags.shard", Label: "shard", Kind: dissect.Text, Doc: "DayZ: servers that share characters"}
	defTagTime      = dissect.Def{Name: "a2s.info.tags.time_acceleration", Label: "time_accel", Kind: dissect.Float, Doc: "DayZ: how much faster days pass"}
	defTagNight     = dissect.Def{Name: "a2s.info.tags.night_time_acceleration", Label: "night_accel", Kind: dissect.Float, Doc: "DayZ: how much faster nights pass, on top of that"}
	defTagMod       = dissect.Def{Name: "a2s.info.tags.mod", Label: "mod", Kind: dissect.Uint, Values: yesNo, Doc: "DayZ: players need mods"}
	defTagPort      = dissect.Def{Name: "a2s.info.tags.port", Label: "port", Kind: dissect.Uint, Doc: "DayZ: game port"}
	defTagAllowed   = dissect.Def{Name: "a2s.info.tags.allowed_file_patching", Label: "file_patching", Kind: dissect.Uint, Values: yesNo, Doc: "DayZ: players may run changed files"}
	defTagWhitelist = dissect.Def{Name: "a2s.info.tags.whitelisting", Label: "whitelisting", Kind: dissect.Uint, Values: yesNo, Doc: "DayZ: only listed players may join"}
	defTagDLC       = dissect.Def{Name: "a2s.info.tags.dlc", Label: "dlc", Kind: dissect.Uint, Values: yesNo, Doc: "DayZ: players need a DLC"}
	defTagClock     = dissect.Def{Name: "a2s.info.tags.time", Label: "time", Kind: dissect.Text, Doc: "DayZ: time of day in the game, HH:MM"}

	defTagGamemode = dissect.Def{Name: "a2s.info.tags.gamemode", Label: "gamemode", Kind: dissect.Text, Doc: "Garry's Mod: game mode"}
	defTagWorkshop = dissect.Def{Name: "a2s.info.tags.workshop_id", Label: "workshop_id", Kind: dissect.Uint, Flags: dissect.AsString,
		Doc: "Garry's Mod: game mode in the Steam Workshop"}
	defTagCategory = dissect.Def{Name: "a2s.info.tags.category", Label: "category", Kind: dissect.Text, Doc: "Garry's Mod: kind of game mode"}
	defTagLocation = dissect.Def{Name: "a2s.info.tags.location", Label: "location", Kind: dissect.Text, Doc: "Garry's Mod: country of the server"}
	defTagVersion  = dissect.Def{Name: "a2s.info.tags.version", Label: "version", Kind: dissect.Text, Doc: "Garry's Mod: version of the game"}

	defTagOwner = dissect.Def{Name: "a2s.info.tags.owning_id", Label: "owning_id", Kind: dissect.Uint, Flags: dissect.AsString | dissect.Identifying,
		Values: steamIDName, Doc: "Unreal Engine: SteamID of who opened the session"}
	defTagOwnerName   = dissect.Def{Name: "a2s.info.tags.owning_name", Label: "owning_name", Kind: dissect.Text, Flags: dissect.Identifying, Doc: "Unreal Engine: name of who opened the session"}
	defTagOpen        = dissect.Def{Name: "a2s.info.tags.open_public", Label: "open_public", Kind: dissect.Uint, Doc: "Unreal Engine: free slots for everybody"}
	defTagOpenPrivate = dissect.Def{Name: "a2s.info.tags.open_private", Label: "open_private", Kind: dissect.Uint, Doc: "Unreal Engine: free slots for who is invited"}
	defTagP2PAddr     = dissect.Def{Name: "a2s.info.tags.p2p_addr", Label: "p2p_addr", Kind: dissect.Text, Flags: dissect.Identifying, Doc: "Unreal Engine: address in Steam's network, a SteamID"}
	defTagP2PPort     = dissect.Def{Name: "a2s.info.tags.p2p_port", Label: "p2p_port", Kind: dissect.Uint, Doc: "Unreal Engine: port of the game"}
	defTagSession     = dissect.Def{Name: "a2s.info.tags.session_flags", Label: "session_flags", Kind: dissect.Uint, Flags: dissect.Hex, Doc: "Unreal Engine: settings of the session, a bit each"}

	defTagGroup = dissect.Def{Name: "a2s.info.tags.group", Label: "group", Kind: dissect.Uint, Doc: "Source: number of the Steam group that the server belongs to"}
)

var tagDefs = []*dissect.Def{
	&defTags, &defWords, &defWord, &defTagPlayers, &defTagMaxPlayers, &defTagQueue, &defTagProtocol, &defTagBorn, &defTagMode, &defTagHash, &defTagPT,
	&defTagBattlEye, &defTagRequired, &defTagBuild, &defTagState, &defTagDifficulty, &defTagEqualMods, &defTagLock, &defTagVerify,
	&defTagDedicated, &defTagGameType, &defTagLanguage, &defTagLongitude, &defTagLatitude, &defTagPlatform, &defTagMinutes, &defTagPatching,
	&defTagCountry, &defTagIsland, &defTagParam1, &defTagParam2,
	&defTagNo3rd, &defTagExternal, &defTagPrivate, &defTagShard, &defTagTime, &defTagNight, &defTagMod, &defTagPort, &defTagAllowed, &defTagWhitelist,
	&defTagDLC, &defTagClock, &defTagGamemode, &defTagWorkshop, &defTagCategory, &defTagLocation, &defTagVersion,
	&defTagOwner, &defTagOwnerName, &defTagOpen, &defTagOpenPrivate, &defTagP2PAddr, &defTagP2PPort, &defTagSession, &defTagGroup,
}

// armaStateName names the states that the maker's documentation lists.
func armaStateName(v uint64) string {
	names := [...]string{"no server", "selecting mission", "editing mission", "assigning roles", "sending mission",
		"loading game", "briefing", "playing", "debriefing", "mission aborted"}
	if v < uint64(len(names)) {
		return names[v]
	}
	return ""
}

// placeName names the numbers that are no place: servers that do not know theirs
// send the least or the greatest of some width.
func placeName(v uint64) string {
	const farthest = 180 // degrees
	if n := int64(v); n < -farthest || n > farthest {
		return "not known"
	}
	return ""
}
