package master

import (
	"bytes"
	_ "embed"

	"qsniff/dissect"
	"qsniff/reassembly/wire"
)

// The opcodes: the first byte, or the byte after FF FF FF FF.
const (
	opQuery      = '1'
	opBatch      = 'e'
	opServers    = 'c' // also M2S_NAT_CONNECT, with a space after it
	opCheckMD5   = 'M'
	opPage       = 'f'
	opOldPage    = 'd'
	opValidMD5   = 'N'
	opJoin       = 'q'
	opHeartbeat2 = '0'
	opHeartbeat  = 'a'
	opShutdown   = 'b'
	opChallenge  = 's'
	opRestart    = 'O'
)

// The message types.
var (
	typeQuery = dissect.Type{Name: "A2M_GET_SERVERS_BATCH2", Asks: dissect.AskServers, Wire: wireQuery,
		Doc:     "asks for a page of servers that match a filter",
		Summary: []*dissect.Def{&defRegion, &defNext, &defSeed, &defFilter},
		Fields:  []*dissect.Def{&defRegion, &defNext, &defSeed, &defFilter, &defConditions}}
	typeBatch = dissect.Type{Name: "A2M_GET_SERVERS_BATCH", Asks: dissect.AskServers, Wire: wireBatch,
		Doc: "asks for a page of servers; obsolete", Summary: []*dissect.Def{&defNext},
		Fields: []*dissect.Def{&defNext}}
	typeServers = dissect.Type{Name: "A2M_GET_SERVERS", Asks: dissect.AskServers, Wire: wireServers,
		Doc: "asks for all servers; obsolete"}
	typeCheckMD5 = dissect.Type{Name: "C2M_CHECKMD5", Asks: dissect.AskChallenge, Wire: wireCheckMD5,
		Doc: "asks whether the client is current; obsolete"}
	typeJoin = dissect.Type{Name: "S2M_JOIN", Asks: dissect.AskChallenge, Wire: wireJoin,
		Doc: "a server asks for the challenge of its heartbeat", Summary: []*dissect.Def{&defChallenge},
		Fields: []*dissect.Def{&defChallenge}}
	typeHeartbeat2 = dissect.Type{Name: "S2M_HEARTBEAT2", Wire: wireHeartbeat2, Doc: "a server says that it runs, and what",
		Summary: []*dissect.Def{&defPairs},
		Fields:  []*dissect.Def{&defPairs}}
	typeHeartbeat = dissect.Type{Name: "S2M_HEARTBEAT", Wire: wireHeartbeat, Doc: "a server says that it runs; obsolete",
		Summary: []*dissect.Def{&defText},
		Fields:  []*dissect.Def{&defText}}
	typeShutdown = dissect.Type{Name: "S2M_SHUTDOWN", Wire: wireShutdown, Doc: "a server says that it ends"}

	typePage = dissect.Type{Name: "M2A_SERVER_BATCH", Reply: true, Asks: dissect.AskServers, Wire: patterns(opPage), Lists: &defServer,
		Doc: "a page of servers", Summary: []*dissect.Def{&defServers, &defNext, &defListKey},
		Fields: []*dissect.Def{&defServers, &defNext, &defListKey}}
	typeOldPage = dissect.Type{Name: "M2A_SERVERS", Reply: true, Asks: dissect.AskServers, Wire: patterns(opOldPage), Lists: &defServer,
		Doc: "all servers; obsolete, as QuakeWorld has it", Summary: []*dissect.Def{&defServers},
		Fields: []*dissect.Def{&defServers}}
	typeValidMD5 = dissect.Type{Name: "M2C_ISVALIDMD5", Reply: true, Asks: dissect.AskChallenge, Wire: patterns(opValidMD5),
		Doc: "whether the client is current; obsolete", Summary: []*dissect.Def{&defChallenge},
		Fields: []*dissect.Def{&defChallenge}}
	typeChallenge = dissect.Type{Name: "M2A_CHALLENGE", Reply: true, Asks: dissect.AskChallenge, Wire: patterns(opChallenge),
		Doc: "the number that a heartbeat must carry", Summary: []*dissect.Def{&defChallenge, &defEcho},
		Fields: []*dissect.Def{&defChallenge, &defEcho}}
	typeRestart = dissect.Type{Name: "M2S_REQUESTRESTART", Notice: true, Wire: patterns(opRestart),
		Doc: "the server is out of date and should restart", Summary: []*dissect.Def{&defChallenge},
		Fields: []*dissect.Def{&defChallenge}}
	typeNAT = dissect.Type{Name: "M2S_NAT_CONNECT", Notice: true, Wire: patterns(opServers),
		Doc: "a client waits at this address for a packet of the server", Summary: []*dissect.Def{&defAddr},
		Fields: []*dissect.Def{&defAddr}}
)

var proto = dissect.Proto{
	Plugin: plugin,
	Name:   "master",
	Doc:    "lists of servers and the heartbeats that fill them: Steam, WON and Xash3D master servers",
	Reads:  "Steam master server: queries with their filter, server lists of Valve and Xash3D, heartbeats, the older lists",
	Types: []*dissect.Type{&typeQuery, &typeBatch, &typeServers, &typeCheckMD5, &typeJoin, &typeHeartbeat2,
		&typeHeartbeat, &typeShutdown, &typePage, &typeOldPage, &typeValidMD5, &typeChallenge, &typeRestart, &typeNAT},
	Defs:     defs,
	Codes:    codes,
	Pairs:    dissect.PairCodes{Chain: &codeChain, Budget: &codeOverBudget, Unjoined: &codeUnjoined, Silent: &codeSilent},
	Operator: operator,
	Mark:     oobMark,
	Ports:    []uint16{27010, 27011, 27012, 27013},
}

// Dissector reads the messages of master servers. It has no state.
type Dissector struct{}

// New returns the dissector.
func New() *Dissector { return &Dissector{} }

// Proto describes the protocol.
func (*Dissector) Proto() *dissect.Proto { return &proto }

var oobMark = []byte{0xff, 0xff, 0xff, 0xff}

// identify returns the type that the opcode of b stands for, nil if none, and
// the offset of the opcode.
func identify(b []byte) (t *dissect.Type, at int) {
	if bytes.HasPrefix(b, oobMark) {
		return identifyMarked(b[len(oobMark):]), len(oobMark)
	}
	if len(b) == 0 {
		return nil, 0
	}
	switch b[0] {
	case opQuery:
		return &typeQuery, 0
	case opBatch:
		return &typeBatch, 0
	case opServers:
		return &typeServers, 0
	case opCheckMD5:
		return &typeCheckMD5, 0
	case opJoin:
		return &typeJoin, 0
	case opHeartbeat2:
		return &typeHeartbeat2, 0
	case opHeartbeat:
		return &typeHeartbeat, 0
	case opShutdown:
		return &typeShutdown, 0
	}
	return nil, 0
}

// identifyMarked returns the type of what follows FF FF FF FF: mostly a master's,
// and the two questions that clients send with it.
func identifyMarked(b []byte) *dissect.Type {
	if len(b) == 0 {
		return nil
	}
	switch b[0] {
	case opPage:
		return &typePage
	case opOldPage:
		return &typeOldPage
	case opValidMD5:
		return &typeValidMD5
	case opChallenge:
		return &typeChallenge
	case opRestart:
		return &typeRestart
	case opServers:
		if len(b) > 1 && b[1] == ' ' {
			return &typeNAT
		}
		return &typeServers
	case opQuery:
		return &typeQuery
	}
	return nil
}

// Probe judges b by its structure. Masters neither split nor join, and the
// messages of one to four bytes say too little to be believed alone.
func (*Dissector) Probe(c *dissect.Context, b []byte) (dissect.Confidence, *dissect.Type) {
	t, at := identify(b)
	if t == nil || c.FromSplit != wire.None {
		return dissect.No, nil
	}
	p := probe{b: b[at+1:], cut: c.Wire > len(b), length: max(c.Wire, len(b)) - at - 1, v6: isV6(c),
		isAsked: c.FromServer.Asked.Has(dissect.AskServers)}
	return p.rate(t), t
}

// isV6 reports whether the message comes from an IPv6 master, whose lists have
// IPv6 addresses.
func isV6(c *dissect.Context) bool {
	a := c.Src.Addr()
	return a.Is6() && !a.Is4In6()
}

// Dissect fills m with the message of type t in b.
func (*Dissector) Dissect(c *dissect.Context, t *dissect.Type, b []byte, m *dissect.Message) {
	cur := m.Cursor(c)
	if bytes.HasPrefix(b, oobMark) || bytes.HasPrefix(oobMark, b) {
		cur.I32(&defHeader)
		if t == &typeQuery {
			cur.Note("masters expect the query without it")
		}
	}
	cur.U8(&defOpcode)
	if t != nil {
		m.Type = t
		cur.Note(t.Name)
		m.Page = readBody(c, cur, t)
	}
	cur.Done()
	if t != nil && !t.FromServer() {
		m.Learn.Asked = t.Asks
	}
}

// readBody reads what follows the opcode, and returns the page that a query asks for, or that came.
func readBody(c *dissect.Context, cur *dissect.Cursor, t *dissect.Type) (page dissect.Page) {
	switch t {
	case &typeQuery:
		return readQuery(cur)
	case &typeBatch:
		readBatch(cur)
	case &typePage:
		return readPage(c, cur)
	case &typeOldPage:
		cur.U8(&defForm)
		readServers(cur, entryV4)
	case &typeCheckMD5:
		cur.U8(&defForm)
	case &typeValidMD5:
		cur.U8(&defForm)
		cur.U32(&defChallenge)
	case &typeJoin:
		readJoin(cur)
	case &typeHeartbeat2:
		readHeartbeat(cur)
	case &typeHeartbeat:
		cur.Word(&defText, '\n', "\x00")
		readTerminator(cur)
	case &typeServers, &typeShutdown:
		readTerminator(cur)
	case &typeChallenge:
		readChallenge(cur)
	case &typeRestart:
		cur.U32(&defChallenge)
	case &typeNAT:
		cur.Word(&defAddr, ' ', "\n\x00")
		readTerminator(cur)
	}
	return page
}

// readTerminator reads line feeds and NULs, if nothing else is left.
func readTerminator(cur *dissect.Cursor) {
	for _, x := range cur.Peek(cur.Left()) {
		if x != '\n' && x != '\r' && x != 0 {
			return
		}
	}
	cur.Rest(&defTerminator)
}

// Patterns of the messages on the wire. The letters of requests begin packets of
// games too, so most forms are looked for at the ports of master servers only.

// patterns is the pattern of what follows FF FF FF FF.
func patterns(op byte) []dissect.Pattern {
	return []dissect.Pattern{dissect.Begins(string(oobMark) + string(rune(op)))}
}

const (
	missedLists = "the old list requests"
	missedJoins = "join and shutdown"
	missedBeats = "heartbeats of WON and QuakeWorld"
)

var (
	wireQuery = append(patterns(opQuery),
		dissect.BeginsMasked("1\x00\x30", "\xff\x00\xf0").Sized(4, 0), // a region, and a digit of an IPv4 address
		dissect.BeginsMasked("1\x00[", "\xff\x00\xff").Sized(4, 0),    // the same for IPv6
		dissect.Begins("1\x00\x00\x00"),                               // the first page of the older form, or no address
		dissect.BeginsMasked("1\x00\x00\x00\x00\\", "\xff\x00\x00\x00\x00\xff"),
		dissect.Begins("1").OnlyAtPort(missedLists))

	// A tag of three bytes, or of four as replies have it.
	wireBatch    = append(patterns(opBatch), dissect.Begins("e").Sized(4, 5).OnlyAtPort(missedLists))
	wireServers  = append(patterns(opServers), dissect.Begins("c\n").Sized(2, 3).OnlyAtPort(missedLists))
	wireCheckMD5 = append(patterns(opCheckMD5), dissect.Begins("M\xff").Sized(2, 2).OnlyAtPort(missedLists))

	wireJoin       = []dissect.Pattern{dissect.Begins("q").Sized(1, 6).OnlyAtPort(missedJoins)}
	wireShutdown   = []dissect.Pattern{dissect.Begins("b\n").Sized(2, 3).OnlyAtPort(missedJoins)}
	wireHeartbeat  = []dissect.Pattern{dissect.Begins("a\n").OnlyAtPort(missedBeats)}
	wireHeartbeat2 = []dissect.Pattern{dissect.Begins("0\n\\").Sized(4, 0)}
)

// operator is for those who run master servers.
var operator = dissect.Operator{
	Limits: "Steam's master servers took about 30 a minute.",
	Cap:    100,
	Each:   1, Burst: 30,
}

//go:embed wireshark.lua
var lua string

// plugin is how Wireshark reads the protocol.
var plugin = dissect.Plugin{
	Lua: lua,
	Unread: []dissect.Omission{{Why: "made of the filter, which is there",
		Defs: []*dissect.Def{&defConditions, &defCondition, &defKey, &defValue, &defGroup}}},
}
