package flood

// The size of every table is fixed when the detector is made: no number of addresses makes it
// grow. At the usual size it takes 10 MiB from the first packets on, of which package other
// takes 2.4 MiB, 36 MiB with all servers, networks, victims and hosts that there is room for,
// and up to 19 KiB for each open incident; with tools of one's own, up to 6.4 MiB more.
const (
	// lightTargets is how many servers are counted coarsely. An attacker who sends to
	// random addresses evicts the oldest.
	lightTargets = 8192
	// heavyTargets is how many servers are watched closely, 240 KiB each. A busier server
	// evicts the least busy one without an open incident. Smaller sizes have fewer, but
	// at least leastTargets.
	heavyTargets = 64
	leastTargets = 8
	// lightNetworks is how many networks (the /24 of servers; IPv6: their /64 and their /48)
	// are counted coarsely, for each port.
	lightNetworks = 2048
	// heavyNetworks is how many networks are watched closely, 265 KiB each. A busier one
	// evicts the least busy one without an open incident. Smaller sizes have fewer, but at
	// least leastNetworks. Chosen: a flood of more networks at a time is found in the
	// sixteen busiest of them.
	heavyNetworks = 16
	leastNetworks = 2
	// networkServers is how many servers of such a network are counted one by one: all of
	// a /24. In IPv6 the last ones that were asked.
	networkServers = 512
	// listedServers is how many servers an incident of a network lists.
	listedServers = 64
	// sharedNotes is how many open notes further servers may join, the last ones, and
	// noteSources how many of the busiest sources are compared. Chosen: services that poll
	// have fewer probes, and a handful of them poll at the same time.
	sharedNotes = 16
	noteSources = 64
	// amplifierServers is how many open amplifiers a note counts, 16 KiB each of at most
	// sharedNotes: all ports that the servers of a network use. Of more it has "at least".
	amplifierServers = 1000
	// askedBytes is the size of each of the two filters of who asked whom in the last five
	// to ten seconds.
	askedBytes = 512 << 10
	// sessionBytes is the same for who spoke the game with which server in the last sessionPeriod to
	// two of these.
	sessionBytes = 128 << 10
	// listedBytes is the same for servers that a master server listed in the last ten to
	// twenty minutes.
	listedBytes = 64 << 10
	// ownPairs is how many pairs of a server and a tool of one's own have credit, and how many
	// challenges that servers gave to tools are kept. Chosen: monitors ask fewer servers.
	ownPairs = 4096
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
