package dissect

import (
	"strings"

	"qsniff/dissect/finding"
	"qsniff/reassembly/wire"
)

// Kind is how Field.Num and the field's bytes are to be read.
type Kind uint8

// The kinds.
const (
	Group Kind = iota // an object; Num is its index in the list above it
	List              // an array of Groups or of values; Num is the declared count
	Uint
	Int
	Float // see Field.Float
	Char  // a one-letter code: 'd'
	Text  // the value is Message.Bytes(f)
	Bytes // bytes of the message that are not text
	Addr  // IPv4 or IPv6, with its big-endian port where two bytes are left over
)

// Role is which property of the server a field holds, so that a table has one column
// for it although every protocol names it differently.
type Role uint8

// The roles.
const (
	NoRole Role = iota
	ServerName
	MapName
	PlayerCount
	MaxPlayers
	BotCount
	QueueLength // players who wait for a slot
	GameVersion
	Tags
	TagPlayerCount // the players once more, among the tags
	TagMaxPlayers  // and the slots
	ServerID       // that the server is registered by, see Def.IsNobody
	ReplyForm      // which optional fields the reply has
	ListCount      // how many players a list declares
	PlayerEntry    // of a list
	PlayerName
	PlayerTime // for which the player has been there, in seconds; not positive if that is unknown
	GamePort   // where players join
)

// inTags returns the role of what a game writes into its tags once more; NoRole if there is none.
func (r Role) inTags() Role {
	switch r {
	case PlayerCount:
		return TagPlayerCount
	case MaxPlayers:
		return TagMaxPlayers
	}
	return NoRole
}

// DefFlags refine a Def.
type DefFlags uint8

// The flags of a definition.
const (
	Hex          DefFlags = 1 << iota // people read it in hexadecimal (too)
	AsString                          // a JSON string: a 64-bit id that a JSON number would round
	Secret                            // value and bytes are shown only when asked for
	Framing                           // header, opcode, fixed text: part of the layout, not of "fields"
	Size                              // the JSON value is the length in bytes: padding
	Identifying                       // it says who somebody is: a name, a SteamID, a number that proves an address
	Prose                             // a text in which that can be, among words and numbers that are read
	Experimental                      // name, form and meaning may change with what is learnt; other fields keep them
)

// Def describes a field once, for every renderer, filter, schema and manual. The
// JSON key is the last part of Name; a List's elements nest under it. Defs are
// package-level variables, compared by address and not changed once they are in a registry.
type Def struct {
	Name   string // "a2s.info.map": stable, part of the output format
	Label  string // "map": what people read
	Kind   Kind
	Flags  DefFlags
	Values func(uint64) string // names of enumerated values, or nil; returns constants only
	Unit   string              // "s"
	Doc    string              // one line for the manual
	Role   Role                // the property of the server that it holds, whatever the protocol
	// Joins, on a List, is the earlier list whose groups these groups continue,
	// by index: The Ship sends deaths and money of all players after the list.
	Joins *Def
	// PartOf, on a secret Text, is the text that it is a piece of: the pieces
	// before and after it are fields of that definition, all are one value.
	PartOf *Def
	// IsNobody, of a ServerID, reports whether a value is no server's own.
	IsNobody func(uint64) bool

	member   string         // what Member returns; empty before NewRegistry
	isJoined bool           // another definition Joins it
	inPieces bool           // another definition is PartOf it
	startLen uint8          // see Start
	start    [maxStart]byte // the first bytes of member
}

// Key is the JSON key.
func (d *Def) Key() string { return d.Name[strings.LastIndexByte(d.Name, '.')+1:] }

// Member is what precedes the value in JSON, where another member precedes it: ,"map":
func (d *Def) Member() string {
	if d.member != "" {
		return d.member
	}
	return d.makeMember()
}

// maxStart is how long Start is: most keys fit.
const maxStart = 16

// Start returns the first bytes of Member, of a length that is always the same: a copy of them takes
// one instruction. n is the length of Member, or 0 where that is longer or no registry has d.
func (d *Def) Start() (start *[maxStart]byte, n int) { return &d.start, int(d.startLen) }

func (d *Def) makeMember() string { return `,"` + d.Key() + `":` }

// IsJoined reports whether the groups of another list may continue those of d. They may
// where no registry has d.
func (d *Def) IsJoined() bool { return d.isJoined || d.member == "" }

// IsInPieces reports whether a value of d may consist of several fields: others may be PartOf d.
// They may where no registry has d.
func (d *Def) IsInPieces() bool { return d.inPieces || d.member == "" }

// Type is a message type.
type Type struct {
	Name  string // "S2A_INFO_SRC"
	Doc   string
	Reply bool
	// Notice marks a one-way message that the server sends without a request: its direction
	// is that of a request, but the server is its source.
	Notice bool
	// Asks names what a request asks for or what a reply gives; a weak reply is
	// believed when its flow asked for it.
	Asks Asked
	// OnlyAsked is for a reply that is free text: it is believed as the answer to
	// its question and for no other reason, but the question may be a weak one.
	OnlyAsked bool
	// Wire lists what datagrams with messages of the type look like. It is empty where
	// the type is never met in a datagram of its own.
	Wire []Pattern
	// Token is where messages of the type have what proves an address; nil if they
	// have none.
	Token *Token
	// Number is the field with what one end repeats of the other, so that a server can be
	// imitated: of a reply in a datagram the number that proves an address, of a request
	// where it is brought back; in connections the number of the request. It is as the
	// protocol has it, in digits or little-endian. It is nil where there is none.
	Number *Def
	// Obsolete is set for a request that current engines do not answer. It brings no token.
	Obsolete bool
	// Unmistakable is set where no other game has the structure that makes messages
	// of the type certain: they are believed where another game speaks, see Neighbour.
	Unmistakable bool
	// Lists is the field of a reply that names servers, one each; nil if it names none.
	Lists *Def
	// Fields lists what messages of the type can have, without framing, without what groups and
	// lists hold, and without Shared: the schema of the output is made of it.
	Fields []*Def
	// Summary lists the fields of the one-line rendering.
	Summary []*Def
	// Prints is the text that a console sends in pieces, which end anywhere: a secret can lie
	// across two messages. It is nil where messages have none.
	Prints *Def
	// Speech is set where people read the messages of client and server as a text.
	Speech *Speech
}

// Speech is how a transcript shows the messages of a type.
type Speech struct {
	// Text is the field with the text: of a reply, in lines.
	Text *Def
	// Part is a field that a message has only if its text continues that of the message
	// before it; nil if no message of the type continues another.
	Part *Def
	// Gist returns in a word or two what m is besides its text: a constant, or empty. A
	// nil Gist adds nothing to the text.
	Gist func(m *Message) string
}

// FromServer reports whether servers send messages of this type.
func (t *Type) FromServer() bool { return t.Reply || t.Notice }

// Proto is everything static about a protocol.
type Proto struct {
	Name string // "a2s"
	Doc  string
	// Reads lists what is decoded, for the table in README.md.
	Reads string
	Ports []uint16 // where it is usually met: a hint, never a condition
	// ClientPorts are those that clients bind if they can: many at one port is no sign
	// of one sender there.
	ClientPorts []uint16
	// QueryOffset is by how much the port that answers queries exceeds the game's, where every
	// server of the protocol keeps to that; 0: there is no such rule.
	QueryOffset uint16
	// Limited is set where the engines count these datagrams in their limits of queries
	// (max_queries_sec), which they apply before they read a packet.
	Limited bool
	// Splits lists the split formats whose parts are reported under this
	// protocol's name while the message in them is not known.
	Splits []wire.Engine
	// SplitPorts are the first and the last port where servers that send such parts usually are.
	SplitPorts [2]uint16
	// Console is set where such parts, which are not dissected, can hold console output
	// or variables: secrets in them are hidden.
	Console bool
	// Mark is what every connectionless packet of the engines begins with; empty if
	// there is nothing. A datagram that begins so and that no protocol claims is junk.
	Mark []byte
	// Neighbours are packets with the mark that clients of the engines send and that are
	// no messages of the protocol, as those of players who join: filters against junk
	// let them pass.
	Neighbours []Pattern
	Types      []*Type
	Defs       []*Def
	// Usual lists all of Defs that messages have whose Key is found, of a Dissector that is a
	// Keyer; it is empty of others.
	Usual []*Def
	Codes []*finding.Code
	// Pairs are those of Codes that several messages together show.
	Pairs    PairCodes
	Operator Operator
	// Plugin is how Wireshark reads the protocol; it has no Lua where Wireshark does not.
	Plugin Plugin
}

// Trailing is the field of bytes that no definition claims. It is shared by all
// protocols: "trailing" in JSON.
var Trailing = Def{Name: "trailing", Label: "trailing", Kind: Bytes,
	Doc: "bytes after the last field that the protocol defines"}

// Part is the field of a part of a split message that cannot be read, because
// earlier parts are missing or decompression failed: its bytes are shown.
var Part = Def{Name: "split.part", Label: "part", Kind: Bytes, Flags: Framing,
	Doc: "payload of one part of a split message that could not be joined or read"}

// HiddenPart is a Part in which a password is, or may be.
var HiddenPart = Def{Name: "split.hidden_part", Label: "part", Kind: Bytes, Flags: Framing | Secret,
	Doc: "payload of one part of a split message that could not be joined or read, in which a password is or may be"}

// Unread is the field of bytes that dissection stopped before, because the
// message was malformed or a limit was reached.
var Unread = Def{Name: "unread", Label: "not decoded", Kind: Bytes,
	Doc: "bytes after the place where decoding stopped"}

// SplitSize and SplitCRC precede the bzip2 stream of a compressed message. They are
// shown where the message itself cannot be.
var (
	SplitSize = Def{Name: "split.decompressed_size", Label: "decompressed size", Kind: Uint, Flags: Framing, Unit: "bytes",
		Doc: "length of the message that the bzip2 stream holds"}
	SplitCRC = Def{Name: "split.crc32", Label: "crc32", Kind: Uint, Flags: Framing | Hex,
		Doc: "CRC-32 of that message"}
)

// Shared lists the definitions that belong to no protocol.
var Shared = []*Def{&Trailing, &Part, &HiddenPart, &Unread, &SplitSize, &SplitCRC}

// Form is a set of what a request shows besides what it asks for. Programs that ask for the same
// differ in it, and servers answer all of them.
type Form uint8

// Properties of a request.
const (
	NoToken    Form = 1 << iota // it has no Token where there is room for one
	TokenOnes                   // a placeholder is in place of its Token, of bits that are all set
	TokenZero                   // its Token has all bits clear
	BytesAfter                  // bytes follow that the protocol does not define
	Padded                      // bytes of zero follow
	WordNUL                     // it is a word that a NUL ends
	WordBare                    // it is a word that nothing ends
	OddToken                    // bytes of another length are in place of its Token
)

// Plugin is how Wireshark reads a protocol. Its reader is Lua and stands beside the Go that it
// repeats; what the two share, fields, types and findings, is made of the Proto: see
// internal/render/wireshark.
type Plugin struct {
	// Lua sets probe and read of P, the protocol as the runtime has it, and for
	// streams claims, frame, typeOf and gap.
	Lua string
	// Unread lists what it leaves to qsniff.
	Unread []Omission
}

// Omission is fields that a Plugin does not read, with the reason in words.
type Omission struct {
	Why  string
	Defs []*Def
}

// Names of values that several protocols of the family share, for Def.Values.

// HeaderName names the first four bytes of a message.
func HeaderName(v uint64) string {
	if int64(v) == -1 {
		return "one datagram"
	}
	return ""
}

// ServerTypeName names the letter for the kind of server that answers.
func ServerTypeName(v uint64) string {
	switch v | 0x20 {
	case 'd':
		return "dedicated"
	case 'l':
		return "listen, or not said"
	case 'p':
		return "SourceTV or HLTV proxy"
	}
	return ""
}

// EnvironmentName names the letter for the operating system of the server.
func EnvironmentName(v uint64) string {
	switch v | 0x20 {
	case 'l':
		return "Linux"
	case 'w':
		return "Windows"
	case 'm', 'o':
		return "macOS"
	}
	return ""
}

// VisibilityName names the byte for whether a password is needed.
func VisibilityName(v uint64) string {
	switch v {
	case 0:
		return "public"
	case 1:
		return "password"
	}
	return ""
}

// SecuredName names the byte for whether Valve Anti-Cheat is on.
func SecuredName(v uint64) string {
	switch v {
	case 0:
		return "not secured"
	case 1:
		return "secured by VAC"
	}
	return ""
}

// Codes lists the findings that any protocol can raise.
var Codes = []*finding.Code{&TooManyFields, &Deprecated, &WrongPort}

// TooManyFields is raised where a message has more than MaxFields fields.
var TooManyFields = finding.Code{
	ID: "LIM-01", Severity: finding.Warn, Fault: finding.Server,
	Seen:   "a message with more values than a server has reason to send",
	Means:  "decoding stopped at the limit; the rest is shown as bytes",
	Owner:  "look what writes such a message, if it is your server: it is built to exhaust parsers",
	Client: "stop reading at a fixed number of values, whatever the count says",
	Format: "decoding stopped after {a} fields, {b} {b:byte|bytes} left undecoded from byte {byte} on",
}

// Deprecated is raised for a request that current engines ignore, a letter or a word.
var Deprecated = finding.Code{
	ID: "A2S-C07", Severity: finding.Note, Fault: finding.Client,
	Seen:   "a request that current engines ignore",
	Means:  "many servers stay silent: that is no sign of a dead server",
	Owner:  "leave these requests unanswered: their answers are long, and no challenge protects them",
	Client: "ask with A2S_INFO, or with A2S_PLAYER and challenge -1 for a challenge; take silence at the old words for no sign of a dead server",
	Format: "obsolete request, by {field}: most servers no longer answer it",
}

// WrongPort is raised by queries to port A without an answer, where port B of the same host
// answers. It is in PairCodes of the protocols whose queries can go to another port than the game's.
var WrongPort = finding.Code{
	ID: "ASE-01", Severity: finding.Warn, Fault: finding.Client,
	Seen:   "queries to a port that does not answer, while another port of the host answers: the one that belongs to it, or one whose replies name it as the game's",
	Means:  "the client asks the game's port, and shows a server as offline that works: many games answer queries at a port of their own (DayZ, Rust, ARK), Multi Theft Auto at the game's plus 123, which is 22126 for 22003",
	Owner:  "let UDP to the query port pass, and publish it beside the game's port",
	Client: "query the port that answers; players go on joining at the other",
	Ref:    "MTA ASE.cpp",
	Format: "no answer at port {a}: queries are answered at port {b} of the same host{unsure}",
}
