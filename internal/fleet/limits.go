package fleet

import "time"

const (
	// Period is how long a window is, which Server and Host report. Windows begin at multiples of it
	// in Unix time, so that those of different sensors are of the same seconds. Chosen: that of the
	// sketches of package measure; a campaign is announced within a minute.
	Period = 10 * time.Second

	// MaxServers is how many servers of a sensor have a Server message in each window: the first by
	// their addresses among those that were asked last; the others are in Host.Others. Chosen: as
	// many as a detector watches closely.
	MaxServers = 64

	// MaxMessage is the most bytes of a message. Chosen: a Server takes 7 KiB, an Incident with its
	// lists 16 KiB, and brokers refuse 1 MiB by default.
	MaxMessage = 64 << 10

	// MaxCounts is the same of a Server and of a Host, which come in each window. Chosen: a Server takes 11 KiB at most.
	MaxCounts = 16 << 10

	// MaxText is the most bytes of a text from the network in a message.
	MaxText = 256

	// MaxName is the most bytes of the name of a sensor.
	MaxName = 64

	// Bounds of lists in messages; what is beyond is dropped, and counted where the message has a count for it.
	MaxKinds    = 64  // kinds of queries of a Server: more than one server is asked
	MaxTop      = 16  // busiest sources and networks
	MaxForms    = 16  // forms of packets
	MaxTargets  = 64  // servers of an incident
	MaxFindings = 256 // kinds of findings at servers, in a window
)
