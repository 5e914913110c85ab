package advice

import "time"

const (
	// trialSources is the size of the set in the lines with a limit for each source, so
	// the kernel follows as many as a trial does: more than the botnets that reach one
	// server with queries above such a limit, and 512 KiB of slots in a trial. Sources
	// beyond it pass, here as there.
	trialSources = 1 << 14
	// trialClients is how many proven clients a trial tells apart: four times what a
	// server's browser traffic shows in a minute (2 visits a second and some monitors),
	// 128 KiB. Those beyond it are said to be more.
	trialClients = 1 << 12
	// planNames is how many sources one incident's lines name: what Incident lists.
	planNames = 12
	// planRules is how many kinds of lines one incident has.
	planRules = 2
	// sourceIdle is how long the set remembers a source of queries: longer than any
	// bucket takes to fill again, so that letting it go changes nothing but the room.
	sourceIdle = time.Minute
	// loginIdle is the same for new connections, whose bucket takes a minute to fill.
	loginIdle = 10 * time.Minute
	// maxTrials is how many incidents have their rules tried at a time, up to 640 KiB
	// each; those that begin while so many run get advice without figures.
	maxTrials = 8
)
