package flood

// The size of every table is fixed when the detector is made: no number of addresses makes it
// grow. At the usual size it takes 7.5 MiB from the first packets on, 24 MiB with all servers
// and victims that there is room for, and up to 17 KiB for each open incident.
const (
	// lightTargets is how many servers are counted coarsely. An attacker who sends to
	// random addresses evicts the oldest.
	lightTargets = 8192
	// heavyTargets is how many servers are watched closely, 235 KiB each. A busier server
	// evicts the least busy one without an open incident. Smaller sizes have fewer, but
	// at least leastTargets.
	heavyTargets = 64
	leastTargets = 8
	// askedBytes is the size of each of the two filters of who asked whom in the last five
	// to ten seconds.
	askedBytes = 512 << 10
	// sessionBytes is the same for who spoke the game with which server.
	sessionBytes = 128 << 10
	// listedBytes is the same for servers that a master server listed in the last ten to
	// twenty minutes.
	listedBytes = 64 << 10
	// lightVictims is how many hosts that get replies without a request are counted
	// coarsely, heavyVictims how many are watched closely, 108 KiB each.
	lightVictims = 1024
	heavyVictims = 16
	// scanners is how many sources are watched that asked at least two servers that never
	// answered.
	scanners = 1024
	// firstRequestPlaces is how many sources are kept with the one silent server that they
	// asked; a newer source replaces an older one.
	firstRequestPlaces = 1 << 12
	// sitesBytes is the size of each of the two filters of networks from which answers
	// came.
	sitesBytes = 4 << 10
	// rconTargets is how many consoles that refused a login are kept, with the last
	// rconKept refusals of each; rconLogins is how many logins wait for their answer.
	rconTargets = 256
	rconKept    = 64
	rconLogins  = 1024
	// openIncidents is how many incidents are open at a time. Further ones are counted,
	// and not opened.
	openIncidents = 256
	// keptIncidents is how many closed incidents are kept, for campaigns.
	keptIncidents = 256
	// maxPerMinute is how many incidents of a kind open in a minute, so that nobody can
	// fill openIncidents with them. Further ones are counted, and not opened.
	maxPerMinute = 50
	// guessPlaces is how many clients that guess challenges are kept until the answer comes,
	// 32 KiB: more than guess in the time that an answer takes.
	guessPlaces = 1 << 12
	// leakReceivers is how many of those who got answers to guesses are kept for each
	// server. Another one replaces the one that got the least.
	leakReceivers = 8
	// collected is how many incidents a report for people holds, of about 2 KiB each;
	// notes make room for warnings, and both for alerts.
	collected = 500
	// seenExact is the largest number of servers that Seen counts exactly; above it the
	// number is an estimate.
	seenExact = 256
)
