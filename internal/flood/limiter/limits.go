package limiter

// What a replay may hold. Options.Scale multiplies the sizes of the tables.
const (
	// maxServers is how many servers are replayed, 0.5 MiB: the largest hosts have
	// some hundred on one address. The server whose last request is longest ago is evicted.
	maxServers = 1024

	// maxSources is how many pairs of server and address are counted at a time,
	// 7 MiB. An address that can be refused sends several packets a second, so in a
	// flood from invented addresses it stays unless the flood has 65,536 others in that time.
	maxSources = 65_536

	// maxClients is how many pairs of server and proven client are counted, 2 MiB.
	// Forged addresses never enter this table, so they cannot evict clients.
	maxClients = 16_384

	// maxWindow bounds the window of a model, in seconds. Chosen: operators set up to a few
	// minutes.
	maxWindow = 3600

	// maxTrackedWindow bounds the window of a model with MaxTracked: addresses are counted in
	// a ring of seconds for each server.
	maxTrackedWindow = 60

	// maxRate bounds the limits of a model, so that a limit times the window can be
	// compared with counters.
	maxRate = 1_000_000_000

	// topSources is how many of the most refused sources, and of the most refused clients,
	// the summary of a server lists.
	topSources = 10
)
