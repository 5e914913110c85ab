package rcon

import (
	_ "embed"

	"qsniff/dissect"
)

// A packet.
var (
	defSize = dissect.Def{Name: "rcon.size", Label: "size", Kind: dissect.Int, Unit: "bytes",
		Doc: "bytes after this number: id, type, body and two NULs"}
	defID = dissect.Def{Name: "rcon.id", Label: "id", Kind: dissect.Int, Values: idName,
		Doc: "number that the client chose; the reply repeats it, -1 refuses a password"}
	defType = dissect.Def{Name: "rcon.type", Label: "type", Kind: dissect.Int,
		Doc: "kind of packet; 2 is a command from the client and the answer to a password from the server"}
	defBody = dissect.Def{Name: "rcon.body", Label: "body", Kind: dissect.Text, Flags: dissect.Prose,
		Doc: "command, or its output"}
	defBodySecret = dissect.Def{Name: "rcon.body_secret", Label: "secret", Kind: dissect.Text, Flags: dissect.Secret, PartOf: &defBody,
		Doc: "password in a command or in its output"}
	defPassword = dissect.Def{Name: "rcon.auth.body", Label: "body", Kind: dissect.Text, Flags: dissect.Secret,
		Doc: "password for the server's console, or what may be one"}
	defTerminators = dissect.Def{Name: "rcon.terminators", Label: "terminators", Kind: dissect.Bytes, Flags: dissect.Framing,
		Doc: "the NUL after the body and the empty text after that"}
	defHidden = dissect.Def{Name: "rcon.unread", Label: "not decoded", Kind: dissect.Bytes, Flags: dissect.Secret,
		Doc: "bytes where a packet should begin, with what may be a password in them"}
	defRole = dissect.Def{Name: "rcon.role", Label: "role", Kind: dissect.Text,
		Doc: "what a packet without an own answer is for: probe, mirror, trailer, keepalive, push"}
	defPart = dissect.Def{Name: "rcon.part", Label: "part", Kind: dissect.Uint,
		Doc: "which packet of its reply this is, from the second on"}
)

// A reply that came in several packets.
var (
	defReplyID = dissect.Def{Name: "rcon.reply.id", Label: "id", Kind: dissect.Int,
		Doc: "number that the packets of the reply carry"}
	defReplyCommand = dissect.Def{Name: "rcon.reply.command", Label: "command", Kind: dissect.Text, Flags: dissect.Prose,
		Doc: "start of the command that the reply belongs to, up to a password in it"}
	defReplyParts = dissect.Def{Name: "rcon.reply.parts", Label: "parts", Kind: dissect.Uint,
		Doc: "packets of the reply"}
	defReplyLength = dissect.Def{Name: "rcon.reply.length", Label: "length", Kind: dissect.Uint, Unit: "bytes",
		Doc: "length of the bodies together, with what was not kept"}
	defReplyEndedBy = dissect.Def{Name: "rcon.reply.ended_by", Label: "ended_by", Kind: dissect.Text,
		Doc: "what showed that the reply was over: mirror, trailer, next reply, connection end"}
	defReplyBody = dissect.Def{Name: "rcon.reply.body", Label: "body", Kind: dissect.Text, Flags: dissect.Prose,
		Doc: "the bodies, joined"}
	defReplyBodySecret = dissect.Def{Name: "rcon.reply.body_secret", Label: "secret", Kind: dissect.Text, Flags: dissect.Secret, PartOf: &defReplyBody,
		Doc: "password in the output"}
)

var defs = []*dissect.Def{
	&defSize, &defID, &defType, &defBody, &defBodySecret, &defPassword, &defTerminators, &defHidden, &defRole, &defPart,
	&defReplyID, &defReplyCommand, &defReplyParts, &defReplyLength, &defReplyEndedBy, &defReplyBody, &defReplyBodySecret,
}

// idName names the one id that has a meaning of its own.
func idName(v uint64) string {
	if int32(v) == failedID {
		return "refused"
	}
	return ""
}

// packetFields are those of any packet: one of any type can be a login whose start is missing.
var packetFields = []*dissect.Def{&defSize, &defID, &defType, &defRole, &defPart, &defBody, &defBodySecret, &defPassword, &defHidden}

//go:embed wireshark.lua
var lua string

// plugin is how Wireshark reads the protocol.
var plugin = dissect.Plugin{
	Lua: lua,
	Unread: []dissect.Omission{
		{Why: "needs the requests before, and the order in which servers answer", Defs: []*dissect.Def{&defRole, &defPart}},
		{Why: "joins several packets; each of them is there", Defs: []*dissect.Def{&defReplyID, &defReplyCommand,
			&defReplyParts, &defReplyLength, &defReplyEndedBy, &defReplyBody, &defReplyBodySecret}},
	},
}
