package rcon

import (
	_ "embed"

	"qsniff/dissect"
)

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
