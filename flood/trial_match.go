package flood

import (
	"qsniff/dissect"
	"qsniff/track"
)

// letterOf is the byte behind FF FF FF FF in a packet, 0 if that is not known.
func letterOf(s *track.Sighting) byte {
	if s.Type == nil {
		return 0
	}
	return s.Type.Letter
}

// oneOf tells whether a letter is one of a list.
func oneOf(letter byte, list string) bool {
	for i := range len(list) {
		if list[i] == letter {
			return letter != 0
		}
	}
	return false
}

// matches tells whether the lines of a rule look at a packet: what the text of nft
// says of its bytes, said of a sighting.
func (r *planRule) matches(p *plan, s *track.Sighting, letter byte, named bool) bool {
	tcp := s.Flags&track.Connection != 0
	if tcp != p.tcp {
		return false
	}
	switch r.line {
	case lineSources:
		// Over TCP the lines look at what opens a connection.
		return named && (!tcp || s.What == track.IsOpened)
	case lineVictims:
		return named
	case lineQueries:
		return p.isQuery(s, letter)
	case lineFirst:
		return p.isFirst(s, letter)
	case lineOthers:
		return p.speech == speaksASE || p.isReply(s, letter, dataLetters)
	case lineUnasked:
		return s.What == track.IsPart && p.splits() || p.isReply(s, letter, replyLetters)
	case lineJunk:
		// Of junk a sighting has no letter: counted as if none of it were a known one.
		return s.What == track.IsJunk
	}
	return s.What == track.IsOpened || asksRcon(s) // lineLogins
}

// queryLetters, dataLetters and replyLetters are what the lines look for behind
// FF FF FF FF, see the texts of nft.
const (
	queryLetters = "TUVWi"
	dataLetters  = "DEIm"
	replyLetters = "ADEIjm"
)

func isOf(s *track.Sighting, name string) bool { return s.Proto != nil && s.Proto.Name == name }

func (p *plan) isQuery(s *track.Sighting, letter byte) bool {
	switch p.speech {
	case speaksA2S:
		return oneOf(letter, queryLetters)
	case speaksGoldSource:
		const words = dissect.AskInfo | dissect.AskPlayers | dissect.AskRules | dissect.AskPing
		return s.What == track.IsRequest && s.Asks&words != 0 && isOf(s, "goldsource")
	case speaksASE:
		return s.Bytes == 1
	case speaksMaster:
		return s.What == track.IsRequest && s.Asks&dissect.AskServers != 0 && isOf(s, "master")
	case speaksRcon:
		return asksRcon(s)
	}
	return s.What == track.IsJunk || letter != 0 || isOf(s, "goldsource")
}

// isFirst is isQuery without what brings a challenge back. A2S_INFO has 25 bytes
// without a challenge, the other two have a placeholder.
func (p *plan) isFirst(s *track.Sighting, letter byte) bool {
	if p.speech != speaksA2S {
		return p.isQuery(s, letter)
	}
	switch letter {
	case 'T':
		return s.Bytes == infoBytes
	case 'U', 'V':
		return s.Bytes == pageBytes && s.Flags&(track.HasKey|track.Cut) == 0
	}
	return letter == 'W'
}

const (
	infoBytes = 25 // FF FF FF FF 54 "Source Engine Query" 00
	pageBytes = 9  // FF FF FF FF 55 and a challenge
)

func (p *plan) isReply(s *track.Sighting, letter byte, letters string) bool {
	switch p.speech {
	case speaksASE:
		return s.What == track.IsReply && isOf(s, "ase") && s.Asks&dissect.AskVersion == 0
	case speaksMaster:
		return letter == 'f'
	}
	return oneOf(letter, letters)
}

// splits tells whether replies come in parts that begin with FE FF FF FF.
func (p *plan) splits() bool { return p.speech <= speaksGoldSource }

func asksRcon(s *track.Sighting) bool {
	return s.What == track.IsRequest && s.Asks&dissect.AskRcon != 0 && isOf(s, "goldsource")
}

// counts tells whether a packet is of the sort that the incident is about.
func (p *plan) counts(s *track.Sighting, letter byte) bool {
	switch p.kind {
	case JunkFlood:
		return s.What == track.IsJunk || s.What == track.IsOther
	case Reflection, ReplyFloodVictim:
		return s.What == track.IsReply || s.What == track.IsPart || s.What == track.IsChallenge
	case RconBruteforce:
		return s.What == track.IsOpened || asksRcon(s)
	}
	return s.What == track.IsRequest || p.isQuery(s, letter)
}
