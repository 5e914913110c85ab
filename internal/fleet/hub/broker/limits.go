package broker

import "time"

const (
	// startWait is how long the broker may take until it answers. Chosen: it reads the index of its
	// streams, and after a crash the streams themselves, about 500 MB/s.
	startWait = 2 * time.Minute
	// startStep is how often it is looked whether it answers or has stopped.
	startStep = 100 * time.Millisecond

	// syncEvery is how often the broker has what it took brought to the disk. The machine may lose as
	// much when its power fails, which the numbers of messages show; the process alone loses nothing.
	// Chosen: the default of two minutes is more than a hub should lose, and each message by itself
	// takes a fifth of the rate.
	syncEvery = time.Second

	// mostMemory is how much memory streams may take that are kept in none but it: the hub makes none.
	mostMemory = 64 << 20

	// drainWait is how long the end waits for what the hub has still to send.
	drainWait = 2 * time.Second

	// longestCreds is the greatest size of a file of credentials. Chosen: that of a token with a hundred permissions.
	longestCreds = 64 << 10

	// pingEvery is how often a connection is tried, and pingsMissed how many of these tries may fail.
	// Chosen: a broker that is gone without a word is noticed within half a minute.
	pingEvery   = 10 * time.Second
	pingsMissed = 2

	// reconnectEvery is how often a lost connection is tried again.
	reconnectEvery = time.Second
)
