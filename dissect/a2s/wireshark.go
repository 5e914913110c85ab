package a2s

import (
	_ "embed"

	"qsniff/dissect"
)

var (
	//go:embed wireshark.lua
	luaProbe string
	//go:embed wireshark_read.lua
	luaRead string
)

// plugin is how Wireshark reads the protocol.
var plugin = dissect.Plugin{
	Lua: luaProbe + luaRead,
	Unread: []dissect.Omission{
		{Why: "made of the keywords by rules of each game; the keywords are there", Defs: tagDefs},
		{Why: "made of pages that are escaped; the rules that hold them are there", Defs: bohemiaDefs},
	},
}
