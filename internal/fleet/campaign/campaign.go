// Package campaign finds what the messages of all sensors of a fleet show together: floods that stay
// below what is conspicuous at each host, the same attackers at one host after another, the same
// reflectors. It speaks with no broker, and takes its time from the messages and from when the broker
// got them: the same calls in the same order give the same campaigns.
//
// # The way of a message
//
// Engine.Consume drops a message that came before, by sensor, run and number (sensor.go), learns how far
// the clock of the sensor is off (sensor.go), and files the message: a Server in its window
// (window.go), an Incident in the list of them (incident.go). Of servers that get no more than usual a
// window keeps no sketch, only what they add to the sums of the fleet.
//
// # The way of a window
//
// Engine.Advance closes each window when the broker's time is lateness after its end. carpet.go
// adds up the servers that get much more than usual: rates add up, shares weigh with the queries, sources are
// counted by merged sketches (window.go), and the rules that judge a single server judge the sum. Servers that get much more
// junk than usual are judged apart (carpet.go).
// link.go compares incidents of different hosts. Its findings open, change and close campaigns
// (course.go). Messages of a window that was closed, as after a cut network, are a window of their own,
// which is closed when no more of them come.
//
// # State
//
// Everything is bounded (limits.go), and what is dropped is in Counters. A sensor with 16 servers takes 12 KiB
// on a calm day, and as many in a snapshot; a raised server 4 KiB more while its window is open. A
// message takes 15 us to file and judge, so that one core carries 10,000 such sensors at a quarter of its
// time, beside what it takes to parse (BenchmarkWindow, on a machine that had other work).
// Engine.Snapshot returns all of the state; Engine.Restore continues from there.
//
// # What it does not find
//
// A carpet on few servers of a large fleet, while many others get more than usual for other reasons: raised
// servers are judged together by protocol, and those with visitors outweigh the others. A carpet of junk on fewer hosts
// than half of those that get some junk, or at servers that get more queries than junk. Carpets of guessed challenges.
package campaign

import (
	"net/netip"

	"qsniff/internal/fleet"
	"qsniff/internal/flood"
)

// How is what joins the members of a campaign.
type How string

// The ways.
const (
	// Carpet: servers of several hosts get more than usual at the same time, and together as much as
	// is a flood at a single one.
	Carpet How = "carpet"
	// SameSources: incidents at several hosts have the same sources.
	SameSources How = "same_sources"
	// Walk: one incident follows the other, with the same sources or in the same shape.
	Walk How = "walk"
	// Reflectors: the same reflectors are used against several hosts, or the servers of several hosts
	// against the same victims.
	Reflectors How = "reflectors"
	// SameShape: incidents begin at the same moment, with packets of the same form and about the same rate.
	SameShape How = "same_shape"
)

// Campaign is what several hosts of a fleet have in common: one attack, as far as can be seen. Times are
// Unix nanoseconds by the clock of the broker, as near as the clocks of sensors are known.
type Campaign struct {
	// ID is made of the first window and the members of that: the same messages give the same one.
	ID string `json:"campaign"`
	// Number counts the events of the campaign from 1: with ID it names one.
	Number   uint64 `json:"event_number"`
	Event    string `json:"event"` // by flood.Event: open, update, close
	How      How    `json:"how"`
	Category string `json:"category"` // by flood.Kind
	Level    string `json:"level"`
	Protocol string `json:"protocol,omitempty"`
	Start    int64  `json:"start"`
	Detected int64  `json:"detected"`
	End      int64  `json:"end,omitempty"` // 0: not over
	// Sensors and Servers count all members. Members has those with the highest peaks, at most
	// listedMembers.
	Sensors int      `json:"sensors"`
	Servers int      `json:"servers"`
	Members []Member `json:"members"`
	// Peak is the highest rate of all members together in one window, in packets/s. Baseline is what
	// they usually get.
	Peak     float64 `json:"peak"`
	Baseline float64 `json:"baseline"`
	// Requests is about how many packets there were.
	Requests uint64 `json:"requests"`
	// Sources is an estimate by merged sketches, SourcesError its standard error as a share of it. 0: unknown.
	Sources      float64 `json:"source_count"`
	SourcesError float64 `json:"source_count_error"`
	Confidence   float64 `json:"confidence"`
	// Top are the busiest networks, sealed. TopOf is of how many packets these counts are.
	Top      []fleet.Network `json:"top_networks"`
	TopOf    uint64          `json:"top_networks_of"`
	Evidence []string        `json:"evidence"` // sentences, the most telling first
	Advice   string          `json:"advice"`   // one sentence
}

// Member is a server, or a host, that is part of a campaign.
type Member struct {
	Sensor string `json:"sensor"`
	// Server is invalid of an incident that is not at one server; Target names that then.
	Server netip.AddrPort `json:"server,omitzero"`
	Target string         `json:"target,omitempty"`
	// Run and Incident name the incident of the sensor; 0: none, the server is part of a carpet.
	Run      string  `json:"run,omitempty"`
	Incident uint64  `json:"incident,omitempty"`
	Start    int64   `json:"start"`
	End      int64   `json:"end,omitempty"` // 0: it goes on
	Peak     float64 `json:"peak"`          // packets/s
	Requests uint64  `json:"requests"`
}

// Kind returns the kind of flood; flood.NoKind if a newer program named it.
func (c *Campaign) Kind() flood.Kind { return flood.KindNamed(c.Category) }

// Sensor is what is known of a sensor.
type Sensor struct {
	Name    string `json:"sensor"`
	Run     string `json:"run"`
	Program string `json:"program"`
	Input   string `json:"input"`
	// First and Heard are when the broker got its first and its last message, LastHost its last Host.
	First    int64 `json:"first"`
	Heard    int64 `json:"heard"`
	LastHost int64 `json:"last_host"`
	// Number counts how often Silent changed: with Name and Run it names the change.
	Number uint64 `json:"event_number"`
	Silent bool   `json:"silent"` // no Host message came for silentAfter
	// Skew is how many nanoseconds its clock is after the broker's, negative: before; HasSkew is set
	// where that is so much that its windows are moved.
	Skew    int64 `json:"skew"`
	HasSkew bool  `json:"skewed"`
	// Messages counts those that were taken, Duplicates those that had come before, Missing the
	// numbers that have not come yet, and Lost those that are not waited for any more.
	Messages   uint64 `json:"messages"`
	Duplicates uint64 `json:"duplicates"`
	Missing    uint64 `json:"missing"`
	Lost       uint64 `json:"lost"`
	Servers    int    `json:"servers"`  // with state here
	Unheard    int    `json:"unheard"`  // of them without a message for unheardAfter, though the sensor speaks
	Unlisted   int    `json:"unlisted"` // that the sensor has no messages of
	Packets    uint64 `json:"packets"`
	Dropped    uint64 `json:"dropped"`
	Unsent     uint64 `json:"unsent"`
	Open       int    `json:"incidents_open"`
}

// Server is what is known of a server.
type Server struct {
	Sensor string         `json:"sensor"`
	Addr   netip.AddrPort `json:"server"`
	// Heard is the end of the last window with a message of it, Asked and Answered that of the last
	// one in which it was asked, and sent something.
	Heard    int64   `json:"heard"`
	Asked    int64   `json:"asked"`
	Answered int64   `json:"answered"`
	Usual    float64 `json:"usual"` // queries/s
	Rate     float64 `json:"rate"`  // queries/s, in the last window
}

// Totals are the sums of all sensors in one window.
type Totals struct {
	End int64 `json:"end"` // of the window, Unix nanoseconds
	// Sensors and Servers are those with messages; Raised are the servers that got much more than usual.
	Sensors int `json:"sensors"`
	Servers int `json:"servers"`
	Raised  int `json:"raised"`
	// Packets are all of queries and what answers them, those of servers without messages included.
	PacketsIn  uint64 `json:"packets_in"`
	BytesIn    uint64 `json:"bytes_in"`
	PacketsOut uint64 `json:"packets_out"`
	BytesOut   uint64 `json:"bytes_out"`
	Junk       uint64 `json:"junk"`
	Requests   uint64 `json:"requests"` // by kind and outcome: those that have an outcome
	Unanswered uint64 `json:"unanswered"`
	// Sources and Sites are merged counts of the hosts that sent queries, and of their /16 (IPv6: /32).
	Sources float64         `json:"source_count"`
	Sites   float64         `json:"site_count"`
	Top     []fleet.Network `json:"top_networks"`
	Late    bool            `json:"late"` // of messages that came after the window was closed
}

// Counters are what an engine counted since its state began. Each limit counts what it refuses in one of them.
type Counters struct {
	Messages   uint64 `json:"messages"`    // taken
	Duplicates uint64 `json:"duplicates"`  // messages that had come before
	Lost       uint64 `json:"lost"`        // numbers that never came
	TooEarly   uint64 `json:"too_early"`   // messages about more than maxEarly in the future
	TooLate    uint64 `json:"too_late"`    // messages about more than maxLate ago
	Late       uint64 `json:"late"`        // messages about a window that was closed, which are judged apart
	Repeated   uint64 `json:"repeated"`    // messages about a server that the window had one of
	Corrected  uint64 `json:"corrected"`   // messages with figures that cannot be
	ClockSteps uint64 `json:"clock_steps"` // how often the broker's clock was set by more than a minute
	Windows    uint64 `json:"windows"`     // closed, the late ones included

	SensorsRefused   uint64 `json:"sensors_refused"` // messages of sensors beyond maxSensors
	SensorsEvicted   uint64 `json:"sensors_evicted"` // silent for expireAfter, or replaced by a new one
	ServersRefused   uint64 `json:"servers_refused"` // messages of servers beyond maxServers
	ServersEvicted   uint64 `json:"servers_evicted"`
	RecordsRefused   uint64 `json:"records_refused"`   // raised servers beyond maxRecords: not judged with the others
	WindowsHurried   uint64 `json:"windows_hurried"`   // late ones closed early, as more than manyWindows were open
	WindowsRefused   uint64 `json:"windows_refused"`   // messages of windows beyond maxWindows, or sensorWindows of one
	IncidentsRefused uint64 `json:"incidents_refused"` // beyond maxIncidents, or sensorIncidents of one
	Uncompared       uint64 `json:"uncompared"`        // pairs of incidents beyond maxCompared
	CampaignsRefused uint64 `json:"campaigns_refused"` // beyond maxCampaigns
	MembersRefused   uint64 `json:"members_refused"`   // beyond maxMembers of a campaign

	Campaigns uint64 `json:"campaigns"` // opened
	Events    uint64 `json:"events"`
	// Sizes of the present state.
	Sensors       int    `json:"sensors"`
	Silent        int    `json:"sensors_silent"`
	Skewed        int    `json:"sensors_skewed"`
	Servers       int    `json:"servers"`
	Unheard       int    `json:"servers_unheard"`
	OpenWindows   int    `json:"windows_open"`
	Records       int    `json:"records"` // raised servers with sketches
	Incidents     int    `json:"incidents"`
	OpenCampaigns int    `json:"campaigns_open"`
	MissingNow    uint64 `json:"missing"` // numbers that have not come yet
}

// Counters returns what was counted since the state began.
func (e *Engine) Counters() Counters {
	st := &e.state
	c := st.Counters
	c.Sensors, c.OpenWindows, c.Records = len(st.Sensors), len(st.Windows)+len(st.LateWindows), e.records
	c.Incidents, c.OpenCampaigns = len(st.Incidents)+len(st.Pending), len(st.Courses)
	for _, s := range e.Sensors() {
		c.Lost, c.MissingNow = addUp(c.Lost, s.Lost), addUp(c.MissingNow, s.Missing)
		c.Servers, c.Unheard = c.Servers+s.Servers, c.Unheard+s.Unheard
		if s.Silent {
			c.Silent++
		}
		if s.HasSkew {
			c.Skewed++
		}
	}
	return c
}
