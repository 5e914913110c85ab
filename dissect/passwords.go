package dissect

import (
	"bytes"

	"qsniff/internal/base/console"
)

// setPassword is the least length of a password that a command sets, in bytes. Chosen:
// "sv_password 0" sets none, and later texts are searched for the value, where a
// shorter one occurs by chance.
const setPassword = 4

// CollectPasswords adds to said, the passwords of m's connection, those that m holds or may
// hold: that of a login, and those that a command sets.
func (m *Message) CollectPasswords(said *console.Passwords) {
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

// KeepTail adds the text of definition d, with the secrets in it, to a tail. isPart is set where it
// continues the text before. A message without such a text adds nothing.
func (m *Message) KeepTail(t *console.Tail, d *Def, isPart bool) {
	for i := range m.Fields {
		if x := m.Fields[i].Def; x == d || x.PartOf == d {
			n := i
			for n+1 < len(m.Fields) && (m.Fields[n+1].Def == d || m.Fields[n+1].Def.PartOf == d) {
				n++
			}
			t.Add(m.Joined(i, n-i+1), isPart, m.Fields[n].Def.PartOf == d)
			return
		}
	}
}

var quote = []byte{'"'}
