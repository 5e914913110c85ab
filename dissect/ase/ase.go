package ase

import (
	_ "embed"

	"qsniff/dissect"
	"qsniff/reassembly/wire"
)

// The letters of requests.
const (
	queryFull    = 's'
	queryLight   = 'b'
	queryRelease = 'r'
	queryXfire   = 'x'
	queryVersion = 'v'
	queryPing    = 'p'
)

const (
	numberLight = 2 // of EYE2
	numberXfire = 3 // of EYE3

	byteLimit = 255
	// portOffset is by how much the query port exceeds the game's.
	portOffset = 123
)

// The message types. Requests have one name and differ in what they ask for.
var (
	typeAskFull    = newQueryType(dissect.AskStatus, "s", "asks for everything")
	typeAskLight   = newQueryType(dissect.AskBrowse, "br", "asks for the short form for browsers")
	typeAskXfire   = newQueryType(dissect.AskPresence, "x", "asks for the shortest form")
	typeAskVersion = newQueryType(dissect.AskVersion, "v", "asks for the version")
	typeAskPing    = newQueryType(dissect.AskPing, "p", "asks for a sign of life")

	typeFull = dissect.Type{Name: "EYE1", Reply: true, Asks: dissect.AskStatus, Wire: wireFull,
		Doc:     "everything: server, settings, players",
		Summary: []*dissect.Def{&defName, &defMap, &defFullPlayers, &defFullMax, &defGame, &defGametype},
		Fields:  []*dissect.Def{&defGame, &defPort, &defName, &defGametype, &defMap, &defVersion, &defFullPassword, &defFullSecret, &defFullPlayers, &defFullMax, &defRules, &defList}}
	typeLight = dissect.Type{Name: "EYE2", Reply: true, Asks: dissect.AskBrowse, Wire: []dissect.Pattern{dissect.Begins("EYE2")},
		Doc:     "server, build and names of players, from MTA",
		Summary: []*dissect.Def{&defName, &defMap, &defOnline, &defPlayers, &defMax, &defGame, &defGametype},
		Fields:  []*dissect.Def{&defGame, &defPort, &defName, &defGametype, &defMap, &defVersion, &defOnline, &defBuildType, &defBuildNumber, &defPingStatus, &defNetRoute, &defUptime, &defHTTPPort, &defExtras, &defPassword, &defSerials, &defPlayers, &defMax, &defNames}}
	typeXfire = dissect.Type{Name: "EYE3", Reply: true, Asks: dissect.AskPresence, Wire: []dissect.Pattern{dissect.Begins("EYE3")},
		Doc:     "server alone, from MTA",
		Summary: []*dissect.Def{&defName, &defMap, &defOnline, &defPlayers, &defMax, &defGame, &defGametype},
		Fields:  []*dissect.Def{&defGame, &defName, &defGametype, &defMap, &defVersion, &defOnline, &defExtras, &defPassword, &defPlayers, &defMax}}
	typeVersion = dissect.Type{Name: "ASE_VERSION", Reply: true, Asks: dissect.AskVersion, Wire: wireVersion, OnlyAsked: true,
		Doc: "version as bare text, from MTA", Summary: []*dissect.Def{&defVersion},
		Fields: []*dissect.Def{&defVersion}}
)

func newQueryType(asks dissect.Asked, letters, doc string) dissect.Type {
	return dissect.Type{Name: "ASE_QUERY", Asks: asks, Wire: queryPatterns(letters), Doc: doc, Summary: []*dissect.Def{&defQuery, &defText},
		Fields: []*dissect.Def{&defQuery, &defText}}
}

var byLetter = [256]*dissect.Type{
	queryFull: &typeAskFull, queryLight: &typeAskLight, queryRelease: &typeAskLight,
	queryXfire: &typeAskXfire, queryVersion: &typeAskVersion, queryPing: &typeAskPing,
}

var proto = dissect.Proto{
	Plugin: plugin,
	Name:   "ase",
	Doc:    "All-Seeing Eye, the queries of Multi Theft Auto, Far Cry and others",
	Reads:  "All-Seeing Eye: EYE1, MTA's EYE2 and EYE3, version, fragments joined",
	Types: []*dissect.Type{&typeAskFull, &typeAskLight, &typeAskXfire, &typeAskVersion, &typeAskPing,
		&typeFull, &typeLight, &typeXfire, &typeVersion},
	Defs:        defs,
	Codes:       codes,
	Pairs:       dissect.PairCodes{WrongPort: &dissect.WrongPort},
	Ports:       ports(),
	QueryOffset: portOffset,

	Operator: operator,
}

// ports lists where games answer by default: portOffset above the game's port,
// and for MTA, whose servers often share a host, the next two. Call of Juarez
// answers on 26000 and is left out, because Quake does.
func ports() []uint16 {
	const mta = 22003
	ps := []uint16{mta + portOffset, mta + portOffset + 1, mta + portOffset + 2,
		27224, 14001} // Age of Empires II, Far Cry 2: ports of their own
	for _, game := range []uint16{
		49001, // Far Cry
		27015, // Chrome
		3000,  // Chaser
		12321, // Cross Racing Championship
		3455,  // Painkiller
		1135,  // Universal Combat
		28015, // Xpand Rally
		23073, // Soldat
	} {
		ps = append(ps, game+portOffset)
	}
	return ps
}

// Dissector reads ASE messages. It has no state.
type Dissector struct{}

// New returns the dissector.
func New() *Dissector { return &Dissector{} }

// Proto describes the protocol.
func (*Dissector) Proto() *dissect.Proto { return &proto }

// identify returns the type of the message b by its first bytes, nil if it is none.
func identify(c *dissect.Context, b []byte) *dissect.Type {
	switch {
	case len(b) == 0:
		return nil
	case wire.BeginsEye(b):
		if n := wire.EyeNumber(b); n > 0 {
			return identifyReply(c, b, n)
		}
		return nil
	case isDigit(b[0]):
		return &typeVersion
	}
	return byLetter[b[0]]
}

// identifyReply returns the type of a reply. EYE2 and EYE3 are messages if MTA sent
// them or the client asked for the short forms only, else fragments of an EYE1.
func identifyReply(c *dissect.Context, b []byte, number int) *dissect.Type {
	const short = dissect.AskBrowse | dissect.AskPresence
	asked := c.FromServer.Asked | c.Waiting
	if !wire.IsMTA(b) && (asked&short == 0 || asked&dissect.AskStatus != 0) {
		return &typeFull
	}
	switch number {
	case numberLight:
		return &typeLight
	case numberXfire:
		return &typeXfire
	}
	return &typeFull
}

// Dissect fills m with the message of type t in b.
func (*Dissector) Dissect(c *dissect.Context, t *dissect.Type, b []byte, m *dissect.Message) {
	cur := m.Cursor(c)
	m.Type = t
	r := reader{Cursor: cur, c: c}
	switch m.Type {
	case &typeFull:
		cur.Take(&defHeader, wire.EyeHeaderLen)
		if wire.EyeNumber(b) == 1 {
			r.readFull()
		} else {
			cur.Rest(&defPiece)
		}
	case &typeLight, &typeXfire:
		cur.Take(&defHeader, wire.EyeHeaderLen)
		r.readLight(m.Type == &typeLight)
	case &typeVersion:
		cur.Rest(&defVersion)
	case nil:
		if wire.BeginsEye(b) { // cut in the header
			cur.Take(&defHeader, wire.EyeHeaderLen)
		}
	default:
		cur.U8(&defQuery)
		cur.Rest(&defText)
		m.Learn.Asked = m.Type.Asks
	}
	cur.Done()
	if m.Type == &typeFull && m.Status == dissect.Complete && wire.EyeNumber(b) != 1 {
		m.Status = dissect.Fragment
	}
}

// queryPatterns is what requests with one of some letters look like: the letter alone,
// or text after it.
func queryPatterns(letters string) (all []dissect.Pattern) {
	for _, x := range letters {
		p := dissect.Begins(string(x))
		all = append(all, p.Sized(1, 1), p.Sized(2, maxQuery).OnlyAtPort("requests with text after their letter"))
	}
	return all
}

var (
	wireFull = []dissect.Pattern{
		dissect.Begins("EYE1"),
		dissect.BeginsMasked("EYE0", "\xff\xff\xff\xf0"), // fragments, which games other than MTA number 2 to 9
	}
	// A version begins with a digit.
	wireVersion = []dissect.Pattern{dissect.BeginsMasked("0", "\xf0").Sized(3, maxVersion).OnlyAtPort("versions")}
)

// operator is the advice for operators of MTA servers. A server answers every query in full,
// because the protocol has no token, and it stands fewer queries than others do.
var operator = dissect.Operator{
	Limits:    "MTA's server itself takes 5 in 6 seconds and stops counting when 100 sources flood it.",
	Reflected: "This protocol has no challenge, so a limit is all there is: leave the lines loaded.",
	Cap:       50,
	Each:      2, Burst: 10,
}

//go:embed wireshark.lua
var lua string

// plugin is how Wireshark reads the protocol.
var plugin = dissect.Plugin{Lua: lua}
