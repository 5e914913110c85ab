package advice

import "time"

const (
	// trialSources is how many sources have a bucket in a trial, and the size of the set
	// in the lines with a limit for each source, so that the kernel follows as many. It
	// is more than the botnets that reach one server with queries above such a limit, and
	// takes 512 KiB of slots for each plan of a trial. Sources beyond it pass, here as there.
	trialSources = 1 << 14
	// trialClients is how many proven clients a trial counts one by one: four times what a
	// server's browser traffic shows in a minute (2 visits a second and some monitors),
	// 432 KiB with what they sent. Of further ones only the packets are counted.
	trialClients = 1 << 12
	// planNames is how many sources the lines of one incident name: the eight sources and
	// four networks that an Incident lists.
	planNames = 12
	// planRules is how many kinds of lines one incident has.
	planRules = 3
	// trialPlans is how many plans for an incident a trial tries side by side: those that
	// package advice has for the kind with most of them.
	trialPlans = 4
	// trialForms is for how many forms of packets a trial keeps which lines look at them.
	// Chosen: the queries of a protocol, with and without a challenge.
	trialForms = 16
	// trialPeers is how many sources that the server sent something to a trial keeps, and
	// the size of the set in such lines: a minute of the answers to capUnknown queries a
	// second, and of the players of a large server. It takes 1 MiB for each plan.
	trialPeers = 1 << 15
	// peerIdle is after how long the set drops such a source: a client brings a challenge
	// back within seconds, and a player is sent the game all the time.
	peerIdle = time.Minute
	// trialAnswered is how many sources that the server answered for a challenge a trial
	// keeps, and the size of the sets in such lines: ten minutes of 13 new clients a second,
	// 256 KiB of slots for each of two tables. One beyond it meets the cap.
	trialAnswered = 1 << 13
	// answeredIdle is for how long such a source passes after its last answer. Chosen: a
	// player looks through a list of servers and asks again within minutes, as monitors do.
	answeredIdle = 10 * time.Minute
	// replyPlaces is how many dropped requests a trial keeps until their replies come.
	// Those have no effect on its lines: the server would not have sent them.
	replyPlaces = 1 << 10
	// sourceIdle is after how long without queries the set drops a source: longer than any
	// bucket takes to fill again, so that dropping it makes room and changes nothing else.
	sourceIdle = time.Minute
	// loginIdle is the same for new connections, whose bucket takes a minute to fill.
	loginIdle = 10 * time.Minute
	// maxTrials is how many trials run at a time, of up to 6.7 MiB each (measured: four plans
	// with both tables full and their marks, and the clients), 54 MiB in all. Trials begin with nothing, grow
	// with the sources that come, and keep their memory for the next incident. Incidents that
	// begin while so many run get advice without figures.
	maxTrials = 8
)
