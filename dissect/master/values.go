package master

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
