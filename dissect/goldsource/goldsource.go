package goldsource

import (
	"bytes"
	_ "embed"
	"slices"

	"qsniff/dissect"
	"qsniff/dissect/finding"
	"qsniff/reassembly/wire"
)

const (
	opDetailed = 'm'
	opInfo     = 'C'

	headerLen = 4
	bodyOff   = headerLen + 1
)

var (
	typeDetailed = dissect.Type{Name: "S2A_INFO_DETAILED", Reply: true, Asks: dissect.AskInfo, Wire: letterPatterns(opDetailed), Unmistakable: true,
		Doc:     "name, map, players, mod",
		Summary: []*dissect.Def{&defName, &defMap, &defPlayers, &defMaxPlayers, &defGame},
		Fields:  detailedFields}
	typeInfo = dissect.Type{Name: "S2A_INFO", Reply: true, Asks: dissect.AskInfo, Wire: letterPatterns(opInfo), Unmistakable: true,
		Doc:     "name, map, players; the oldest form",
		Summary: []*dissect.Def{&defName, &defMap, &defPlayers, &defMaxPlayers, &defGame},
		Fields:  []*dissect.Def{&defAddress, &defName, &defMap, &defDir, &defGame, &defPlayers, &defMaxPlayers, &defProtocol, &defSpectators, &defSpecSlots}}
)

var proto = dissect.Proto{
	Plugin: plugin,
	Name:   "goldsource",
	Doc:    "forms that only GoldSource engines, HLTV and Xash3D have, and what came in their split format",
	Reads:  "GoldSource's and HLTV's own information, text queries and their replies, challenges, UDP rcon, log lines",
	Types: []*dissect.Type{&typeDetailed, &typeInfo,
		&typePing, &typeInfoReq, &typeInfostring, &typeDetails, &typePlayers, &typeRules, &typeListen, &typeNetinfo,
		&typeGetChallenge, &typeRconChallengeReq, &typeRcon,
		&typeInfostringReply, &typeXashInfo, &typeConnectChallenge, &typeRconChallenge, &typePrint,
		&typeProxyListen, &typeProxyRedirect, &typeLog},
	Defs:        slices.Concat(defs, textDefs),
	Ports:       ports(),
	ClientPorts: []uint16{27005, 27006},
	Limited:     true,
	Splits:      []wire.Engine{wire.GoldSource},
	Console:     true,
	Mark:        []byte(mark),
	Neighbours:  joins,
	Operator:    operator,
	Codes:       []*finding.Code{&codeOldConsole},
	Pairs:       dissect.PairCodes{OldConsole: &codeOldConsole, WrongPort: &dissect.WrongPort},
}

// ports lists where servers are by default: the first free one from 27015 on,
// and HLTV from 27020 on.
func ports() []uint16 {
	var ps []uint16
	for p := uint16(27015); p <= 27050; p++ {
		ps = append(ps, p)
	}
	return ps
}

// Dissector reads GoldSource messages. It has no state.
type Dissector struct {
	shared dissect.Dissector
}

// New returns the dissector. shared reads the messages that both engines send
// alike: joined from GoldSource parts, they are reported as GoldSource's.
func New(shared dissect.Dissector) *Dissector { return &Dissector{shared: shared} }

// Proto describes the protocol.
func (*Dissector) Proto() *dissect.Proto { return &proto }

// Probe judges b by its structure: words first, because opcodes are letters.
func (d *Dissector) Probe(c *dissect.Context, b []byte) (dissect.Confidence, *dissect.Type) {
	if k, t := rateText(c, b); k != dissect.No {
		return k, t
	}
	op, off, ok := opcode(c, b)
	switch {
	case ok && op == opDetailed:
		return rateInformation(b[off:], c.Wire-off, fixedDetailed), &typeDetailed
	case ok && op == opInfo && off == bodyOff:
		return rateInformation(b[off:], c.Wire-off, fixedInfo), &typeInfo
	case c.FromSplit == wire.GoldSource:
		return d.shared.Probe(c, b)
	}
	return dissect.No, nil
}

// rateText rates messages of text.
func rateText(c *dissect.Context, b []byte) (dissect.Confidence, *dissect.Type) {
	if _, off, ok := opcode(c, b); !ok || off != bodyOff {
		return dissect.No, nil
	}
	t := newText(c, b)
	k, typ, word := t.rateWord()
	if !word {
		k, typ = t.rateLetter()
	}
	switch {
	case k == dissect.No:
		return k, nil
	case k == dissect.Maybe && c.FromSplit == wire.GoldSource: // the split format is the second witness
		k = dissect.Likely
	}
	return k, typ
}

// opcode returns the opcode and the offset after it. A joined message may lack
// the FF FF FF FF.
func opcode(c *dissect.Context, b []byte) (op byte, off int, ok bool) {
	if len(b) >= bodyOff && wire.IsSingle(b) {
		return b[headerLen], bodyOff, true
	}
	if c.FromSplit != wire.None && len(b) > 1 {
		return b[0], 1, true
	}
	return 0, 0, false
}

// Dissect fills m with the message of type t in b.
func (d *Dissector) Dissect(c *dissect.Context, t *dissect.Type, b []byte, m *dissect.Message) {
	if t != nil && !slices.Contains(proto.Types, t) {
		d.shared.Dissect(c, t, b, m)
		m.Proto = &proto
		m.Learn.Engine = wire.GoldSource
		return
	}
	cur := m.Cursor(c)
	m.Type = t
	if _, off, _ := opcode(c, b); off != 1 {
		cur.I32(&defHeader)
	}
	switch t {
	case nil:
		cur.U8(&defOpcode)
	case &typeDetailed, &typeInfo:
		m.Learn.Engine = wire.GoldSource
		readInformation(cur, t)
	default:
		readText(c, cur, m)
	}
	cur.Done()
	if t != nil && !t.Reply {
		m.Learn.Asked = t.Asks
		m.Form = formOf(t, m)
	}
}

// formOf returns the form of the request of type t in m, which Dissect has read: a word, if it
// asks for what every client asks.
func formOf(t *dissect.Type, m *dissect.Message) dissect.Form {
	if !t.Asks.Has(dissect.Queries) {
		return 0
	}
	switch f := m.Find(&defTerminator); {
	case f == nil:
		return dissect.WordBare
	case bytes.IndexByte(m.Raw(f), 0) >= 0:
		return dissect.WordNUL
	}
	return 0
}

// readInformation reads the two forms that begin with a letter.
func readInformation(cur *dissect.Cursor, t *dissect.Type) {
	cur.U8(&defOpcode)
	if t == &typeDetailed {
		readDetailed(cur)
		return
	}
	readInfo(cur)
}

// mark is what every connectionless packet of the engines begins with.
const mark = "\xff\xff\xff\xff"

// wordPatterns is what messages that begin with one of some words look like. Engines take
// letters of either case.
func wordPatterns(words ...string) (all []dissect.Pattern) {
	for _, w := range words {
		all = append(all, dissect.BeginsFold(mark+w))
	}
	return all
}

// letterPatterns is what messages that begin with a letter look like.
func letterPatterns(op byte) []dissect.Pattern {
	return []dissect.Pattern{dissect.Begins(mark + string(rune(op)))}
}

// joins are what clients send to join, and what browsers of the relatives of Quake
// ask of servers.
var joins = wordPatterns("connect", "getinfo", "getstatus")

// operator is for those who run GoldSource servers, which stop at 30 answers a second
// by themselves.
var operator = dissect.Operator{
	Limits: "The engines allow 3 by default (sv_max_queries_sec); players behind one address share it.",
	Reflected: "The old text queries are answered without a challenge. Where the server can be set to ignore" +
		" them, do; max_queries_sec 3 and max_queries_sec_global 30 limit them.",
	Logins: "The password is in every packet, in the clear. Better than any limit: leave rcon_password empty, or let" +
		" the console be reached through a VPN only.",
	Crowded: "If the server has trouble answering, raise max_queries_sec_global.",
	Polled:  "If the server should have rest, max_queries_sec 3 gives it.",
	Cap:     100,
}

var (
	//go:embed wireshark.lua
	luaProbe string
	//go:embed wireshark_read.lua
	luaRead string
)

// plugin is how Wireshark reads the protocol.
var plugin = dissect.Plugin{Lua: luaProbe + luaRead}
