package dissect

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

// What the roles have in common.
const (
	// Queries are the questions that every client asks of a server: the ones that a
	// server may answer in part only, or answer after a challenge.
	Queries = AskInfo | AskPlayers | AskRules
	// Describing are the questions whose answers say what a server is: name, map, players.
	Describing = AskInfo | AskStatus | AskBrowse | AskPresence
	// Informing are the questions whose answers have data that nobody has to log in for:
	// such answers are worth sending to a victim.
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
