package goldsource

import "qsniff/dissect"

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
