package a2s

import (
	"strconv"

	"qsniff/dissect"
)

// A SteamID: account in bits 0 to 31, instance in 32 to 51, type in 52 to 55,
// universe in 56 to 63.
type steamID uint64

func (id steamID) account() uint64  { return uint64(id) & 0xffff_ffff }
func (id steamID) instance() uint64 { return uint64(id) >> 32 & 0xf_ffff }
func (id steamID) kind() uint64     { return uint64(id) >> 52 & 0xf }
func (id steamID) universe() uint64 { return uint64(id) >> 56 }

// hasNoAccount reports whether an id is what servers write before they are logged on.
func hasNoAccount(id uint64) bool { return steamID(id).account() == 0 || steamID(id).universe() == 0 }

// The account types that matter here.
const (
	kindPlayer    = 1
	kindAnonymous = 4
)

// steamKinds has the name of each account type, and the letter that Steam writes
// it with.
var steamKinds = [...]struct {
	name   string
	letter byte
}{
	{"invalid", 'I'}, {"player", 'U'}, {"multiseat", 'M'}, {"persistent game server", 'G'}, {"anonymous game server", 'A'},
	{"pending", 'P'}, {"content server", 'C'}, {"group", 'g'}, {"chat", 'T'}, {"console user", 0}, {"anonymous player", 'a'},
}

// steamIDName names the account type.
func steamIDName(v uint64) string {
	id := steamID(v)
	switch kind := id.kind(); {
	case v == 0:
		return "none"
	case kind == kindAnonymous && id.account() == 0:
		return "anonymous game server, not logged on"
	case kind < uint64(len(steamKinds)):
		return steamKinds[kind].name
	}
	return ""
}

// addSteamID3 adds the SteamID just read as Steam writes it for people: [G:1:123].
// The instance follows where it distinguishes two accounts.
func addSteamID3(cur *dissect.Cursor, v uint64, at dissect.Extent) {
	id := steamID(v)
	kind := id.kind()
	if v == 0 || kind >= uint64(len(steamKinds)) || steamKinds[kind].letter == 0 {
		return
	}
	var buf [32]byte
	b := append(buf[:0], '[', steamKinds[kind].letter, ':')
	b = strconv.AppendUint(b, id.universe(), 10)
	b = append(b, ':')
	b = strconv.AppendUint(b, id.account(), 10)
	const desktop = 1 // the instance of every player
	if kind == kindAnonymous || kind == kindPlayer && id.instance() != desktop {
		b = append(b, ':')
		b = strconv.AppendUint(b, id.instance(), 10)
	}
	p := cur.Parts(at)
	p.Text(&defSID3, at, append(b, ']'))
}
