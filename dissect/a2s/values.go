package a2s

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
