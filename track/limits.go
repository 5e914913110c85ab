package track

import "time"

// The tables of Exchanges. One partition has 1,536 exchanges of 120 bytes, links from its flows,
// and requests in connections: 3.9 MiB in all 16 partitions. The oldest is evicted first, unless it
// waits and so many others of its kind do not: a flood of requests from invented addresses evicts
// only exchanges to which the server has not replied, and answers to it only those that ended.
const (
	// DefaultExchanges is how many requests of one partition can wait for the first
	// reply of their server, whatever else comes: 16,384 in all. A server that is up answers
	// within 100 ms or so, so that is enough for 160,000 requests in a second.
	DefaultExchanges = 1024
	// endedShare is the divisor of that for the room that ended exchanges have if all others
	// wait, challengedShare that for how many wait whose client was given a challenge and has
	// a round trip to bring it back, callShare that for requests in connections, of which
	// consoles have few.
	challengedShare = 4
	endedShare      = 2
	callShare       = 4

	// maxSpared is how many old entries in a row are spared when one must be evicted.
	// Chosen: it bounds the work for one packet, and a flood is rarely as mixed.
	maxSpared = 8
)

// passwordFlows is how many flows of one partition keep passwords of rcon: 1,024
// in all, 900 KiB, allocated with the first. Few addresses administer a server. Evicted
// ones count in Flows.Evicted.
const passwordFlows = 64

// Times, on the packets' clock.
const (
	// answerWait is how long a request can be answered: query clients give up after
	// 1 to 3 s.
	answerWait = 3 * time.Second
	// retryFor is how long after the first request an equal one is its repetition:
	// three tries of the most patient client. A client that still asks then is polling, and
	// each poll that nobody answers counts.
	retryFor = 10 * time.Second
	// maxDrift is how far the stamps and the age of packets may drift apart between two messages
	// before the clock counts as set forward. Chosen: far above what they drift by themselves.
	maxDrift = time.Second
	// extraFor is how long after its end an exchange still takes replies: a late one, or a
	// further one.
	extraFor = 15 * time.Second
	// endedFor is how long an ended exchange is kept: an incomplete message of IP fragments is
	// given out 30 s after its first fragment, and is placed by that fragment's time.
	endedFor = 35 * time.Second
	// crossingFor is how long after a challenge a repeated request may arrive that its client
	// sent before the challenge came: a round trip around the world.
	crossingFor = 300 * time.Millisecond
)

// maxKinds is how many kinds of message exchanges can number in eight bits; protocols have a
// few dozen.
const maxKinds = 255

// The tables of Hosts, 3.8 MiB in all. In a full table the entry that was not used for
// longest is evicted; Hosts.Evicted counts the evictions that can hide a finding.
const (
	// maxSockets is how many sockets of clients are kept with what they asked: a
	// server with a hundred queries a second has some hundred within the five seconds
	// that count. A flood from invented addresses fills the table, and an answer from
	// another address goes unnoticed meanwhile.
	maxSockets = 4096
	// maxNotes is how many questions and replies are noted, 0.5 MiB, until a reply that nobody
	// requested shows that the sockets matter: with a challenge, four for each of 2,000 sockets.
	maxNotes = 8192
	// maxAsked is how many servers one socket can have asked the same question. Server
	// browsers ask more: then it cannot be determined which one a reply answers.
	maxAsked = 4
	// maxElsewhere is how many reported answers from other addresses are kept, so as not to report
	// them again.
	maxElsewhere = 1024
	// maxHosts is how many answering servers are kept: hosts have some hundred on
	// one address. Servers that only send replies nobody requested do not enter the table.
	maxHosts = 2048
	// maxOffered and maxProven are how many clients are kept that were given a
	// challenge, and that brought it back: only the first can be invented.
	maxOffered = 2048
	maxProven  = 4096
	// maxBudgets is how many clients of master servers are kept: few ask them.
	maxBudgets = 512
	// maxLogins is how many logins can wait for their answers, and maxSources how
	// many addresses are kept that were refused one: a TCP connection takes a real
	// address, of which botnets have thousands.
	maxLogins  = 1024
	maxSources = 1024
	// sharedAddresses is how many addresses with one challenge are counted: as many as the
	// finding needs (sharedWith).
	sharedAddresses = 8
	// lastRefusals is how many refused logins of an address are kept: more than the finding
	// needs (guessInAll).
	lastRefusals = 16
)

// The thresholds of Hosts' findings.
const (
	// elsewhereFor is how long a reply from another address can be the answer
	// to what the client asked: as long as the most patient clients wait.
	elsewhereFor = 5 * time.Second

	// freshFor is how old a challenge may be that counts as valid: no server is known whose
	// challenges outlast a round trip and expire sooner.
	freshFor = 30 * time.Second
	// deadEchoes is how many valid requests in a row must stay without an answer: one
	// is lost now and then.
	deadEchoes = 2
	// aliveFor is how long ago a server may have answered anybody to count as up.
	aliveFor = 10 * time.Second

	// mutedQueries is how many requests for players or rules must stay without an answer, and
	// mutedClients from how many addresses: the path of a single client can be broken.
	mutedQueries = 5
	mutedClients = 2
	// servedFor is how long ago the server of these may have answered a request for information.
	servedFor = time.Minute

	// A server shares a challenge if it gives it to sharedWith addresses or more, and if it makes
	// up sharedShare percent of sharedOf challenges or more: a single address behind NAT or a
	// proxy gets the same challenge for ever.
	sharedWith  = 8
	sharedOf    = 16
	sharedShare = 90

	// guessRefusals refused logins within guessFor, or guessInAll at any time, make a guesser if
	// guessPasswords different ones are among them: engines ban after 5, 10 and 30 failures, and
	// people rarely mistype more than twice.
	guessRefusals  = 5
	guessInAll     = 10
	guessPasswords = 5
	guessFor       = 30 * time.Second

	// pageBudget is how many requests in a pageMinute the public master servers are said to answer
	// one address; minUnserved is how many in a row one must leave unanswered after more than
	// those.
	pageBudget  = 30
	pageMinute  = time.Minute
	minUnserved = 2
)
