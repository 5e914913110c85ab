package messenger

import "time"

const (
	// firstWait and longestWait bound the time between two attempts to deliver a note, which
	// doubles. Chosen: a restart of a service is over after seconds, and one that is away
	// for an hour gets one request a minute.
	firstWait   = time.Second
	longestWait = time.Minute

	// longestAsked is how long a service may have it wait by Retry-After. Chosen: an alert that
	// is later than that is no alert; services ask for seconds.
	longestAsked = 5 * time.Minute

	// keepTrying is how long a note is tried, from the first attempt on. Chosen: whoever mends a
	// service at night wants to know what was, and what is older is in the file.
	keepTrying = time.Hour

	// lastWords is how long notes are delivered after the run that made them ended. Chosen: three
	// attempts at a service that does not answer, and less than systemd waits before it kills.
	lastWords = 30 * time.Second

	// sendEvery and sendBurst are how many notes a service gets: so many at once, then one in that
	// time. Discord takes 30 messages a minute of a webhook, Slack one a second.
	sendEvery = 2 * time.Second
	sendBurst = 5

	// requestTime is how long a request may take, with resolving and connecting. Chosen: services
	// answer within a second; what hangs is tried again.
	requestTime = 10 * time.Second

	// longestAnswer is how many bytes are read of an answer, and of its headers. Chosen: services
	// send less than a kilobyte, of which only the status counts.
	longestAnswer = 16 << 10

	// longestTitle and longestText are how many bytes of a title and of a text a service gets,
	// before escaping, which doubles them at most for Discord: it takes 256 and 4,096 characters,
	// ntfy 4,096 bytes, Slack and Matrix more.
	longestTitle = 120
	longestText  = 1800

	// toldThreads is how many threads are remembered for each service, so that none is begun twice
	// and changes do not come too often. Chosen: more than may be open.
	toldThreads = 1024

	// execAtOnce is how many of the programs run at the same time. Chosen: one that hangs keeps
	// three others going; more would be a load while an attack is one.
	execAtOnce = 4

	// execOutput is how many bytes of a program's output are put into the log. Chosen: a line or
	// two of an error.
	execOutput = 1 << 10

	// reportTime is how long a report may take. Chosen: one of 128 MiB takes seconds, on a machine
	// under attack maybe minutes.
	reportTime = 10 * time.Minute

	// longestDatagram is how many bytes a message to syslog has. Chosen: rsyslog takes 8 KiB by
	// default.
	longestDatagram = 8 << 10

	// longestParam is how many bytes a value in a message to syslog has, before escaping. Chosen: no
	// value of ours is longer than an address with its protocol, and the name of a server has 64.
	longestParam = 256

	// longestField is how many bytes a value for journald has. Chosen: thirty of them fit into a
	// datagram, which Linux limits to 208 KiB by default.
	longestField = 4 << 10
)
