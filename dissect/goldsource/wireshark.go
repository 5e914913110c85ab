package goldsource

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
var plugin = dissect.Plugin{Lua: luaProbe + luaRead}
