package sensor

import (
	"time"

	"qsniff/internal/fleet"
)

const (
	// topEach is how many of the busiest networks a Server lists, and formsEach how many forms of
	// packets: as many in each window, filled up with empty ones. Chosen: networks are compared
	// with those of other hosts, where a sixteenth adds nothing; a flood has one form or two.
	topEach   = fleet.MaxTop
	formsEach = 4

	// kindsEach is how many kinds of messages a Server lists, those that came most; the others are
	// one entry. Chosen: requests and replies of one protocol; who sends all seventy kinds to a
	// server once must not make its messages ten times as long for ever.
	kindsEach = 12

	// incidentsEach is how many Incidents that begin or end there are in a window, and updatesEach
	// how many that change: an incident changes once in each, and is sent as it is at the end.
	// What is beyond is dropped, and counted as unsent. Chosen: what one attack makes is one
	// incident or one for each kind, and the detector opens at most 50 of a kind in a minute.
	incidentsEach = 48
	updatesEach   = 16

	// findingsEach is how many kinds of findings, each at one server, are counted in a window.
	findingsEach = fleet.MaxFindings

	// inventoryEvery is how often an Inventory of a server is sent, if only numbers have
	// changed, as that of the players.
	inventoryEvery = 5 * time.Minute

	// maxLine is the longest Incident.Line. A longer one is dropped, and counted as unsent.
	maxLine = 16 << 10

	// emptyWindows is how many windows without a packet are sent after one with packets, where
	// no time passed in between: in a capture with a gap. Chosen: a hub announces after a minute
	// that a sensor is silent.
	emptyWindows = 6

	// The longest messages of each kind, in JSON. A test makes them.
	serverBytes    = 11 << 10
	hostBytes      = 2 << 10
	incidentBytes  = 12 << 10
	findingBytes   = 512
	inventoryBytes = 2 << 10

	// windowBytes is the most that the messages of a window have together, but for Incident.Line,
	// which only those who ask for addresses have. Most of it is room for events that no window
	// has all of: sixteen servers have 110 KiB.
	windowBytes = fleet.MaxServers*(serverBytes+inventoryBytes) + hostBytes +
		(incidentsEach+updatesEach)*incidentBytes + findingsEach*findingBytes
)
