package example

import (
	"qsniff/dissect"
	"qsniff/dissect/finding"
)

const headLen, tokenLen = 3, 4

// The fields. Names are output format, in JSON and in columns.
var (
	defHead    = dissect.Def{Name: "example.head", Label: "head", Kind: dissect.Text, Flags: dissect.Framing, Doc: "which message follows"}
	defToken   = dissect.Def{Name: "example.token", Label: "token", Kind: dissect.Uint, Flags: dissect.Hex, Doc: "number to bring back"}
	defName    = dissect.Def{Name: "example.name", Label: "name", Kind: dissect.Text, Flags: dissect.Identifying, Role: dissect.ServerName, Doc: "name of the server"}
	defMap     = dissect.Def{Name: "example.map", Label: "map", Kind: dissect.Text, Role: dissect.MapName, Doc: "map that is played"}
	defPlayers = dissect.Def{Name: "example.players", Label: "players", Kind: dissect.Uint, Role: dissect.PlayerCount, Doc: "who plays"}
	defMax     = dissect.Def{Name: "example.max", Label: "max players", Kind: dissect.Uint, Role: dissect.MaxPlayers, Doc: "who can play"}
)

// Findings. codeCrowded is raised here, about one message; codeIgnored by
// package track, which pairs messages.
var (
	codeCrowded = finding.Code{ID: "XMP-01", Severity: finding.Note, Fault: finding.Server,
		Seen: "more players than the server has room for", Means: "a plugin invents players", Owner: "switch the plugin off", Client: "do not trust the numbers", Text: says("more players than room")}
	codeIgnored = finding.Code{ID: "XMP-02", Severity: finding.Error, Fault: finding.Client,
		Seen: "a query without the token that its client was given", Means: "the client cannot read challenges", Owner: "nothing: the query is wrong", Client: "bring the token back", Text: says("the token is not brought back")}
)

func says(sentence string) func([]byte, *finding.Expert) []byte {
	return func(dst []byte, _ *finding.Expert) []byte { return append(dst, sentence...) }
}

// begins is the pattern of a message of n bytes; an n of 0 is any number.
func begins(head string, n int) dissect.Pattern {
	return dissect.Begins(head).Sized(max(n, headLen), n)
}

// The message types: what they look like, what they ask for, where the token lies. What
// gives a token answers AskChallenge, and the questions in whose place it is given.
var (
	typeQuery = dissect.Type{Name: "EXAMPLE_QUERY", Doc: "asks for information", Asks: dissect.AskInfo,
		Wire:    []dissect.Pattern{begins("XQi", headLen), begins("XQi", headLen+tokenLen)},
		Token:   &dissect.Token{FromEnd: tokenLen, Len: tokenLen, Plain: []dissect.Pattern{begins("XQi", headLen)}},
		Summary: []*dissect.Def{&defToken},
		Fields:  []*dissect.Def{&defToken}}
	typeChallenge = dissect.Type{Name: "EXAMPLE_CHALLENGE", Doc: "a token to bring back", Reply: true, Asks: dissect.AskInfo | dissect.AskChallenge,
		Wire:    []dissect.Pattern{begins("XRc", headLen+tokenLen)},
		Token:   &dissect.Token{FromEnd: tokenLen, Len: tokenLen},
		Summary: []*dissect.Def{&defToken},
		Fields:  []*dissect.Def{&defToken}}
	typeInfo = dissect.Type{Name: "EXAMPLE_INFO", Doc: "name, map, players", Reply: true, Asks: dissect.AskInfo,
		Wire:    []dissect.Pattern{begins("XRi", 0)},
		Summary: []*dissect.Def{&defName, &defMap, &defPlayers, &defMax},
		Fields:  []*dissect.Def{&defName, &defMap, &defPlayers, &defMax}}
)

var proto = dissect.Proto{Name: "example", Doc: "the template of a protocol", Reads: "information and its challenge", Ports: []uint16{4040},
	Types: []*dissect.Type{&typeQuery, &typeChallenge, &typeInfo}, Defs: []*dissect.Def{&defHead, &defToken, &defName, &defMap, &defPlayers, &defMax},
	Codes: []*finding.Code{&codeCrowded, &codeIgnored}, Pairs: dissect.PairCodes{Ignored: &codeIgnored},
	Operator: dissect.Operator{Settings: "In the server itself: challenge = on.", Cap: 300}}

// Dissector reads the messages. It has no state.
type Dissector struct{}

// New returns the dissector.
func New() *Dissector { return &Dissector{} }

// Proto describes the protocol.
func (*Dissector) Proto() *dissect.Proto { return &proto }

// Probe reports what b is, by its bytes alone; where c says that the capture cut b, by
// its length on the wire.
func (*Dissector) Probe(c *dissect.Context, b []byte) (dissect.Confidence, *dissect.Type) {
	for _, t := range proto.Types {
		if t.Matches(b, max(c.Wire, len(b))) {
			return dissect.Likely, t
		}
	}
	return dissect.No, nil
}

// Dissect reads b with the cursor of m and with nothing else: a cursor does not read
// beyond the end, and gives every byte to one field.
func (*Dissector) Dissect(c *dissect.Context, t *dissect.Type, b []byte, m *dissect.Message) {
	cur := m.Cursor(c)
	m.Type = t
	cur.Take(&defHead, headLen)
	switch {
	case t == &typeQuery && cur.LeftOnWire() == 0: // asks for a token
	case t == &typeQuery, t == &typeChallenge:
		cur.U32(&defToken)
		m.PairBy(&defToken)
	case t == &typeInfo:
		cur.CString(&defName)
		cur.CString(&defMap)
		players := cur.U8(&defPlayers)
		if room := cur.U8(&defMax); cur.OK() && players > room {
			cur.Expert(&codeCrowded, uint64(players), uint64(room))
		}
	}
	cur.Done() // what is left is a field, too
	if t == &typeQuery {
		m.Learn.Asked = t.Asks
	}
}
