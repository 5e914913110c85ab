// Package rcon dissects Source RCON, the remote console over TCP of Source engines
// and of the many games that took it over: it finds the packets in the two streams
// of a connection, tells what each is for, and joins the output that came in several.
// It does not join TCP segments, and it does not read the remote consoles that share
// the name only: rcon over UDP (dissect/goldsource), BattlEye's, Xash3D's and Source 2's
// VConsole, Rust's WebRCON.
//
// Numbers are little-endian and signed:
//
//	0       4       8       12          size+2     size+4
//	+-------+-------+-------+-----------+----+----+
//	| size  |  id   | type  | body      | 00 | 00 |    size = length of body + 10
//	+-------+-------+-------+-----------+----+----+
//
//	to the server                        to the client
//	3  SERVERDATA_AUTH  the password     2  SERVERDATA_AUTH_RESPONSE
//	2  SERVERDATA_EXECCOMMAND            0  SERVERDATA_RESPONSE_VALUE
//	0  an end probe
//
// The body is as long as the size says; it can hold NULs. The client chooses ids, the
// server repeats them; AUTH_RESPONSE with id -1 refuses a password.
//
//	client                          server
//	AUTH 1 "..."               ->
//	                           <-   RESPONSE_VALUE 1 ""     Source engine only
//	                           <-   AUTH_RESPONSE 1
//	EXECCOMMAND 2 "cvarlist"   ->
//	RESPONSE_VALUE 3 ""        ->                           the end probe
//	                           <-   RESPONSE_VALUE 2 "..."
//	                           <-   RESPONSE_VALUE 2 "..."
//	                           <-   RESPONSE_VALUE 3 ""     its mirror
//	                           <-   RESPONSE_VALUE 3 00 01 00 00    the trailer
//
// Nothing marks the end of a reply: clients send a probe after the command and read
// up to its mirror, or send a second command, or wait. A reply of several packets
// makes a record of its own, with the joined text, when something shows that it is
// over.
//
// # Recognition
//
// There is no mark at the start of a packet either. A connection is RCON without a
// doubt if the client's first packet is a login: type 3, text, two NULs where the
// size says, then the next packet or nothing. Other packets are believed with a
// port or with a second one. Until then sizes must be usual and bodies text, which
// refuses protocols that begin with a length too, MongoDB on port 27017 among them.
// In a known connection only an impossible size is wrong. It ends the packets of
// its direction until three follow each other again.
//
// # Dialects
//
//	Counter-Strike 2  nothing before AUTH_RESPONSE, no mirror, long answers in
//	                  one packet of 66,010 bytes and more
//	Minecraft         types other than 2 and 3 are answered "Unknown request N":
//	                  that is the mirror
//	Factorio, Zomboid one packet a reply, no mirror
//	Palworld          id 0 in replies; the size counts characters, not bytes
//	Conan Exiles      id 42 in replies
//	Rust, old         type 4, id 0 or -1: lines of the console that nobody asked for
//	ARK               "Keep Alive", id 0
//	Squad             type 1: events; the probe is an empty packet of type 2, seven
//	                  bytes 00 01 00 00 00 xx xx follow its mirror
//	PocketMine        wrong sizes in replies
//	rcon-server (npm) type 3 accepts a login, type -1 refuses it, with its id
//
// Where a server puts one id into all replies the order says what they answer.
//
// # Secrets
//
// The body of AUTH is a secret, whole or cut. So is every body of a client that has
// not logged in yet, except that of a command: some send the password with a wrong
// type. Where the bytes of such a client make no packet they are hidden too, and so
// are those after a command or output that a wrong size cut. Commands and output are
// searched for the values of variables that hold a password, and for the last passwords
// that the connection showed: servers repeat them, in a refusal first of all. A value
// that begins in one packet is hidden in the next. After bytes that are missing the
// first line of output may be the rest of one, whichever packet of its answer it is in.
//
// # Sources
//
// The Valve developer wiki; Alfred Reynolds' specification of 2004; the clients and
// servers gorcon/rcon, james4k/rcon, conqp/rcon, python-valve, xPaw's
// PHP-Source-Query, mcrcon, SquadJS.
//
// # Open questions
//
// The wiki gives 4,096 as the largest size, servers send 4,106. No capture of
// Squad's seven bytes, Palworld's sizes or Rust's type 4 is known: their drawing
// follows the programs that read them. What PocketMine's sizes count is not known:
// its replies are read as they say, and the place in the stream is found again.
package rcon
