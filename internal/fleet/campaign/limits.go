package campaign

import (
	"time"

	"qsniff/internal/fleet"
)

// Times, in nanoseconds as messages have them.
const (
	period = int64(fleet.Period)
	// lateness is how long after its end a window waits for messages, by the broker's time. Chosen:
	// a sensor publishes within a second, and a second delivery comes after ten.
	lateness = int64(15 * time.Second)
	// maxEarly and maxLate bound the times that are believed. Chosen: a message waits in a spool for
	// a day at most, and what is left of skew is less than a minute.
	maxEarly = int64(time.Minute)
	maxLate  = int64(24 * time.Hour)
	// stepLeast is by how much a clock must be set at once to be noticed. Chosen: as much as is believed of a sensor's
	// time, and more than the clocks of the brokers of a cluster differ.
	stepLeast = maxEarly
	// skewLeast is how far a sensor's clock is off before its windows are moved. Chosen: NTP keeps
	// clocks within a tenth of a second, and two seconds are a fifth of a window.
	skewLeast = int64(2 * time.Second)
	// skewPeriod is the length of a turn: the least delay is that of this turn and the one before. Chosen:
	// several messages of each sensor.
	skewPeriod = int64(time.Minute)
	// silentAfter is how long a sensor sends no Host message before it counts as silent. Chosen: six of them.
	silentAfter = int64(time.Minute)
	// lull is how long nobody must have spoken for the silence to be the broker's: after it all sensors have
	// silentAfter anew. Chosen: three Host messages of a fleet of one, many more of a larger one.
	lull = int64(30 * time.Second)
	// unheardAfter is the same for a server of a sensor that speaks. Chosen: longer than a restart takes.
	unheardAfter = int64(5 * time.Minute)
	// expireAfter is how long a silent sensor, or an unheard server, is kept. Chosen: a week's holidays.
	expireAfter = int64(7 * 24 * time.Hour)
	// linkQuiet is how long after its last incident a campaign is over. Chosen: who walks from host to host
	// goes on within minutes. Two incidents that belong together are at most so far apart.
	linkQuiet = int64(10 * time.Minute)
	// holdSilent is how long a campaign stays open while its sensors are silent, and how long an incident is kept that
	// belongs to none: another one may be in a spool. Chosen: the cuts that spools are for.
	holdSilent = int64(30 * time.Minute)
	// longestGap is how many windows without a message are closed one by one. Chosen: as many as end every campaign.
	longestGap = 400
)

// Bounds of the state, with what a full one takes.
const (
	// maxSensors: the plan for one hub. A sensor takes 0.6 KiB, and its servers as below. A further one replaces the one that
	// has been silent for longest, or is refused.
	maxSensors = 10000
	// maxServers is of one sensor, 128 bytes each: twice as many as a sensor reports in a window, as
	// those that it reports change.
	maxServers = 2 * fleet.MaxServers
	// maxRecords is how many raised servers are kept with their sketches, 4 KiB each, in all open
	// windows together. Chosen: 64 MiB.
	maxRecords = 16 << 10
	// maxWindows is how many windows are open, 16 KiB each with few servers, and the same again of messages
	// that come late, of which each Advance leaves manyWindows at most. sensorWindows is how many
	// of either one sensor may open. Chosen: a spool comes back at 50 windows a second, and they stay open for lateness.
	maxWindows    = 2048
	manyWindows   = 1024
	sensorWindows = 512
	// maxIncidents is how many incidents are kept until holdSilent after their end, 3 KiB each;
	// sensorIncidents of one sensor. Chosen: 256 is what a detector has open at a time.
	maxIncidents    = 8192
	sensorIncidents = 256
	// maxCompared is how many pairs of incidents are compared by sketches when a window closes, 5 us
	// each. Chosen: two seconds of one core.
	maxCompared = 400_000
	// maxCampaigns is how many are open at a time, 0.5 MiB each at the most; maxMembers how many members
	// of one are followed.
	maxCampaigns = 256
	maxMembers   = 4096
	// maxStreaks is how many carpets, one of each protocol and those of junk, are followed before they are campaigns.
	maxStreaks = 64
	// listedMembers is how many of them an event lists, and listedNetworks the same for networks.
	listedMembers  = 64
	listedNetworks = fleet.MaxTop
	// keptClosed is how many campaigns are kept that are over, keptWindows how many sums of windows. Chosen: an hour.
	keptClosed  = 64
	keptWindows = 360
	// windowNetworks is how many networks of a window are counted one by one.
	windowNetworks = 2048
	// youngWindows is how many windows a server needs before it may count as raised. Chosen: half a minute,
	// in which its usual rate becomes known at least halfway.
	youngWindows = 3
	// maxRuns is how many runs of a sensor are known, the last ones; maxGaps how many stretches of
	// the numbers of a run that came, 16 bytes each. Chosen: restarts in a row; what a cut leaves.
	maxRuns = 3
	maxGaps = 32
	// trustedSensors is how many sensors must report a campaign that is said with more than confidenceOfFew. Chosen:
	// one more than the credentials that an attacker is assumed to have stolen.
	trustedSensors = 3
	// maxJump is how many numbers of a sensor may be skipped at once: more are counted as so many lost. Chosen:
	// two weeks of a sensor with 8 servers, of which a spool keeps two hours. mostLost is the most that a run is said
	// to have lost. Chosen: an honest sensor takes 100 years for it.
	maxJump  = 1 << 20
	mostLost = 1 << 32
)
