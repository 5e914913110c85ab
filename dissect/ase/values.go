package ase

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
