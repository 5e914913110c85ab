package stats

// What a collector may hold. Options.Scale multiplies the sizes of the tables.
const (
	// maxAnswering is how many servers that answer are kept: the largest hosts
	// have some hundred on one address, a server browser asks some thousand. The
	// one whose last message is longest ago makes room. 2.5 MiB.
	maxAnswering = 4096

	// maxSilent is how many servers are kept that were only asked, or only
	// heard. They have a table of their own, so that requests to a million
	// forged destinations, or replies from a million forged sources, cannot push
	// out servers that answer. 2.5 MiB.
	maxSilent = 4096

	// maxChallenged is how many pairs of server and client are remembered to have
	// had a challenge, 1 MiB. A pair that is forgotten and comes back with its old
	// challenge is taken for one without.
	maxChallenged = 16384

	// topClients is how many clients the top list counts. Who made more than one
	// in topClients of all requests is in it for sure. 0.5 MiB.
	topClients = 4096

	// distinctBits gives the sketch of distinct clients 2^16 registers of a byte:
	// a standard error of 0.41 %.
	distinctBits = 16

	// distinctSigmas is how many standard errors the stated error has: the
	// estimate is within it in 997 of 1,000 captures.
	distinctSigmas = 3

	// maxPoints is how many intervals the time series has room for, 2 MiB; 18
	// hours at a second. A longer capture makes the intervals longer.
	maxPoints = 1 << 16

	// autoPoints is how many points the series has at most when nobody asked for
	// an interval: as many columns as fit beside a label.
	autoPoints = 60

	// maxTime is the longest time that the distributions of all servers tell
	// from longer ones, in microseconds: ten minutes. Nobody waits as long.
	maxTime = 600_000_000

	// timeDigits is how many digits of a time they keep.
	timeDigits = 3
)
