package rcon

// Sizes of the protocol. The size of a packet counts what follows it: id, type,
// body and two NULs.
const (
	minSize = 10
	// usualSize is the most that servers of the Source engine send: 4,096 bytes of
	// body. Valve's description says 4,096 for the size itself.
	usualSize = 4096 + minSize
	// maxSize is the most that is believed: as much as one direction of a connection may have waiting
	// (reassembly/tcpstream). Servers of Counter-Strike 2 send long answers in one packet, of 66,010 bytes where it was
	// reported, and of less than 512,000.
	maxSize = 1<<20 - sizeLen
	// maxFirstSize is the most that a client's packet may have while the connection
	// is not known: Minecraft refuses more than 1,460 bytes, and no password or
	// command is as long.
	maxFirstSize = 1500

	// fullBody is from how many bytes on a body looks cut to fit a packet: servers
	// that count the whole packet stop 10 bytes earlier than those that count the
	// body.
	fullBody = 4096 - minSize
	// longText is from how many bytes on a body of type 0 is taken for output:
	// clients send a few letters in theirs, if any.
	longText = 32
)

// What a session keeps, apart from the bodies of replies: below 1 KiB, and below 5 KiB
// where its lists are full. The usual console has two requests and a frame in them.
const (
	// maxAsked is how many requests may wait for an answer. Clients send one and
	// its probe, tools that write a script at once a dozen. The oldest is
	// evicted: its reply then lacks the command.
	maxAsked = 16
	// askedAtFirst is for how many of them there is room at first: a command and its probe.
	askedAtFirst = 2
	// maxCommand is how much of a command stands beside its reply: a line's worth.
	maxCommand = 64
	// maxFrames is how many packets of a reply are listed. At 4 KiB a packet that
	// is twice what is kept of its body; later ones are counted in its parts.
	maxFrames = 128
	// framesAtFirst is for how many of them there is room at first: most replies have fewer.
	framesAtFirst = 16
)

// The body of a reply, which is taken from the budget of the session.
const (
	// maxBody is how much of a reply is kept: 64 full packets. The longest honest
	// output known, the list of all variables of a server, has about 200 KiB. What
	// is beyond it, or beyond the budget, is counted in the reply's length.
	maxBody = 256 << 10
	// keepBody is how much a session keeps between two replies, so that replies of
	// one packet need no new memory.
	keepBody = 4 << 10
)
