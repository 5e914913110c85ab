package ase

import (
	_ "embed"

	"qsniff/dissect"
)

//go:embed wireshark.lua
var lua string

// plugin is how Wireshark reads the protocol.
var plugin = dissect.Plugin{Lua: lua}
