package dissect

// Plugin is how Wireshark reads a protocol. Its reader is Lua and stands beside the Go that it
// repeats; what the two share, fields, types and findings, is made of the Proto: see
// internal/render/wireshark.
type Plugin struct {
	// Lua sets probe and read of P, the protocol as the runtime has it, and for
	// streams claims, frame, typeOf and gap.
	Lua string
	// Unread lists what it leaves to qsniff.
	Unread []Omission
}

// Omission is fields that a Plugin does not read, with the reason in words.
type Omission struct {
	Why  string
	Defs []*Def
}
