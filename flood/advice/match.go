package advice

import (
	"fmt"

	"qsniff/dissect"
	"qsniff/flood"
	"qsniff/track"
)

// This file is all that advice knows of what protocols look like on the wire, three
// times over: of a sighting, for the trial, as nft writes it, and as iptables' u32 does.
// The tests hold the three against each other, and the kernel against them.

// line is a kind of line.
type line uint8

const (
	lineSources line = iota // drop what named sources send
	lineQueries             // limit the queries of each source
	lineFirst               // cap the queries that nobody had to prove anything for
	lineVictims             // stop feeding named victims
	lineOthers              // limit what each other one is fed
	lineUnasked             // cap replies
	lineJunk                // cap what begins like a query and is none
	lineLogins              // limit the attempts of each source to log in
)

// isPerSource reports whether every source has a bucket of its own.
func (l line) isPerSource() bool { return l == lineQueries || l == lineOthers || l == lineLogins }

// speech is what the lines have to recognize.
type speech uint8

const (
	speaksAny speech = iota // whatever begins with FF FF FF FF
	speaksA2S
	speaksGoldSource // its words: "details"
	speaksASE
	speaksMaster
	speaksRcon // in datagrams, as GoldSource has it
)

var speeches = map[string]speech{"a2s": speaksA2S, "goldsource": speaksGoldSource, "ase": speaksASE,
	"master": speaksMaster, "rcon": speaksRcon}

// letterOf is the byte after FF FF FF FF in a packet, 0 if that is not known.
func letterOf(s *track.Sighting) byte {
	if s.Type == nil {
		return 0
	}
	return s.Type.Letter
}

// wire is what a packet to or from the target looks like.
type wire struct {
	speech   speech
	tcp, six bool
}

// isOneOf reports whether a letter is one of a list.
func isOneOf(letter byte, list string) bool {
	for i := range len(list) {
		if list[i] == letter {
			return letter != 0
		}
	}
	return false
}

// matches reports whether the lines of a rule look at a packet: what the text of nft
// says of its bytes, said of a sighting.
func (w wire) matches(l line, s *track.Sighting, letter byte, named bool) bool {
	tcp := s.Flags&track.Connection != 0
	if tcp != w.tcp {
		return false
	}
	switch l {
	case lineSources:
		// Over TCP the lines look at what opens a connection.
		return named && (!tcp || s.What == track.IsOpened)
	case lineVictims:
		return named
	case lineQueries:
		return w.isQuery(s, letter)
	case lineFirst:
		return w.isFirst(s, letter)
	case lineOthers:
		return w.speech == speaksASE || w.isReply(s, letter, dataLetters)
	case lineUnasked:
		return s.What == track.IsPart && w.hasParts() || w.isReply(s, letter, replyLetters)
	case lineJunk:
		// Of junk a sighting has no letter: counted as if none of it were a known one.
		return s.What == track.IsJunk
	}
	return s.What == track.IsOpened || asksRcon(s) // lineLogins
}

// queryLetters, dataLetters and replyLetters are what the lines look for after
// FF FF FF FF, see the texts of nft.
const (
	queryLetters = "TUVWi"
	dataLetters  = "DEIm"
	replyLetters = "ADEIjm"
)

func isOf(s *track.Sighting, name string) bool { return s.Proto != nil && s.Proto.Name == name }

func (w wire) isQuery(s *track.Sighting, letter byte) bool {
	switch w.speech {
	case speaksA2S:
		return isOneOf(letter, queryLetters)
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
func (w wire) isFirst(s *track.Sighting, letter byte) bool {
	if w.speech != speaksA2S {
		return w.isQuery(s, letter)
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

func (w wire) isReply(s *track.Sighting, letter byte, letters string) bool {
	switch w.speech {
	case speaksASE:
		return s.What == track.IsReply && isOf(s, "ase") && s.Asks&dissect.AskVersion == 0
	case speaksMaster:
		return letter == 'f'
	}
	return isOneOf(letter, letters)
}

// hasParts reports whether replies come in parts that begin with FE FF FF FF.
func (w wire) hasParts() bool { return w.speech <= speaksGoldSource }

func asksRcon(s *track.Sighting) bool {
	return s.What == track.IsRequest && s.Asks&dissect.AskRcon != 0 && isOf(s, "goldsource")
}

// isAbout reports whether a packet is of the sort that the incident is about.
func (w wire) isAbout(kind flood.Kind, s *track.Sighting, letter byte) bool {
	switch kind {
	case flood.JunkFlood:
		return s.What == track.IsJunk || s.What == track.IsOther
	case flood.Reflection, flood.ReplyFloodVictim:
		return s.What == track.IsReply || s.What == track.IsPart || s.What == track.IsChallenge
	case flood.RconBruteforce:
		return s.What == track.IsOpened || asksRcon(s)
	}
	return s.What == track.IsRequest || w.isQuery(s, letter)
}

// What the lines look at: @th counts bits from the UDP header, which has 64.
const (
	nftMark    = "@th,64,32 0xffffffff "
	nftQueries = nftMark + "@th,96,8 { 0x54-0x57, 0x69 } "
	nftWords   = nftMark + "@th,96,32 { 0x64657461, 0x696e666f, 0x6e657469, \\\n" +
		"      0x70696e67, 0x706c6179, 0x72756c65 } " // deta info neti ping play rule
	nftRcon    = "@th,64,64 0xffffffff72636f6e " // rcon
	nftServers = "@th,64,8 { 0x31, 0x63, 0x65 } "
	nftJoins   = nftMark + "@th,96,8 != { 0x54-0x57, 0x63, 0x64, 0x67, \\\n" +
		"      0x69, 0x6b, 0x6c, 0x6e, 0x70-0x72 } "
)

// matching is the lines of a rule, without what they do.
func (w wire) nftMatches(l line) []string {
	switch l {
	case lineQueries:
		return w.nftQueriesOf()
	case lineFirst:
		if w.speech == speaksA2S {
			return []string{"udp length 33 @th,64,40 0xffffffff54 ", // A2S_INFO of 25 bytes
				"udp length 17 " + nftMark + "@th,96,8 { 0x55, 0x56 } \\\n" +
					"      @th,104,32 { 0x00000000, 0xffffffff } ", // a placeholder for the challenge
				"@th,64,40 0xffffffff57 "}
		}
		return w.nftQueriesOf()
	case lineOthers:
		return w.nftRepliesOf("0x44, 0x45, 0x49, 0x6d", "")
	case lineUnasked:
		m := w.nftRepliesOf("0x41, 0x44, 0x45, 0x49, \\\n      0x6a, 0x6d", "@th,64,32 { 0x45594531-0x45594533 } ")
		if w.hasParts() {
			m = append(m, "@th,64,32 0xfeffffff ")
		}
		return m
	case lineJunk:
		return []string{nftJoins}
	}
	if w.tcp { // lineLogins: the hook let nothing else through
		return []string{""}
	}
	return []string{nftRcon}
}

func (w wire) nftQueriesOf() []string {
	switch w.speech {
	case speaksA2S:
		return []string{nftQueries}
	case speaksGoldSource:
		return []string{nftWords}
	case speaksASE:
		return []string{"udp length 9 "}
	case speaksMaster:
		return []string{nftServers}
	case speaksRcon:
		return []string{nftRcon}
	}
	return []string{nftMark}
}

func (w wire) nftRepliesOf(letters, eye string) []string {
	switch w.speech {
	case speaksASE:
		return []string{eye}
	case speaksMaster:
		return []string{"@th,64,40 0xffffffff66 "}
	}
	return []string{nftMark + "@th,96,8 { " + letters + " } "}
}

// at is where u32 finds four bytes, by their offset from the UDP header: after the
// header of IPv4, however long, or of IPv6 without extensions.
func (w wire) at(offset int) string {
	if w.six {
		return fmt.Sprint(40 + offset)
	}
	return fmt.Sprintf("0>>22&0x3C@%d", offset)
}

// letter is the test for FF FF FF FF and one of some letters. It takes the letter
// as the last of four bytes: a message may end with it.
func (w wire) letter(letters string) string {
	return w.mark() + "&&" + w.at(9) + "&0xFF=" + letters
}

func (w wire) mark() string { return w.at(8) + "=0xFFFFFFFF" }

// length is the test for a payload's length; the match counts the IP header, taken
// to be without options.
func (w wire) length(payload int) string {
	headers := 28
	if w.six {
		headers = 48
	}
	return fmt.Sprintf("-m length --length %d ", headers+payload)
}

func u32(tests string) string { return fmt.Sprintf("-m u32 --u32 %q ", tests) }

// matches is the lines of a rule, without what they do.
func (w wire) u32Matches(l line) []string {
	switch l {
	case lineQueries:
		return w.u32Queries()
	case lineFirst:
		if w.speech == speaksA2S {
			return []string{w.length(infoBytes) + u32(w.letter("0x54")),
				w.length(pageBytes) + u32(w.letter("0x55:0x56")+"&&"+w.at(13)+"=0,0xFFFFFFFF"),
				u32(w.letter("0x57"))}
		}
		return w.u32Queries()
	case lineOthers:
		return w.u32Replies("0x44,0x45,0x49,0x6D", "")
	case lineUnasked:
		m := w.u32Replies("0x41,0x44,0x45,0x49,0x6A,0x6D", u32(w.at(8)+"=0x45594531:0x45594533"))
		if w.hasParts() {
			m = append(m, u32(w.at(8)+"=0xFEFFFFFF"))
		}
		return m
	case lineJunk:
		return []string{u32(w.mark())}
	}
	if w.tcp {
		return []string{""}
	}
	return []string{u32(w.mark() + "&&" + w.at(12) + "=0x72636F6E")}
}

func (w wire) u32Queries() []string {
	switch w.speech {
	case speaksA2S:
		return []string{u32(w.letter("0x54:0x57,0x69"))}
	case speaksGoldSource:
		return []string{u32(w.mark() + "&&" + w.at(12) +
			"=0x64657461,0x696E666F,0x6E657469,0x70696E67,0x706C6179,0x72756C65")}
	case speaksASE:
		return []string{w.length(1)}
	case speaksMaster:
		return []string{u32(w.at(5) + "&0xFF=0x31,0x63,0x65")}
	}
	return []string{u32(w.mark())}
}

func (w wire) u32Replies(letters, eye string) []string {
	switch w.speech {
	case speaksASE:
		return []string{eye}
	case speaksMaster:
		return []string{u32(w.letter("0x66"))}
	}
	return []string{u32(w.letter(letters))}
}
