package track

import "time"

// What the exchanges of one partition may take: 1,792 entries of 120 bytes, and
// requests in connections: 3.7 MiB in all 16 partitions. Exchanges under way and
// those that are over lie in tables of their own, and so do those in which a server
// demanded a challenge. A flood of requests from invented addresses fills the table
// of requests that nobody answered; answers to it fill that of what is over.
const (
	// DefaultExchanges is how many requests of one partition can wait for the first
	// word of their server: 16,384 in all. A server that is up answers within
	// 100 ms or so, so they last for 160,000 requests in a second.
	DefaultExchanges = 1024
	// challengedShare, pastShare and callShare are the sizes of the other tables,
	// as a divisor of that: for exchanges whose client was given a challenge and
	// has a round trip to bring it back, for those that are over, and for requests
	// in connections, of which consoles have few.
	challengedShare = 4
	pastShare       = 2
	callShare       = 4

	// spared is how many challenges in a row that were brought back are passed over
	// when one has to make room: who brings one back is at its address, and a flood
	// from invented addresses never does.
	spared = 8
)

// saidFlows is of how many flows one partition remembers the passwords of rcon: 1,024
// in all, 600 KiB, taken with the first. Few addresses administer a server. Those that
// make room count as flows that do.
const saidFlows = 64

// Times, by packets.
const (
	// answerWait is how long a request can be answered: query clients give up after
	// 1 to 3 s.
	answerWait = 3 * time.Second
	// retryFor is how long after the first request the same one is its repetition:
	// three tries of the most patient client. Who still asks then is polling, and
	// each poll that nobody answers counts.
	retryFor = 10 * time.Second
	// jump is more than stamps of packets and the time that passes come apart by
	// themselves between two messages.
	jump = time.Second
	// keptFor is how long after an exchange that is over something is taken for its: a
	// late reply, or a further one.
	keptFor = 15 * time.Second
	// rememberedFor is how long an exchange that is over is known: IP fragments are
	// given up 30 s after the first, and what there is of their message is placed by
	// its own time.
	rememberedFor = 35 * time.Second
	// crossing is how long after a challenge a repeated request may have left before
	// the challenge came: a round trip around the world.
	crossing = 300 * time.Millisecond
)

// maxKinds bounds the kinds of message that exchanges name by a number of eight
// bits; protocols have a few dozen.
const maxKinds = 255

// What the hosts of the fold may take, 3.3 MiB in all. Where a table is full the entry
// that was not used for longest makes room; Hosts.Evicted counts those whose loss can
// hide a finding.
const (
	// maxSockets is how many sockets of clients are known with what they asked: a
	// server with a hundred queries a second has some hundred within the five seconds
	// that count. A flood from invented addresses fills it, and an answer from
	// another address goes unnoticed meanwhile.
	maxSockets = 4096
	// maxAsked is how many servers one socket can have asked the same. Server
	// browsers ask more: who answers them cannot be told from who was not asked.
	maxAsked = 4
	// maxTold is how many answers from other addresses are remembered to have been
	// told.
	maxTold = 1024
	// maxHosts is how many servers are known that answer: hosts have some hundred on
	// one address, and who only replies unasked is not among them.
	maxHosts = 2048
	// maxOffered and maxProven are how many clients are known that servers gave a
	// challenge, and that brought it back: only the first can be invented.
	maxOffered = 2048
	maxProven  = 4096
	// maxBudgets is how many clients of master servers are known: few ask them.
	maxBudgets = 512
	// maxLogins is how many logins can wait for their answers, and maxSources how
	// many addresses are known that were refused one: a TCP connection takes a real
	// address, of which botnets have thousands.
	maxLogins  = 1024
	maxSources = 1024
	// sharedAddresses is how many addresses with one challenge are told apart: those
	// that a finding takes.
	sharedAddresses = 8
	// lastRefusals is how many refused logins of an address are kept: more than those
	// that a finding takes.
	lastRefusals = 16
)

// What findings of Hosts rest on.
const (
	// elsewhereFor is how long an answer from another address is taken for the answer
	// to what the client asked: as long as the most patient clients wait.
	elsewhereFor = 5 * time.Second

	// freshFor is how old a challenge may be that counts as valid: no server is known
	// whose challenges live shorter and outlast a round trip.
	freshFor = 30 * time.Second
	// deadEchoes is how many valid requests in a row must stay without an answer: one
	// is lost now and then.
	deadEchoes = 2
	// aliveFor is how long ago a server may have answered somebody that is taken to be
	// up.
	aliveFor = 10 * time.Second

	// mutedQueries and mutedClients are how many requests for players or rules from how
	// many addresses must stay without an answer: the path of one client can be broken.
	mutedQueries = 5
	mutedClients = 2
	// servedFor is how long ago the server of these may have told its information.
	servedFor = time.Minute

	// sharedWith, sharedOf and sharedShare are to how many addresses a server must give
	// one challenge, of how many in all, and how many percent of them must be that one:
	// behind one NAT or proxy a single address gets the same one for ever.
	sharedWith  = 8
	sharedOf    = 16
	sharedShare = 90

	// guessRefusals and guessInAll are how many refused logins make a guesser, the first
	// of them within guessFor or with other passwords in between, and guessPasswords how
	// many must differ: engines ban after 5, 10 and 30, and people rarely mistype more
	// than twice.
	guessRefusals  = 5
	guessInAll     = 10
	guessPasswords = 5
	guessFor       = 30 * time.Second

	// pageBudget is how many requests a minute, which is pageMinute, the public
	// master servers are said to answer one address; unserved is how many in a row one
	// must leave unanswered after more than those.
	pageBudget = 30
	pageMinute = time.Minute
	unserved   = 2
)
