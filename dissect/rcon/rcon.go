package rcon

import "qsniff/dissect"

// Types that clients send. The type of an end probe is that of a reply.
var (
	typeAuth = dissect.Type{Name: "SERVERDATA_AUTH", Asks: dissect.AskLogin, Number: &defID, Doc: "the password",
		Summary: []*dissect.Def{&defID, &defPassword}, Speech: &speechAuth,
		Fields: packetFields}
	typeExec = dissect.Type{Name: "SERVERDATA_EXECCOMMAND", Asks: dissect.AskRcon, Number: &defID, Doc: "a command for the server's console",
		Summary: []*dissect.Def{&defID, &defRole, &defBody}, Speech: &speechText,
		Fields: packetFields}
	typeValueRequest = dissect.Type{Name: "SERVERDATA_RESPONSE_VALUE", Asks: dissect.AskRcon,
		Number:  &defID,
		Doc:     "a packet of the server's type from a client, whose answer shows where a reply ends",
		Summary: []*dissect.Def{&defID, &defRole, &defBody}, Speech: &speechText,
		Fields: packetFields}
	typeOtherRequest = dissect.Type{Name: "SERVERDATA_OTHER", Number: &defID, Doc: "a packet with a type that is not a standard one",
		Summary: []*dissect.Def{&defID, &defType, &defRole, &defBody}, Speech: &speechText,
		Fields: packetFields}
)

// Types that servers send.
var (
	typeAuthResponse = dissect.Type{Name: "SERVERDATA_AUTH_RESPONSE", Reply: true, Asks: dissect.AskLogin, Number: &defID, Doc: "whether the password is right",
		Summary: []*dissect.Def{&defID, &defBody}, Speech: &speechAuthResponse,
		Fields: packetFields}
	typeValue = dissect.Type{Name: "SERVERDATA_RESPONSE_VALUE", Reply: true, Asks: dissect.AskRcon, Number: &defID, Doc: "output of a command, or a part of it",
		Summary: []*dissect.Def{&defID, &defPart, &defRole, &defBody}, Speech: &speechText,
		Fields: packetFields}
	typeOtherReply = dissect.Type{Name: "SERVERDATA_OTHER", Reply: true, Number: &defID, Doc: "a packet with a type that is not a standard one, or bytes without a header",
		Summary: []*dissect.Def{&defID, &defType, &defRole, &defBody, &dissect.Trailing}, Speech: &speechText,
		Fields: packetFields}
	typeJoined = dissect.Type{Name: "SERVERDATA_RESPONSE_VALUE", Reply: true, Asks: dissect.AskRcon, Doc: "output of a command that came in several packets, joined",
		Summary: []*dissect.Def{&defReplyID, &defReplyCommand, &defReplyParts, &defReplyLength, &defReplyEndedBy, &defReplyBody},
		Fields:  []*dissect.Def{&defReplyID, &defReplyCommand, &defReplyParts, &defReplyLength, &defReplyEndedBy, &defReplyBody, &defReplyBodySecret}}
)

var proto = dissect.Proto{
	Plugin: plugin,
	Name:   "rcon",
	Doc:    "remote console over TCP, of Source engines and of games that took it over",
	Reads: "Source RCON over TCP: login, commands, answers of several packets, and how Minecraft, Rust, Factorio, ARK," +
		" Palworld, Conan Exiles, Squad and Counter-Strike 2 differ",
	Types: []*dissect.Type{&typeAuth, &typeExec, &typeValueRequest, &typeOtherRequest,
		&typeAuthResponse, &typeValue, &typeOtherReply, &typeJoined},
	Defs:  defs,
	Codes: codes,
	Ports: ports(),
	Pairs: dissect.PairCodes{Guessing: &codeGuessing, Stale: &codeStale, Handshake: &codeHandshake},
	Operator: dissect.Operator{Logins: "In the server itself: sv_rcon_maxfailures 5, and sv_rcon_banpenalty 60 for a ban of an hour." +
		" Better: let the console's port be reached through a VPN only. The password crosses the network in the clear."},
}

// ports lists where servers listen by default. Engines of the Source family use
// the number of the game's port: the first free one from 27015 on.
func ports() []uint16 {
	ps := []uint16{
		25575, // Minecraft, Conan Exiles, Palworld
		28016, // Rust before WebRCON
		32330, // ARK, which uses 27020 too
		21114, // Squad
		19132, // PocketMine
	}
	for p := uint16(27015); p <= 27050; p++ {
		ps = append(ps, p)
	}
	return ps
}

// Dissector reads RCON over TCP. Its state is in its sessions.
type Dissector struct{}

// New returns the dissector.
func New() *Dissector { return &Dissector{} }

// Proto describes the protocol.
func (*Dissector) Proto() *dissect.Proto { return &proto }

// AppendSessions appends the memory for n connections to list. Sessions and their lists are
// each allocated together.
func (*Dissector) AppendSessions(list []dissect.Session, n int, b *dissect.Budget) []dissect.Session {
	all, asked, frames := make([]session, n), make([]request, n*askedAtFirst), make([]uint64, 2*n*framesAtFirst)
	for i := range all {
		s := &all[i]
		s.budget = b
		s.asked, asked = cutRoom(asked, askedAtFirst)
		s.cur.frames, frames = cutRoom(frames, framesAtFirst)
		s.ended.frames, frames = cutRoom(frames, framesAtFirst)
		list = append(list, s)
	}
	return list
}

// cutRoom returns an empty list with room for n members of all, and the rest of all.
func cutRoom[T any](all []T, n int) (room, rest []T) { return all[:0:n], all[n:] }

// view is what a dissector may know of a message's connection.
type view struct {
	s     *session // never nil
	known bool     // the connection is RCON: s is its own
	dir   dissect.Direction

	opened, last bool
	gap          bool // bytes are missing before it, of either direction
	torn         bool // of the message's own
	isDisputed   bool // see dissect.Context
}

// unknown stands for the session of a connection that is not known. Nothing is
// learned for it, so that it stays empty.
var unknown session

func viewOf(c *dissect.Context) view {
	v := view{s: &unknown, isDisputed: c.Disputed}
	if st := c.Stream; st != nil {
		v.dir, v.opened, v.last = st.Dir, st.Opened, st.Last
		v.gap, v.torn = st.Gap || st.OtherMissing, st.Gap
		if s, ok := st.Session.(*session); ok && s != nil {
			v.s, v.known = s, true
		}
	}
	return v
}

// sure reports whether the capture has all of the connection so far: a packet that was
// not seen was not sent.
func (v *view) sure() bool { return v.opened && !v.gap && !v.s.gapped }

const (
	// limit: askedAtFirst is for how many requests without an answer there is room at first: a command and its probe.
	askedAtFirst = 2

	// limit: framesAtFirst is for how many frames of a reply there is room at first: most replies have fewer.
	framesAtFirst = 16
)
