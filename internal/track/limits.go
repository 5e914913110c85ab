package track

import "time"

// The tables of Exchanges. One partition has 1,536 exchanges of 128 bytes, links from its flows,
// and requests in connections: 4.1 MiB in all 16 partitions. The oldest is evicted first, unless it
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

// visitSlots is how many visits of clients one partition holds, 40 KiB: 16,384 in all. Chosen: a
// visit takes seconds, and a server answers some thousand requests a second at most.
const visitSlots = 1024

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
	// copiesFor is within which three equal requests show a client that does not wait. Chosen: no
	// server is so near and so slow that a third one would help.
	copiesFor = time.Second
	// twinFor is within which an equal request may be a copy of the one before that a network or
	// a mirror port made: as with --dedup, which compares more of two packets.
	twinFor = 5 * time.Millisecond
)

// The times of visits.
const (
	// visitGap is how long after the begin of an exchange the next one of a visit may begin: a
	// program waits answerWait at most for what does not come, and asks the next.
	visitGap = 5 * time.Second
	// soon is within what time a program asks for information again if it asks twice in one
	// visit. Chosen: a round trip around the world, less than any poll's period.
	soon = 300 * time.Millisecond
	// minPause and maxPause bound the half second that qstat waits between two requests, 500 to
	// 541 ms where it was recorded, of which the network may make more or less.
	minPause = 480 * time.Millisecond
	maxPause = 650 * time.Millisecond
)

// maxKinds is how many kinds of message exchanges can number in eight bits; protocols have a
// few dozen.
const maxKinds = 255

// The tables of Hosts, 6.4 MiB in all. In a full table the entry that was not used for
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
	// maxWaiting is how many clients are kept that asked a server for players or rules in vain, and
	// maxEager how many servers with clients that repeat too soon. Chosen: such servers and clients
	// are few, and a flood that a server leaves unanswered fills the first.
	maxWaiting = 512
	maxEager   = 128
	// eagerPerServer is how many clients of one server are reported for repeating too soon.
	// Chosen: more are a flood, in which one client more says nothing new.
	eagerPerServer = 8
	// maxTimes is how many answers of a server are counted by their time until all counts are
	// halved. Chosen: enough for percents.
	maxTimes = 250
	// maxBudgets is how many clients of master servers are kept: few ask them.
	maxBudgets = 512
	// maxLists is how many lists of master servers are kept, each of one socket of a client, and
	// maxSeeds how many of the addresses from which each can go on. Chosen: a client asks for
	// one page after the other, and the same again until it comes.
	maxLists = 512
	maxSeeds = 4
	// maxLogins is how many logins can wait for their answers, and maxSources how
	// many addresses are kept that were refused one: a TCP connection takes a real
	// address, of which botnets have thousands.
	maxLogins  = 1024
	maxSources = 1024
	// maxUnrequested is how many pairs of a server and an address are kept that got replies which
	// nobody requested, maxAskers how many addresses that requested any, in the capture's last
	// seconds. Chosen: a host in whose name somebody asks gets replies of some hundred servers a second.
	maxUnrequested = 1024
	maxAskers      = 4096
	// maxPollers is how many clients at a server are kept that wait for answers in vain. Chosen:
	// few clients ask a server again and again that does not answer them.
	maxPollers = 1024
	// maxAskedPorts is how many ports are kept that a protocol whose queries go to another port
	// than the game's was asked or answered at, maxConsoles how many clients that were given a
	// challenge for console commands, and maxForeign how many servers at whose ports other
	// protocols are spoken, and how many pairs of hosts whose connections failed. Chosen: hosts have some hundred servers, and few use consoles.
	maxAskedPorts = 512
	maxConsoles   = 256
	maxForeign    = 256
	// maxJoins is how many pairs of a master server and a server that joins it are kept. Chosen: a server joins three.
	maxJoins = 256
	// maxRepliers is how many hosts that reply are kept; the findings of a host that was evicted are milder.
	// Chosen: a network of 24 bits.
	maxRepliers = 256
	// copiedQuestions is of how many questions of a server the answers are counted, and copyingServers how many
	// servers can be sending answers to one question at a time. Chosen.
	copiedQuestions = 4
	copyingServers  = 4
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
	// lonelyEchoes is the same where nobody else shows that the server lives, but it goes on giving out
	// challenges. Chosen: it gave one for each of these, so a path that loses packets would have to lose
	// those with a challenge alone, three times.
	lonelyEchoes = 3
	// aliveFor is how long ago a server may have answered anybody to count as up.
	aliveFor = 10 * time.Second

	// mutedQueries is how many requests for players or rules must stay without an answer, and
	// mutedClients from how many addresses: the path of a single client can be broken.
	mutedQueries = 5
	mutedClients = 2
	// vainRequests is how many requests of one kind a server must leave unanswered, and answer
	// none, before it counts as one that never does; vainTimes is how often a client must have
	// asked in vain. Chosen: a client that asks once cannot know.
	vainRequests = 5
	vainTimes    = 2
	// eagerFloor is how soon a repeated request is too soon for any server: a round trip on a
	// continent. For a server of which slowOf answers or more are known, a time that slowShare
	// percent of them exceed is too soon as well: its answer is probably on the way.
	eagerFloor = 50 * time.Millisecond
	slowOf     = 20
	slowShare  = 5
	// servedFor is how long ago the server of these may have answered a request for information.
	servedFor = time.Minute

	// A server shares a challenge if it gives it to sharedWith addresses or more, and if it makes
	// up sharedShare percent of sharedOf challenges or more: a single address behind NAT or a
	// proxy gets the same challenge for ever.
	sharedWith  = 8
	sharedOf    = 16
	sharedShare = 90

	// A cache in front of a server shows by two signs of these. cacheAnswers answers in a row have
	// a TTL that differs from that of challenges by more than ttlSlack: one router more or less
	// comes with routes that change. As many take less than half of the shortest of cacheTrips
	// round trips of challenges, leastFloor or more: less than that is the time of a program, and
	// no path. cachePeriods times in a row the bytes of answers stay the same for leastPeriod or
	// more, each time as long up to a share of 1/periodSlack, which cacheAnswers answers measure.
	cacheAnswers = 3
	ttlSlack     = 1
	cacheTrips   = 5
	leastFloor   = time.Millisecond
	cachePeriods = 5
	leastPeriod  = time.Second
	periodSlack  = 4
	// reframedTurns is how often answers must go back to the form that they had before, within
	// reframedFor: a server that restarts can change once, and back. Chosen.
	reframedTurns = 2
	reframedFor   = time.Minute

	// manyAnswers is from how many answers on to one question no network makes the copies: a mirror makes one,
	// a router with two paths another. Servers with two forms of information send three.
	manyAnswers = 10

	// unrequestedReplies are how many replies within unrequestedFor an address gets that asked
	// nobody for quietFor, as long as notes are entered for. From more than unrequestedServers
	// servers it is the victim of all of them, which package flood reports.
	unrequestedReplies = 5
	unrequestedFor     = time.Second
	quietFor           = 2 * int64(elsewhereFor)
	unrequestedServers = 8

	// unbroughtTimes is how many challenges in a row a client must not bring back, each for
	// answerWait: one request may get lost. More than maxSoon further ones within that time are no
	// client that repeats its request. More than maxUnbrought in silentFor at one server are scans or a
	// flood: old clients are few. Chosen.
	unbroughtTimes = 2
	maxSoon        = 4
	maxUnbrought   = 16

	// silentPolls is how many polls in a row must stay without an answer, with times between them
	// that differ by less than pollSpread percent: a program with a clock. One that did not prove
	// its address counts only where a server leaves maxSilences requests or fewer without an answer
	// in silentFor: more are a flood, whose addresses are invented. Chosen.
	// Polls are leastPoll apart or more, and repeated for longestRetry at most: what comes faster
	// is several programs at one address, or a flood.
	silentPolls  = 3
	pollSpread   = 10
	leastPoll    = answerWait
	longestRetry = 5 * time.Second
	maxSilences  = 32
	silentFor    = time.Minute

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
	// minUnjoined is how many attempts to join in a row a master must leave unanswered, each with its repetitions.
	minUnjoined = 2
	// silencePause is after how long since its last answer to a client a master server that does
	// not answer counts as silent. Chosen: it is far more than the minute of silence that a client
	// over its budget gets.
	silencePause = 5 * time.Minute

	// consoleFresh is how long challenges for the console last at least: HLTV forgets them after
	// about that long.
	consoleFresh = 30 * time.Second

	// bothSidesFor is how long before a request that nobody answers a reply of the same host to anybody shows that
	// the capture has its replies: one that lost their direction since, or never had this host's, is no evidence of
	// silence. Chosen: tools that ask at all ask once a minute.
	bothSidesFor = time.Minute

	// A server has clients of one private address if it answered soleAnswers queries, from
	// solePorts ports or more, and all were from there.
	soleAnswers = 20
	solePorts   = 5

	// A server is open to abuse if openAnswered answers of one kind went to openSources addresses
	// or more that had proven nothing, and had more bytes than the requests.
	openAnswered = 20
	openSources  = 3
)
