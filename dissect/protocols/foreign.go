package protocols

import (
	"strings"

	"qsniff/dissect"
)

// Foreign lists messages of games that qsniff does not decode, and that their servers are
// flooded with: those that a client sends to see a server, or to join it. A flood of them is
// named; their content is not shown. The first that fits counts.
func Foreign() []*dissect.ForeignType { return foreign }

// Where the bytes are described.
const (
	ioquake  = "ioquake3 code/server/sv_main.c (SV_ConnectionlessPacket)"
	yamagi   = "Yamagi Quake II src/server/sv_conless.c (SV_ConnectionlessPacket)"
	sdk      = "Source SDK public/engine protocol (A2S_GETCHALLENGE 'q', C2S_CONNECT 'k'); gmsv_serversecure"
	rakNet   = "RakNet Source/MessageIdentifiers.h and RakPeer.cpp (OFFLINE_MESSAGE_DATA_ID)"
	gameSpy4 = "Minecraft query protocol, after GameSpy 4; UT3 query protocol"
	teamTalk = "ReSpeak tsdeclarations, ts3protocol.md (Init1)"
	samp     = "SA-MP query mechanism"
	teeworld = "Teeworlds src/mastersrv/mastersrv.h (SERVERBROWSE_GETINFO)"
	doom3    = "Doom 3 neo/framework/async/AsyncServer.cpp (ConnectionlessMessage)"
)

const (
	// oob begins connectionless packets of the engines after Quake.
	oob = "\xff\xff\xff\xff"
	// magic is in all messages of RakNet outside of a connection.
	magic = "\x00\xff\xff\x00\xfe\xfe\xfe\xfe\xfd\xfd\xfd\xfd\x12\x34\x56\x78"
)

var foreign = []*dissect.ForeignType{
	{Name: "connect_source", Says: "joins of Source games", Joins: true, Source: sdk,
		Wire: []dissect.Pattern{dissect.Begins(oob + "qconnect"), gap(oob+"q", 4, "0000000000\x00"), versions()}},
	{Name: "getchallenge_quake3", Says: "getchallenge of the Quake family", Joins: true, Source: ioquake, Wire: word("getchallenge")},
	{Name: "connect_quake3", Says: "connect of the Quake family", Joins: true, Source: ioquake, Wire: word("connect")},
	{Name: "getinfo_quake3", Says: "getinfo of the Quake 3 family and FiveM", Source: ioquake + "; CitizenFX GetInfoOutOfBand", Wire: word("getinfo")},
	{Name: "getstatus_quake3", Says: "getstatus of the Quake 3 family and FiveM", Source: ioquake + "; CitizenFX GetStatusOutOfBand", Wire: word("getstatus")},
	{Name: "amplified_quake3", Says: "status replies of the Quake family", Reply: true, Source: ioquake + "; CISA alert TA14-017A",
		Wire: append(word("statusResponse"), word("infoResponse")...)},
	{Name: "status_quake2", Says: "status requests of Quake 2 and QuakeWorld", Source: yamagi, Wire: word("status")},
	{Name: "ping_raknet", Says: "pings of RakNet games and Minecraft Bedrock", Source: rakNet,
		Wire: []dissect.Pattern{afterTime("\x01"), afterTime("\x02")}},
	{Name: "open_connection_raknet", Says: "open connection requests of RakNet games and Minecraft Bedrock", Joins: true, Source: rakNet,
		Wire: []dissect.Pattern{dissect.Begins("\x05" + magic), dissect.Begins("\x07" + magic)}},
	{Name: "amplified_raknet", Says: "pongs of RakNet games and Minecraft Bedrock", Reply: true, Source: rakNet,
		Wire: []dissect.Pattern{gap("\x1c", 16, magic)}},
	{Name: "query_minecraft", Says: "queries of Minecraft and others after GameSpy 4", Source: gameSpy4,
		Wire: []dissect.Pattern{dissect.Begins("\xfe\xfd\x09").Sized(7, 7), dissect.Begins("\xfe\xfd\x00").Sized(7, 15)}},
	{Name: "init_teamspeak", Says: "handshakes of TeamSpeak 3", Joins: true, Source: teamTalk,
		Wire: []dissect.Pattern{dissect.Begins("TS3INIT1\x00\x65\x00\x00\x88")}},
	{Name: "query_samp", Says: "queries of SA-MP", Source: samp, Wire: []dissect.Pattern{dissect.Begins("SAMP").Sized(11, 15)}},
	{Name: "getinfo_teeworlds", Says: "info requests of Teeworlds", Source: teeworld,
		Wire: []dissect.Pattern{dissect.Begins(strings.Repeat("\xff", 10) + "gie")}},
	{Name: "getinfo_doom3", Says: "getInfo of Doom 3 and its relatives", Source: doom3, Wire: []dissect.Pattern{dissect.Begins("\xff\xffgetInfo\x00")}},
}

// word is a connectionless packet that begins with a word, in letters of either case.
func word(w string) []dissect.Pattern { return []dissect.Pattern{dissect.BeginsFold(oob + w)} }

// gap is the pattern of payloads that begin with one text and have another after n bytes.
func gap(first string, n int, then string) dissect.Pattern {
	ones := func(s string) string { return strings.Repeat("\xff", len(s)) }
	rest := strings.Repeat("\x00", n)
	return dissect.BeginsMasked(first+rest+then, ones(first)+rest+ones(then))
}

// afterTime is a ping of RakNet: its type, a time of eight bytes, and the magic.
func afterTime(kind string) dissect.Pattern { return gap(kind, 8, magic) }

// versions is what Source's clients connect with: two numbers below 256, of the protocol
// and of the authentication, in four bytes each.
func versions() dissect.Pattern {
	const number = "\x00\x00\x00\x00"
	return dissect.BeginsMasked(oob+"k"+number+number, "\xff\xff\xff\xff\xff\x00\xff\xff\xff\x00\xff\xff\xff")
}

// ForeignStreams lists protocols over TCP that other programs speak at ports where ours are
// met. A connection of one is named, and its content is not shown.
func ForeignStreams() []*dissect.ForeignType { return foreignStreams }

var foreignStreams = []*dissect.ForeignType{
	{Name: "message_mongodb", Says: "messages of MongoDB", Source: "MongoDB Wire Protocol (OP_MSG 2013, OP_QUERY 2004)",
		Wire: []dissect.Pattern{opcode("\xdd\x07\x00\x00"), opcode("\xd4\x07\x00\x00")}},
}

// opcode is the pattern of a message of MongoDB that a client sends: length, number and what it
// answers, which is nothing, and the opcode.
func opcode(op string) dissect.Pattern {
	p := dissect.Begins("\x00\x00\x00\x00" + op)
	p.Offset = 8
	return p
}
