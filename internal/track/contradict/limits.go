package contradict

import "time"

// The tables, 1.5 MiB in all. In a full table the entry that was not used for longest is evicted;
// Finder.Evicted counts that.
const (
	// maxServers is how many servers are kept with what they said last: hosts have hundreds,
	// and a server browser's capture shows thousands once each.
	maxServers = 2048
	// maxSame is how many ids of servers, and as many lists of players, are kept with the addresses
	// that said them: one of each for a server.
	maxSame = 2048
)

// The thresholds.
const (
	// countsTimes lists in a row must differ from the count of players by more than countsSlack,
	// each at most countsWithin from it, and countsSpan or more from first to last: players who
	// join are in one of both only, and more of them when the map changes. Tags are written now and
	// then only: they must differ for tagsSpan. Counts of countLimit and above do not fit one byte.
	countsTimes  = 3
	countsSlack  = 2
	countsWithin = 2 * time.Second
	countsSpan   = 10 * time.Second
	tagsSpan     = time.Minute
	countLimit   = 255

	// infoFor is how old a server's information may be that says which players are bots.
	infoFor = 2 * time.Minute

	// stillLists lists in a row with the same times of stillPlayers or more, in stillFor or more:
	// caches for lists of players keep them for a minute at most. Chosen.
	stillLists   = 3
	stillPlayers = 3
	stillFor     = 2 * time.Minute
	// stillAge is the least of the longest time among them: proxies write one second for all.
	stillAge = time.Minute

	// jointPlayers or more came within jointWithin of each other, jointAge ago or longer, in
	// jointLists lists: after a restart players come within half a minute. Chosen.
	jointPlayers = 8
	jointWithin  = 2 * time.Second
	jointAge     = 10 * time.Minute
	jointLists   = 2

	// ghostLists lists in a row in ghostFor or more with entries without a name that have been there for ghostAge or
	// more: somebody who joins has no name for a minute at most. Chosen.
	ghostLists = 3
	ghostFor   = time.Minute
	ghostAge   = time.Hour

	// sameAnswers answers in sameFor or more with the same count of samePlayers or more: nobody
	// joins or leaves. A server that is full or has bots only, and an empty one, may stay so. Chosen.
	sameAnswers = 100
	samePlayers = 8
	sameFor     = 2 * time.Hour

	// samePlaces addresses have one id within idFor, or list the same listedPlayers or more within
	// listFor: fewer are one server with an address for each network, and its translation. Chosen.
	samePlaces    = 4
	idFor         = 10 * time.Minute
	listedPlayers = 4
	listFor       = time.Minute
)
