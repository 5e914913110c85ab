package console

import "bytes"

// common lists words that are met in the texts of all consoles: names of commands, and what
// engines write about them, players and logins. They say nothing about who wrote the text.
var common = func() map[string]bool {
	words := map[string]bool{}
	for _, w := range bytes.Fields([]byte(`
		accepted account active add address addons admin after alive all allow already and any ask asked attack authenticated auth
		bad ban banid bans bot bots but buy by cannot cfg challenge changelevel chat client clients command commands config connect
		connected console crash cvar cvarlist damage death default denied description disconnect disconnected does done down echo empty
		end ended enter entered entry error exec exit failed file find for forever found frags free from full game get give global
		group has have headshot help host hostname ids info invalid item join joined keep kick kicked killed last left level limit list
		listening live load loaded log logaddress logged logging login lost main map maps max maxplayers message minutes mode
		name need net network next not off old one only open option or other out password period ping player playerlist players please
		plugin plugins port print private protected public query quit reason record refused reload remove request reset restart result
		role round rules run running sample save say score seconds secret secure send sent server servers set show shutdown sorry source
		spectator start started stats status steam stop success suicide team terrorist text the this time timeleft timelimit to token too
		total triggered type unban unknown unnamed unset until update uptime use user userid users value variable version vote wait warn
		warning was welcome with world writing wrong you your`)) {
		words[string(w)] = true
	}
	for _, n := range names {
		words[n.text] = true
	}
	return words
}()

// IsCommonWord reports whether a word, without digits and signs, is one that texts of
// consoles have wherever they are from, or is a part of the name of a secret.
func IsCommonWord(w []byte) bool {
	var buf [32]byte
	if len(w) > len(buf) {
		return false
	}
	low := buf[:len(w)]
	for i, c := range w {
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		low[i] = c
	}
	if common[string(low)] {
		return true
	}
	for i := range names {
		if n := &names[i]; n.longer != ordinary && bytes.HasSuffix(low, []byte(n.text)) || n.text == string(low) {
			return true
		}
	}
	return false
}
