package serve

import "time"

const (
	// MaxConns is how many connections are open at a time; further ones are closed at once, and
	// counted. Chosen: several scrapers, and more people than look at one page.
	MaxConns = 128
	// maxLobby is how many connections wait for their first byte, for lobbyWait at most; for a newer one the
	// oldest is closed, and counted. Chosen: one core opens 10,000 to 17,000 connections a second, of which the oldest has
	// waited 60 ms then, and a reader sends its request at once. With 16 places 27 of 40 scrapes came through.
	maxLobby  = 1024
	lobbyWait = 250 * time.Millisecond
	// acceptPause is how long nothing is accepted when the program has no file descriptor left.
	acceptPause = 10 * time.Millisecond
	// maxStrangers is how many connections may be open past that on which no request was let in yet, and
	// maxStrangersOf how many of one address, or one /64 of IPv6; for a newer one the oldest is closed, and
	// counted. Chosen: half of all; twice the connections that a browser opens at a time.
	maxStrangers   = MaxConns / 2
	maxStrangersOf = 16
	// maxHeader is how long the head of a request may be, in bytes. Chosen: what browsers send,
	// with cookies of other ports of the host.
	maxHeader = 16 << 10
	// headerWait is how long it may take to come. Chosen: a slow line, and no more.
	headerWait = 5 * time.Second
	// writeWait is how long an answer may take to be read, from the end of the head on. A handler
	// that streams sets its own deadlines.
	writeWait = 20 * time.Second
	// idleWait is how long a connection may wait for the next request. Chosen: longer than a
	// minute, which is how often many scrape.
	idleWait = 90 * time.Second
	// closeWait is how long the end waits for answers that are being written. Chosen: less than
	// systemd and people wait.
	closeWait = time.Second
	// documentEvery is how often the document of a Live is made, whoever asks. Chosen: as new as a page
	// that somebody reads has to be.
	documentEvery = 2 * time.Second
	// maxViewers is how many follow a Live at a time; more get 503. Chosen: those of a team, and a
	// quarter of the connections, so that others are left for scrapers.
	maxViewers = 32
	// viewerLease is after how long a viewer has to ask anew, and viewerLeave how long it may take to leave
	// then. Chosen: a viewer that does not read takes up a place for a minute; events
	// are so short that the system takes them for it for days.
	viewerLease = time.Minute
	viewerLeave = 5 * time.Second
	// heartbeat is how often a viewer is written to at least. Chosen: proxies close what is
	// silent for half a minute.
	heartbeat = 15 * time.Second
	// eventWait is how long the system may take to accept an event. Chosen: a slow line, and no more.
	eventWait = 5 * time.Second
	// leastToken and mostToken are how long a token may be, in bytes. Chosen: 16 characters
	// cannot be guessed over a network; a key of 4096 bits in hexadecimal fits.
	leastToken = 16
	mostToken  = 1024
)
