package pipeline

import (
	"qsniff/dissect"
	"qsniff/internal/base/lru"
	"qsniff/internal/track"
)

// addSaid adds to the span of a reply in a datagram what it says of its server, by the roles of
// its fields, and the form in which it came.
func (e *emitter) addSaid(s *payload, m *dissect.Message, x *span) {
	f := &x.fact
	if s.from != nil {
		f.TTL = e.now.item.TTL
	}
	f.IsSplit = s.set != nil
	if f.IsSplit && !s.set.Compressed && !isFormInferred(s.set) {
		f.Engine, f.PartSize = s.set.Engine, s.set.Size
	}
	if m.Type == nil || m.Status != dissect.Complete || !m.Type.Asks.Has(dissect.AskInfo|dissect.AskPlayers) || m.Type.Asks.Has(dissect.AskChallenge) {
		return
	}
	seg := e.now.seg
	seg.said = append(seg.said, track.Said{Form: -1, Players: -1, Max: -1, Bots: -1, TagPlayers: -1, List: track.PlayerList{Counted: -1}})
	x.said = int32(len(seg.said))
	readSaid(m, &seg.said[x.said-1], e.now.seed)
}

// readSaid fills in what a reply says, with hashes of a seed.
func readSaid(m *dissect.Message, said *track.Said, seed uint64) {
	if m.Type.Asks.Has(dissect.AskInfo) {
		said.Print = lru.MixBytes(seed, m.Data) | 1
	}
	name := seed // hash of the name of the player at hand
	for i := range m.Fields {
		f := &m.Fields[i]
		switch f.Def.Role {
		case dissect.NoRole:
		case dissect.MapName:
			said.Map = lru.MixBytes(seed, m.Bytes(f)) | 1
		case dissect.PlayerCount:
			said.Players = countOf(m, f)
		case dissect.MaxPlayers:
			said.Max = countOf(m, f)
		case dissect.BotCount:
			said.Bots = countOf(m, f)
		case dissect.TagPlayerCount:
			said.TagPlayers = countOf(m, f)
		case dissect.ReplyForm:
			said.Form = countOf(m, f)
		case dissect.ServerID:
			if f.Def.IsNobody == nil || !f.Def.IsNobody(f.Num) {
				said.ID = f.Num
			}
		case dissect.ListCount:
			said.List.Counted = countOf(m, f)
		case dissect.PlayerEntry:
			said.List.Listed++
			name = seed
		case dissect.PlayerName:
			if b := m.Bytes(f); len(b) > 0 {
				name = lru.MixBytes(seed, b)
				said.List.Named++
				said.List.Names += name
			}
		case dissect.PlayerTime:
			addTime(&said.List, f, name)
		}
	}
}

// longestTime is the longest time of a player that is believed, in seconds: three years.
const longestTime = 1e8

// addTime adds the time of the player whose name has a hash.
func addTime(l *track.PlayerList, f *dissect.Field, name uint64) {
	v, _ := f.Float()
	l.Times += lru.Mix(name, f.Num)
	if !(v > 0 && v < longestTime) { // also what is no number
		return
	}
	nanos := int64(v * 1e9)
	if l.Timed == 0 {
		l.Shortest, l.Longest = nanos, nanos
	}
	l.Timed++
	l.Shortest, l.Longest = min(l.Shortest, nanos), max(l.Longest, nanos)
}
