package responder

import (
	"bytes"
	"strings"
)

// single stands before every message of the Source family in one datagram.
const single = "\xff\xff\xff\xff"

// Requests of A2S, by the byte after single.
const (
	askInfo      = 'T'
	askPlayers   = 'U'
	askRules     = 'V'
	askChallenge = 'W'
)

// A2S answers like a server that wants a challenge for every question, as most do
// since 2020. The replies are datagrams: one, or the parts of a split message.
type A2S struct {
	Challenge            [4]byte
	Info, Players, Rules [][]byte
}

// Answer returns the datagrams that answer request. Without the right challenge
// that is the challenge; a reply that is not set is silence.
func (a *A2S) Answer(request []byte) [][]byte {
	body, ok := bytes.CutPrefix(request, []byte(single))
	if !ok || len(body) == 0 {
		return nil
	}
	var reply [][]byte
	switch body[0] {
	case askInfo:
		reply = a.Info
	case askPlayers:
		reply = a.Players
	case askRules:
		reply = a.Rules
	case askChallenge:
		return [][]byte{a.challenge()}
	}
	if reply != nil && !bytes.HasSuffix(body, a.Challenge[:]) {
		return [][]byte{a.challenge()}
	}
	return reply
}

func (a *A2S) challenge() []byte {
	return append([]byte(single+"A"), a.Challenge[:]...)
}

// Words answers requests that are text: those of GoldSource, with the four bytes
// FF before them, and the letters of All-Seeing Eye. A NUL or line feed at the end
// of a request does not count.
type Words map[string][][]byte

// Answer returns the datagrams that answer request.
func (w Words) Answer(request []byte) [][]byte {
	return w[strings.TrimRight(string(request), "\x00\n")]
}

// Master answers like the Steam master server: with the page that begins after
// the address in the question. The first page is that of "0.0.0.0:0".
type Master map[string][]byte

// Answer returns the page that request asks for: '1', a region, the address and a
// filter, both ended by a NUL. What stands between address and NUL does not count:
// qstat 2.17 leaves a byte of its buffer there.
func (m Master) Answer(request []byte) [][]byte {
	if len(request) < 2 || request[0] != '1' {
		return nil
	}
	seed, _, ended := strings.Cut(string(request[2:]), "\x00")
	var page []byte
	longest := 0
	for from, p := range m {
		if ended && strings.HasPrefix(seed, from) && len(from) > longest {
			page, longest = p, len(from)
		}
	}
	if longest == 0 {
		return nil
	}
	return [][]byte{page}
}
