package a2s

import (
	"bytes"
	_ "embed"
	"encoding/binary"
	"slices"

	"qsniff/dissect"
	"qsniff/reassembly/wire"
)

// The opcodes: the byte after FF FF FF FF.
const (
	opChallenge    = 'A'
	opPlayers      = 'D'
	opRules        = 'E'
	opInfo         = 'I'
	opInfoReq      = 'T'
	opPlayersReq   = 'U'
	opRulesReq     = 'V'
	opGetChallenge = 'W'
	opPing         = 'i'
	opAck          = 'j'
	opLog          = 'R'
	opLogSecret    = 'S'
)

// Where bodies begin: after header and opcode, after two headers and the opcode,
// or after the opcode alone.
const (
	headerLen  = 4
	bodyOff    = headerLen + 1
	doubledOff = headerLen + bodyOff
	bareOff    = 1
)

// The message types.
var (
	typeInfoReq = dissect.Type{Name: "A2S_INFO", Asks: dissect.AskInfo, Wire: patterns(opInfoReq), Token: infoToken, Number: &defChallenge, Unmistakable: true,
		Doc: "asks for name, map, players, game", Summary: []*dissect.Def{&defChallenge, &defPadding},
		Fields: []*dissect.Def{&defChallenge, &defPadding}}
	typePlayersReq = dissect.Type{Name: "A2S_PLAYER", Asks: dissect.AskPlayers, Wire: patterns(opPlayersReq), Token: pageToken(opPlayersReq), Number: &defChallenge,
		Doc: "asks who plays", Summary: []*dissect.Def{&defChallenge, &defPadding},
		Fields: []*dissect.Def{&defChallenge, &defPadding}}
	typeRulesReq = dissect.Type{Name: "A2S_RULES", Asks: dissect.AskRules, Wire: patterns(opRulesReq), Token: pageToken(opRulesReq), Number: &defChallenge,
		Doc: "asks for the server's settings", Summary: []*dissect.Def{&defChallenge, &defPadding},
		Fields: []*dissect.Def{&defChallenge, &defPadding}}
	typeGetChallenge = dissect.Type{Name: "A2S_SERVERQUERY_GETCHALLENGE", Asks: dissect.AskChallenge, Wire: patterns(opGetChallenge), Obsolete: true,
		Doc:    "asks for a challenge; obsolete",
		Fields: []*dissect.Def{&defChallenge, &defPadding}}
	typePing = dissect.Type{Name: "A2A_PING", Asks: dissect.AskPing, Wire: patterns(opPing), Obsolete: true, Doc: "asks for a sign of life; obsolete"}

	typeChallenge = dissect.Type{Name: "S2C_CHALLENGE", Reply: true, Wire: replyPatterns(opChallenge), Token: &dissect.Token{FromEnd: challengeLen, Len: challengeLen}, Number: &defChallenge,
		Asks: dissect.AskInfo | dissect.AskPlayers | dissect.AskRules | dissect.AskChallenge,
		Doc:  "a number to send back", Summary: []*dissect.Def{&defChallenge},
		Fields: []*dissect.Def{&defChallenge}}
	typeInfo = dissect.Type{Name: "S2A_INFO_SRC", Reply: true, Asks: dissect.AskInfo, Wire: replyPatterns(opInfo), Unmistakable: true, Doc: "name, map, players, game",
		Summary: []*dissect.Def{&defName, &defMap, &defPlayers, &defMaxPlayers, &defTagQueue, &defGame},
		Fields:  infoFields}
	typePlayers = dissect.Type{Name: "S2A_PLAYER", Reply: true, Asks: dissect.AskPlayers, Wire: replyPatterns(opPlayers), Doc: "who plays",
		Summary: []*dissect.Def{&defPlayerCount},
		Fields:  []*dissect.Def{&defPlayerCount, &defPlayerList, &defShipList}}
	typeRules = dissect.Type{Name: "S2A_RULES", Reply: true, Asks: dissect.AskRules, Wire: replyPatterns(opRules), Doc: "the server's settings",
		Summary: []*dissect.Def{&defRuleCount},
		Fields:  []*dissect.Def{&defRuleCount, &defRuleList, &defBohemia}}
	typeAck = dissect.Type{Name: "A2A_ACK", Reply: true, Asks: dissect.AskPing, Wire: replyPatterns(opAck), Doc: "a sign of life",
		Summary: []*dissect.Def{&defBody},
		Fields:  []*dissect.Def{&defBody}}

	typeZeros = dissect.Type{Name: "ZEROS", Reply: true, Wire: wireZeros,
		Asks: dissect.AskInfo | dissect.AskPlayers | dissect.AskRules,
		Doc:  "bytes of zero in place of an answer", Summary: []*dissect.Def{&defZeros},
		Fields: []*dissect.Def{&defZeros}}

	typeLog = dissect.Type{Name: "S2A_LOGSTRING", Wire: patterns(opLog), Doc: "a line of the server's log", Summary: []*dissect.Def{&defLine},
		Fields: []*dissect.Def{&defLine, &defLineSecret, &defLogBehind}}
	typeLogSecret = dissect.Type{Name: "S2A_LOGSTRING2", Wire: patterns(opLogSecret), Doc: "a line of the server's log, with a secret in front",
		Summary: []*dissect.Def{&defLine},
		Fields:  []*dissect.Def{&defLogSecret, &defLine, &defLineSecret, &defLogBehind}}
)

var byOpcode = [256]*dissect.Type{
	opInfoReq: &typeInfoReq, opPlayersReq: &typePlayersReq, opRulesReq: &typeRulesReq,
	opGetChallenge: &typeGetChallenge, opPing: &typePing, opChallenge: &typeChallenge,
	opInfo: &typeInfo, opPlayers: &typePlayers, opRules: &typeRules, opAck: &typeAck,
	opLog: &typeLog, opLogSecret: &typeLogSecret,
}

var proto = dissect.Proto{
	Plugin: plugin,
	Name:   "a2s",
	Doc:    "Source server queries, and every game that answers them through Steam",
	Reads:  "A2S_INFO, A2S_PLAYER, A2S_RULES, their challenges and replies, ping, log lines",
	Types: []*dissect.Type{&typeInfoReq, &typePlayersReq, &typeRulesReq, &typeGetChallenge, &typePing,
		&typeChallenge, &typeInfo, &typePlayers, &typeRules, &typeAck, &typeZeros, &typeLog, &typeLogSecret},
	Defs:        slices.Concat(defs, tagDefs, bohemiaDefs),
	Usual:       keyedFields,
	Codes:       codes,
	Pairs:       pairCodes,
	Operator:    operator,
	Mark:        mark,
	Neighbours:  joins,
	Ports:       ports(),
	ClientPorts: []uint16{27005, 27006},
	Limited:     true,
	Splits:      []wire.Engine{wire.Source, wire.SourceOld, wire.None},
	// A host has servers one after another from 27015 on, those of GoldSource as well; proxies and HLTV
	// are below and above.
	SplitPorts: [2]uint16{27000, 27200},
	Console:    true,
}

// ports lists where games answer queries by default.
func ports() []uint16 {
	ps := []uint16{2303, 2305, 2457, 16261, 21025, 26900, 26901, 28015, 28016, 28017}
	for p := uint16(27000); p <= 27050; p++ {
		ps = append(ps, p)
	}
	return ps
}

// Dissector reads A2S messages. It has no state.
type Dissector struct{}

// New returns the dissector.
func New() *Dissector { return &Dissector{} }

// Proto describes the protocol.
func (*Dissector) Proto() *dissect.Proto { return &proto }

// Probe judges b by its structure.
func (*Dissector) Probe(c *dissect.Context, b []byte) (dissect.Confidence, *dissect.Type) {
	off, ok := bodyOffset(c, b)
	switch {
	case ok:
	case isEmptyAnswer(c, b) && c.FromServer.Asked&typeZeros.Asks != 0:
		return dissect.Maybe, &typeZeros
	default:
		return dissect.No, nil
	}
	t := byOpcode[b[off-1]]
	if t == nil {
		return dissect.No, nil
	}
	p := probe{b: b[off:], cut: c.Wire > len(b), length: max(c.Wire, len(b)) - off,
		asked: c.FromServer.Asked, isKnown: c.ToServer.Proto != 0}
	switch {
	case off == bareOff && !p.fitsExactly(b[off-1]), off == doubledOff && p.asked&t.Asks == 0:
		return dissect.No, nil
	case off == doubledOff:
		return min(p.rate(b[off-1]), dissect.Maybe), t
	}
	return p.rate(b[off-1]), t
}

// bodyOffset returns the offset after the opcode. A message joined from parts may
// lack the FF FF FF FF; then only the replies are accepted that have enough structure to be
// identified without it. A reply may have it twice.
func bodyOffset(c *dissect.Context, b []byte) (int, bool) {
	if len(b) >= bodyOff && wire.IsSingle(b) {
		if hasHeaderTwice(b) {
			return doubledOff, true
		}
		return bodyOff, true
	}
	if c.FromSplit != wire.None && len(b) > 1 && bytes.IndexByte([]byte{opInfo, opPlayers, opRules}, b[0]) >= 0 {
		return bareOff, true
	}
	return 0, false
}

// Dissect fills m with the message of type t in b.
func (*Dissector) Dissect(c *dissect.Context, t *dissect.Type, b []byte, m *dissect.Message) {
	cur := m.Cursor(c)
	m.Type = t
	if t == &typeZeros {
		readZeros(cur, m)
		return
	}
	off, ok := bodyOffset(c, b)
	if !ok {
		cur.I32(&defHeader)
		cur.U8(&defOpcode)
		cur.Done()
		return
	}
	if off != bareOff {
		cur.I32(&defHeader)
	}
	if off == doubledOff {
		cur.I32(&defSecondHeader)
		cur.Expert(&codeGarbage, garbageDoubled, 0)
	}
	cur.U8(&defOpcode)
	readBody(c, t, cur, m)
	cur.Done()
	if t != nil && !t.Reply {
		m.Learn.Asked = t.Asks
		m.PairBy(&defChallenge)
		if placeholderIn(uint32(m.Key)) != 0 {
			m.Key = 0
		}
		m.Form = formOf(m)
	}
}

// readBody reads what follows the opcode.
func readBody(c *dissect.Context, t *dissect.Type, cur *dissect.Cursor, m *dissect.Message) {
	switch t {
	case &typeInfoReq:
		readInfoRequest(c, cur)
	case &typePlayersReq, &typeRulesReq:
		readChallenge(cur)
	case &typeGetChallenge:
		cur.Expert(&dissect.Deprecated, 0, 0)
		readChallenge(cur)
	case &typePing:
		cur.Expert(&dissect.Deprecated, 0, 0)
		if cur.Left() == 1 {
			cur.Take(&defTerminator, 1)
		}
	case &typeChallenge:
		cur.I32(&defChallenge)
		m.PairBy(&defChallenge)
	case &typeInfo:
		readInfo(cur, m)
	case &typePlayers:
		readPlayers(c, cur)
	case &typeRules:
		readRules(c, cur)
	case &typeAck:
		if cur.Left() > 0 {
			cur.LastCString(&defBody)
		}
	case &typeLog, &typeLogSecret:
		readLogLine(cur, t == &typeLogSecret)
	}
}

// mark is what every connectionless packet of the engines begins with.
var mark = []byte{0xff, 0xff, 0xff, 0xff}

// patterns is the pattern of a message in one datagram.
func patterns(op byte) []dissect.Pattern {
	return []dissect.Pattern{dissect.Begins(string(mark) + string(rune(op)))}
}

// replyPatterns is the pattern of a reply, and that of one whose server wrote the mark twice.
func replyPatterns(op byte) []dissect.Pattern {
	twice := dissect.Begins(string(mark) + string(mark) + string(rune(op)))
	twice.IsMistake = true
	return append(patterns(op), twice)
}

// wireZeros is that of an answer which is nothing but zeros.
var wireZeros = func() []dissect.Pattern {
	p := dissect.Begins(string(make([]byte, minZeros)))
	p.IsMistake = true
	return []dissect.Pattern{p}
}()

// infoToken: A2S_INFO without a challenge is its text and a NUL.
var infoToken = &dissect.Token{FromEnd: challengeLen, Len: challengeLen,
	Plain: []dissect.Pattern{dissect.Begins(string(mark)+string(rune(opInfoReq))).Sized(infoLen, infoLen)}}

// infoLen is the length of A2S_INFO without a challenge.
const infoLen = bodyOff + len("Source Engine Query") + 1

// pageToken is that of A2S_PLAYER and A2S_RULES, which have a placeholder where there
// is no challenge.
func pageToken(op byte) *dissect.Token {
	t := &dissect.Token{FromEnd: challengeLen, Len: challengeLen}
	const pageLen = bodyOff + challengeLen
	for _, placeholder := range []string{"\x00\x00\x00\x00", "\xff\xff\xff\xff"} {
		p := dissect.Begins(string(mark) + string(rune(op)) + placeholder)
		t.Plain = append(t.Plain, p.Sized(pageLen, pageLen))
	}
	return t
}

// Settings of servers against floods. The challenge is off by default in some games, the limit in
// all; Valve suggested 25 to 75 for it.
const (
	requireChallenge = "STEAM_GAMESERVER_A2S_INFO_REQUIRE_CHALLENGE=1"
	otherSettings    = "In the server itself: STEAM_GAMESERVER_RATE_LIMIT_200MS=25 in its environment, and sv_max_queries_sec 3."
	settings         = "In the server itself: " + requireChallenge + " and STEAM_GAMESERVER_RATE_LIMIT_200MS=25" +
		" in its environment, and sv_max_queries_sec 3."
)

// joins are what Source's clients send to join: they ask for a challenge of another
// kind, and connect.
var joins = append(patterns('q'), patterns('k')...)

// operator is for those who run Source servers. A challenge costs a server next to
// nothing: later branches of the engine answer 3000 queries a second.
var operator = dissect.Operator{
	Limits:   "The engines allow 3 by default (sv_max_queries_sec); players behind one address share it.",
	Settings: settings,

	ChallengeFor: dissect.AskInfo, OtherSettings: otherSettings,
	Reflected: "The cure is the challenge, with which the answer to a forged query is smaller than the query. " + settings +
		" If these are set and answers still go out, something in front of the server answers from a cache.",
	Crowded:   "If the server has trouble answering, raise sv_max_queries_sec_global, or let a cache that checks challenges answer A2S_INFO.",
	Polled:    "If the server should have rest, sv_max_queries_sec 3 gives it.",
	Challenge: requireChallenge + " makes Source servers do it",
	Cap:       300,
}

var (
	//go:embed wireshark.lua
	luaProbe string
	//go:embed wireshark_read.lua
	luaRead string
)

// plugin is how Wireshark reads the protocol.
var plugin = dissect.Plugin{
	Lua: luaProbe + luaRead,
	Unread: []dissect.Omission{
		{Why: "made of the keywords by rules of each game; the keywords are there", Defs: tagDefs},
		{Why: "made of pages that are escaped; the rules that hold them are there", Defs: bohemiaDefs},
	},
}

// keyedFields are the fields of the messages that have a Key.
var keyedFields = []*dissect.Def{&defHeader, &defOpcode, &defPayload, &defChallenge}

// Key returns the challenge and the form of requests and challenges of the lengths that clients
// and servers send, with a challenge at their end; ok is false for every other form, which
// Dissect reads.
func (*Dissector) Key(c *dissect.Context, t *dissect.Type, b []byte) (key uint64, form dissect.Form, ok bool) {
	n := len(b)
	if c.Wire > n || n < bodyOff || hasHeaderTwice(b) {
		return 0, 0, false
	}
	plain := bodyOff
	if t == &typeInfoReq {
		if plain += len(infoText) + 1; n < plain || b[plain-1] != 0 || !bytes.HasPrefix(b[bodyOff:], infoText) {
			return 0, 0, false
		}
		if n == plain {
			return 0, dissect.NoToken, true
		}
	}
	if n != plain+challengeLen {
		return 0, 0, false
	}
	v := binary.LittleEndian.Uint32(b[plain:])
	switch t {
	case &typeInfoReq, &typePlayersReq, &typeRulesReq:
		if form = placeholderIn(v); form != 0 {
			return 0, form, true
		}
	case &typeChallenge:
	default:
		return 0, 0, false
	}
	return 1<<32 | uint64(v), 0, true
}

// placeholderIn returns the form of a request with v in place of a challenge, 0 if v is one.
func placeholderIn(v uint32) dissect.Form {
	switch v {
	case 0:
		return dissect.TokenZero
	case 0xffff_ffff:
		return dissect.TokenOnes
	}
	return 0
}

// formOf returns the form of the request in m, which Dissect has read.
func formOf(m *dissect.Message) (form dissect.Form) {
	f := m.Find(&defChallenge)
	switch {
	case f == nil:
		form = dissect.NoToken
	case f.Flags&dissect.Cut == 0:
		form = placeholderIn(uint32(f.Num))
	}
	switch after := m.Find(&dissect.Trailing); {
	case after == nil:
	case f == nil && m.Type != &typeInfoReq && after.Len > 2*challengeLen: // more than a challenge and as much again
		form = dissect.OddToken
	default:
		form = form&^dissect.NoToken | dissect.BytesAfter
	}
	if m.Find(&defPadding) != nil {
		form |= dissect.Padded
	}
	return form
}
