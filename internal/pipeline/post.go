package pipeline

import (
	"math"

	"qsniff/dissect"
	"qsniff/internal/track"
)

// postOf returns what a server reports of itself in m, by the roles of the fields, and
// whether m has any such field.
func postOf(m *dissect.Message) (post track.ServerInfo, ok bool) {
	post = track.ServerInfo{Players: -1, Max: -1}
	for i := range m.Fields {
		f := &m.Fields[i]
		if f.Def.Role == dissect.NoRole || f.Flags&dissect.Cut != 0 {
			continue
		}
		ok = ok || f.Def.Role <= dissect.Tags
		switch f.Def.Role {
		case dissect.ServerName:
			post.Name.Set(m.Bytes(f))
		case dissect.MapName:
			post.Map.Set(m.Bytes(f))
		case dissect.PlayerCount:
			post.Players = countOf(m, f)
		case dissect.MaxPlayers:
			post.Max = countOf(m, f)
		}
	}
	return post, ok
}

// profileOf returns all that a server reports of itself in m, and whether m has any of it.
func profileOf(m *dissect.Message) (p track.Profile, ok bool) {
	p = track.NoProfile()
	if p.ServerInfo, ok = postOf(m); !ok {
		return p, false
	}
	for i := range m.Fields {
		f := &m.Fields[i]
		if f.Flags&dissect.Cut != 0 {
			continue
		}
		switch f.Def.Role {
		case dissect.GameVersion:
			p.Version.Set(m.Bytes(f))
		case dissect.Tags:
			p.Tags.Set(m.Bytes(f))
		case dissect.BotCount:
			p.Bots = countOf(m, f)
		case dissect.QueueLength:
			p.Queue = countOf(m, f)
		}
	}
	return p, true
}

// gamePortOf returns where players join, as m says; 0 if it does not.
func gamePortOf(m *dissect.Message) uint16 {
	for i := range m.Fields {
		if f := &m.Fields[i]; f.Def.Role == dissect.GamePort && f.Flags&dissect.Cut == 0 {
			if n := countOf(m, f); n > 0 && n <= math.MaxUint16 {
				return uint16(n)
			}
			return 0
		}
	}
	return 0
}

// countOf returns the value of a field that counts, which some protocols write in
// decimal digits; -1 if it is no number.
func countOf(m *dissect.Message, f *dissect.Field) int32 {
	const digits = 9 // fit into an int32
	if f.Def.Kind != dissect.Text {
		return int32(min(f.Num, 1<<31-1))
	}
	b := m.Bytes(f)
	if len(b) == 0 || len(b) > digits {
		return -1
	}
	n := int32(0)
	for _, c := range b {
		if c < '0' || c > '9' {
			return -1
		}
		n = n*10 + int32(c-'0')
	}
	return n
}
