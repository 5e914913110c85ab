package rcon

import "qsniff/internal/base/console"

// secretFinder returns what finds the secrets in a text of this connection. cut is set
// where the end of the text is missing.
func (s *session) secretFinder(cut bool) console.Finder {
	return console.Finder{Passwords: &s.passwords, IsCut: cut}
}
