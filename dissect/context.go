// Package dissect turns one datagram, or one record of a stream, into a flat
// list of annotated fields. It knows bytes, not packets: no sockets, no clocks,
// no I/O. Between messages it keeps only the state that a protocol over TCP has for a
// connection (Session). Joining is the work of reassembly, pairing and memory are that of
// track, and the renderers decide how a field looks.
//
// A Dissector handles the datagrams of a protocol, a StreamDissector its connections. Other
// facts of a protocol are declared in its Proto and its Types: patterns (Pattern) for packet
// filters and firewall rules, tokens (Token) for the proofs of sources, roles (Asked) for
// counts of questions, sentences (Operator) for advice.
//
// Package example is a protocol to begin with; CONTRIBUTING.md has the steps.
package dissect

import (
	"net/netip"

	"qsniff/internal/base/console"
	"qsniff/reassembly"
	"qsniff/reassembly/wire"
)

// FlowFacts is what the messages between one server and one client showed so
// far. It is a value: dissectors read it and do not keep it.
type FlowFacts struct {
	AppID  uint32 // of the game, if HasApp
	HasApp bool
	Engine wire.Engine // how this server splits
	Proven bool        // Engine was seen in a split message, not inferred from what the server runs
	Asked  Asked       // what the client asked
	Proto  uint8       // 1 + index in the registry of the protocol last spoken; 0 if none
	// Foreign is set where another game uses the bytes of one of our protocols for its
	// own messages.
	Foreign bool
	// RconChallenge is the number that the server last gave out for remote
	// console; 0 if none was seen.
	RconChallenge uint32
}

// Context is what a dissector may know besides the bytes.
type Context struct {
	Src, Dst  netip.AddrPort
	Wire      int         // length of the payload as sent: more than len(b) if the capture cut it
	FromSplit wire.Engine // how the payload was split, None if it was not
	// ToServer and FromServer are what is known if Dst, or if Src, is the server.
	// Both are empty at the first Probe; a second one follows where that was
	// not sure and something is known.
	ToServer, FromServer FlowFacts
	// Waiting is what the receiver of the message asked its sender, port to port,
	// too weakly to be believed alone. It is filled in together with FromServer.
	Waiting Asked
	// Passwords are the passwords that the client of the flow sent its server so far, which
	// texts of either may repeat; nil if there are none.
	Passwords *console.Passwords
	// Unread is set where the run shows no texts of messages: the secrets in them need not
	// be found. It is the same for all messages of a run.
	Unread bool
	// Disputed is set for Dissect and Learn where bytes of the message came twice with
	// different values: the receiver may have read what is not shown, and a name that is
	// shown may stand for another one.
	Disputed bool
	// IsCorrupt is set for Dissect where the bytes of the message are not those of its
	// checksum. Disputed is set then, too.
	IsCorrupt bool
	// Stream is what is known of the connection that the bytes are from; nil for
	// datagrams.
	Stream *Stream
}

// Flow is what is known of the flow that a message of type t belongs to.
func (c *Context) Flow(t *Type) *FlowFacts {
	if t.FromServer() {
		return &c.FromServer
	}
	return &c.ToServer
}

// Confidence is how sure a dissector is that bytes are its own.
type Confidence uint8

// The degrees.
const (
	No      Confidence = iota
	Maybe              // fits, but too weak alone: believed at a port of the protocol, or after other messages of the flow
	Likely             // believed
	Certain            // structure that nothing else has
)

var confidences = [...]string{"no", "maybe", "likely", "certain"}

func (k Confidence) String() string { return confidences[k] }

// Dissector handles datagrams. Probe and Dissect are functions of their
// arguments alone, never panic, and never allocate once m has grown.
type Dissector interface {
	Proto() *Proto
	// Probe returns how sure it is that b is a message of the protocol, and of which
	// type. The type may be nil where the confidence is No.
	Probe(c *Context, b []byte) (Confidence, *Type)
	// Dissect fills m, which was Reset with b, as the message type that Probe found in
	// it. A type of nil is what no message has: b is shown as far as it can be.
	Dissect(c *Context, t *Type, b []byte, m *Message)
}

// Neighbour is implemented by a Dissector that shares bytes with another game and
// knows that game by other messages of it.
type Neighbour interface {
	// Foreign reports whether b, which no protocol claimed, is such a message, and whether
	// a server sent it.
	Foreign(c *Context, b []byte) (reply, ok bool)
}

// Asked is a set of roles: what a request asks for, or what a reply gives. A role is
// the same in every protocol, so that no code outside a protocol's folder compares the
// names of its messages.
type Asked uint32

// The roles of questions.
const (
	AskInfo          Asked = 1 << iota // name, map, players in one reply
	AskPlayers                         // who plays
	AskRules                           // the server's settings
	AskChallenge                       // a token that proves an address, see Token
	AskPing                            // a sign of life
	AskServers                         // a list of servers, of a master server
	AskStatus                          // everything in one reply
	AskBrowse                          // a short form for server browsers
	AskPresence                        // the shortest form
	AskVersion                         // of the server
	AskConnect                         // a challenge for joining the game
	AskRconChallenge                   // a challenge for the remote console
	AskRcon                            // a command's output
	AskProxy                           // which address a proxy sends to
	AskLogin                           // whether a password is right
)

// Sets of questions.
const (
	// Queries are the questions that every client asks of a server: the ones that a
	// server may answer in part only, or answer after a challenge.
	Queries = AskInfo | AskPlayers | AskRules
	// Describing are the questions whose answers say what a server is: name, map, players.
	Describing = AskInfo | AskStatus | AskBrowse | AskPresence
	// Informing are the questions that are answered with data without a login: such answers
	// are worth sending to a victim.
	Informing = Queries | AskServers | AskStatus | AskBrowse | AskPresence
	// Public are the questions of clients that look for servers or at them, and neither
	// join nor administer.
	Public = Informing | AskChallenge | AskPing | AskVersion
	// Remote are what a remote console is sent, with its password.
	Remote = AskRcon | AskLogin
	// LongAnswers are the questions whose answers may come in parts.
	LongAnswers = Queries | AskRcon | AskStatus
)

// First is the set of the first role in a alone; none if a is empty.
func (a Asked) First() Asked { return a & -a }

// Has reports whether a has any of the roles in b.
func (a Asked) Has(b Asked) bool { return a&b != 0 }

// Joiner is implemented by a Dissector whose servers cut long replies into datagrams
// in a way of their own.
type Joiner interface {
	Dissector
	// NewAssembler returns what joins such replies, in fixed memory, and gives each to
	// deliver.
	NewAssembler(deliver func(*Joined)) Assembler
}

// Assembler joins the fragments of any number of flows. It is not fit for concurrent
// use, and has no clock: times are packet times, which do not go back.
type Assembler interface {
	// MayTake reports whether b, a datagram, looks like a fragment at all.
	MayTake(b []byte) bool
	// Take adds a datagram that looks like a fragment and reports whether it is one: if
	// not, it is a message of its own and nothing was kept. c is the datagram's, with
	// what its receiver asked. Replies that become complete, that are evicted for room
	// or that expired are delivered before Take returns.
	Take(c *Context, d *Datagram) bool
	// Tick delivers, incomplete, the replies that have expired at nanos.
	Tick(nanos int64)
	// Flush ends the capture at nanos: it delivers the rest, incomplete.
	Flush(nanos int64)
	Counters() reassembly.JoinCounters
}

// Datagram is one that may be a fragment. An Assembler copies the bytes that it keeps.
type Datagram struct {
	Data   []byte
	Frame  uint64
	Pieces []reassembly.Piece // fragments of IP that it came in; nil if that is Frame
	Nanos  int64
}

// Joined is a reply, complete or not. All of it is valid during delivery only.
type Joined struct {
	Src, Dst netip.AddrPort
	Cut      string             // what it was joined from; a constant
	Lost     string             // what became of the rest; a constant, empty if there is all
	Data     []byte             // of the fragments that are there
	Run      int                // bytes of Data before the first gap
	Parts    []reassembly.Piece // what each fragment brought, in the order of Data
	Frames   []uint64           // in order of arrival
	First    int64              // packet time of the first fragment that came
	Last     int64              // and of the last one
}
