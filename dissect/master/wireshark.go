package master

import (
	_ "embed"

	"qsniff/dissect"
)

//go:embed wireshark.lua
var lua string

// plugin is how Wireshark reads the protocol.
var plugin = dissect.Plugin{
	Lua: lua,
	Unread: []dissect.Omission{{Why: "made of the filter, which is there",
		Defs: []*dissect.Def{&defConditions, &defCondition, &defKey, &defValue, &defGroup}}},
}
