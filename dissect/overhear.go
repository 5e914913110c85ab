package dissect

import (
	"bytes"

	"qsniff/internal/console"
)

// setPassword is from how many bytes on what a command sets is a password:
// "sv_password 0" sets none.
const setPassword = 4

// Overhear adds the passwords in m, and what may be some, to those of its connection:
// that of a login, and those that a command sets.
func (m *Message) Overhear(said *console.Passwords) {
	for i := range m.Fields {
		f := &m.Fields[i]
		if f.Def.Flags&Secret == 0 || f.Def.Kind == Bytes {
			continue
		}
		b := m.Bytes(f)
		if f.Def.Kind != Text || f.Def.PartOf != nil {
			b = bytes.Trim(b, " \t\"'")
		}
		if f.Def.PartOf == nil || len(b) >= setPassword {
			said.Add(b, f.Flags&Cut != 0)
		}
		// a request that no client writes: all of it is hidden, and this is the password
		if _, rest, ok := bytes.Cut(b, quote); ok && len(rest) > 0 {
			inner, _, closed := bytes.Cut(rest, quote)
			said.Add(inner, !closed)
		}
	}
}

var quote = []byte{'"'}
