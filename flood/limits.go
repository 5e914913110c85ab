package flood

// What the detector keeps at most is fixed when it is made: no number of addresses makes it
// grow. Sizes at the usual budget: 9.7 MiB from the first packets on, of which 2.4 MiB are those
// of package other, 26.3 MiB with all targets, victims and hosts that there is room for, and
// up to 16 KiB for each open incident.
const (
	// lightTargets is how many servers are counted coarsely: a spray over random
	// addresses drives out the oldest.
	lightTargets = 8192
	// heavyTargets is how many are watched closely, 225 KiB each. The one that was
	// silent longest makes room, never one with an open incident.
	// A smaller budget has fewer, but leastTargets.
	heavyTargets = 64
	leastTargets = 8
	// askedBytes of each of two filters hold who asked whom in the last five to ten
	// seconds.
	askedBytes = 512 << 10
	// sessionBytes, likewise, with whom the game was spoken.
	sessionBytes = 128 << 10
	// listedBytes, likewise, which servers a master server named in ten to twenty
	// minutes.
	listedBytes = 64 << 10
	// lightVictims are hosts that get replies they did not ask for, heavyVictims
	// those that are watched closely, 108 KiB each.
	lightVictims = 1024
	heavyVictims = 16
	// scanners are sources that asked at least two servers that never answered.
	scanners = 1024
	// firstPlaces is how many sources are remembered with the one silent server that they
	// asked; a newer one takes the place of an older one.
	firstPlaces = 1 << 12
	// sitesBytes is the size of each of two filters that hold networks which were seen to
	// answer.
	sitesBytes = 4 << 10
	// rconTargets are consoles that refused a login, with the last rconKept refusals
	// of each; rconLogins are passwords that wait for the answer.
	rconTargets = 256
	rconKept    = 64
	rconLogins  = 1024
	// openIncidents is how many incidents are open at a time; beyond that the rest is
	// counted only.
	openIncidents = 256
	// keptIncidents is how many closed ones are remembered, for campaigns.
	keptIncidents = 256
	// maxPerMinute is how many incidents of a kind may open in a minute before the
	// rest is counted only: somebody may want to fill the table.
	maxPerMinute = 50
	// collected is how many incidents a report for people holds, of about 2 KiB each;
	// notes make room for warnings, and both for alerts.
	collected = 500
	// seenExact is up to how many servers are counted one by one, to say in what
	// nothing was found; beyond that the number is an estimate. seenPlaces is the room
	// for them.
	seenExact, seenPlaces = 256, 512
)
