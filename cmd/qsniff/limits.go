package main

import "time"

// What bounds qsniff replay.
const (
	// replayConns is how many connections are open at a time; more are closed at once. Chosen:
	// more than the tests of a library open.
	replayConns = 64
	// replayIdle is how long a connection may be silent. Chosen: longer than anybody thinks
	// about a command.
	replayIdle = 10 * time.Minute
	// replayDelayed is how many replies wait for --delay; more are lost. Chosen: a reply
	// each millisecond, with a delay of four seconds.
	replayDelayed = 4096
	// maxDelay bounds --delay. Chosen: longer than any client waits.
	maxDelay = time.Minute
	// portTries is how often a port is looked for that is free over UDP and TCP.
	// Chosen: one of two is free even where most are taken.
	portTries = 20
)

// What bounds qsniff report.
const (
	// reportSize is how long a report is without --max-size. Chosen: what a mail takes, and a
	// browser shows at once.
	reportSize = 5 << 19
	// reportServers, reportClients, reportIncidents and reportFindings are how many rows it has
	// of each. Chosen: more than anybody reads, and a megabyte at most in all.
	reportServers   = 200
	reportClients   = 100
	reportIncidents = 64
	reportFindings  = 300
)

// What bounds qsniff monitor.
const (
	// stallAfter is how long the pipeline may do nothing before the monitor counts as not well. A source
	// without packets shows that it is there ten times a second. Chosen: far longer than a busy machine
	// takes for a batch.
	stallAfter = 10 * time.Second
	// reloadPatience is how long a reload waits for the goroutine of the pipeline. Chosen: a batch takes
	// milliseconds, and a second on a machine that an attack keeps busy.
	reloadPatience = 5 * time.Second
	// growingLag is how long a capture that grows may bring nothing before time passes without it.
	// Chosen: programs that write captures hold packets back until several kilobytes have come together.
	growingLag = int64(5 * time.Second)
	// longestSecret is the greatest size of the file of a token, in bytes. Chosen: that of a token
	// and a comment.
	longestSecret = 4 << 10
	// longestCreds is the greatest size of the file of credentials for a broker, in bytes. Chosen: that of
	// a token with a hundred permissions.
	longestCreds = 64 << 10
)
