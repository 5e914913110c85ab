package limiter

// What a replay may hold. Options.Scale multiplies the sizes of the tables.
const (
	// maxServers is how many servers are replayed, 0.5 MiB: the largest hosts have
	// some hundred on one address. The one whose last request is longest ago makes
	// room.
	maxServers = 1024

	// maxSources is how many pairs of server and address are counted at a time,
	// 7 MiB. An address that can be refused sends several packets a second, so in a
	// flood from invented addresses it stays unless they send 65,536 in that time.
	maxSources = 65_536

	// maxClients is how many pairs of server and proven client are counted, 2 MiB.
	// Forged addresses never come in, and cannot push them out.
	maxClients = 16_384

	// maxWindow bounds the window of a model, in seconds. Operators set up to some
	// minutes.
	maxWindow = 3600

	// maxTrackedWindow bounds the window of a model that counts how many addresses
	// have one: the counts lie in a ring of seconds for each server.
	maxTrackedWindow = 60

	// maxRate bounds the limits of a model, so that they times the window can be
	// compared with counters.
	maxRate = 1_000_000_000

	// topSources is how many of the sources and of the clients that were refused
	// most are named, of each server.
	topSources = 10
)
