package fleet

import (
	"encoding/json"
	"net/netip"
)

// Version is that of the messages. A hub reads those of its own version and of older ones.
const Version = 1

// Kind is the kind of a message.
type Kind string

// The kinds, which are the last word of subjects.
const (
	KindServer    Kind = "server"
	KindHost      Kind = "host"
	KindIncident  Kind = "incident"
	KindFinding   Kind = "finding"
	KindInventory Kind = "inventory"
)

// Kinds has all kinds.
var Kinds = []Kind{KindServer, KindHost, KindIncident, KindFinding, KindInventory}

// Head is what all messages begin with.
type Head struct {
	Version int    `json:"v"`
	Kind    Kind   `json:"kind"`
	Sensor  string `json:"sensor"`
	// Run is chosen at random when a sensor starts, and Seq counts the messages of the run from 1,
	// whatever their kind: with the sensor's name they identify a message, and gaps show losses.
	Run string `json:"run"`
	Seq uint64 `json:"seq"`
	// Time is the Unix time in nanoseconds, by the packets: the end of the window, or of the event.
	Time int64 `json:"time"`
}

// Server is what one server was asked and answered in one window.
type Server struct {
	Head
	Addr netip.AddrPort `json:"server"`
	// In and Out count the packets and bytes, with headers, of queries and of what answers them.
	PacketsIn  uint64 `json:"packets_in"`
	BytesIn    uint64 `json:"bytes_in"`
	PacketsOut uint64 `json:"packets_out"`
	BytesOut   uint64 `json:"bytes_out"`
	Junk       uint64 `json:"junk"`
	Unasked    uint64 `json:"unasked"`        // see monitor.Counts
	Unproven   uint64 `json:"unproven_bytes"` // likewise
	// Asked has all kinds of messages that there ever were, also those without any in the window.
	Asked []Asked `json:"messages"`
	// Times has the counts of response times by monitor.RoundLimits, the last those above all;
	// TimesNanos is their sum.
	Times      []uint64 `json:"times"`
	TimesNanos uint64   `json:"times_ns"`
	Measured
}

// Asked is what became of the requests of one kind, or how many replies of a kind there were.
type Asked struct {
	Protocol string            `json:"protocol"`
	Message  string            `json:"message"`
	Count    uint64            `json:"count"`
	Outcomes map[string]uint64 `json:"outcomes,omitempty"` // by monitor.Outcome
}

// Measured is how the queries of a window look to the detector of floods. It has always the same
// size, whatever came.
type Measured struct {
	// IsMeasured is false of a server that the detector did not watch closely: the rest is empty then.
	IsMeasured bool `json:"measured"`
	// Features are those of package measure at the end of the window, of measure.Window seconds: of
	// this window and, if queries came in it, the one before.
	Features Features `json:"features"`
	// Sources and Sites are sketches of the hosts that sent queries, and of their /16 (IPv6: /32),
	// in this window alone.
	Sources Sketch `json:"sources"`
	Sites   Sketch `json:"sites"`
	// Top are the busiest networks, each a /24 (IPv6: /64). It and Forms are filled up with empty
	// entries, which Parse takes off again.
	Top []Network `json:"top_networks"`
	// Forms are the commonest forms of packets, in the last measure.ShapeSeconds of the window.
	Forms []Form `json:"forms"`
}

// Network is one of the busiest networks, or hosts, that sent something.
type Network struct {
	Prefix  Sealed `json:"prefix"`
	Queries uint32 `json:"queries"` // at least
}

// Form is measure.Form by names.
type Form struct {
	Protocol string `json:"protocol,omitempty"`
	Message  string `json:"message,omitempty"`
	HasKey   bool   `json:"challenge,omitempty"`
	Min      uint32 `json:"min"` // bytes
	Max      uint32 `json:"max"`
	Packets  uint64 `json:"packets"`
}

// Host is how a sensor itself does, once in each window: what it read, what it lost, and what it has
// not delivered. A hub announces sensors that send none.
type Host struct {
	Head
	Program  string `json:"program"`          // its version
	Input    string `json:"input"`            // interfaces, or the name of a capture without its folder
	Started  int64  `json:"started"`          // Unix nanoseconds
	Servers  int    `json:"servers"`          // with counters of their own
	Unlisted int    `json:"servers_unlisted"` // of them without a Server message
	Packets  uint64 `json:"packets"`          // all since the start
	Dropped  uint64 `json:"dropped"`
	Open     int    `json:"incidents_open"`
	// Unsent counts what was dropped from messages or could not be made, since the start.
	Unsent uint64 `json:"unsent"`
	Others Others `json:"others"`
}

// Others are the counts of the window of what has no Server message.
type Others struct {
	PacketsIn  uint64 `json:"packets_in"`
	BytesIn    uint64 `json:"bytes_in"`
	PacketsOut uint64 `json:"packets_out"`
	BytesOut   uint64 `json:"bytes_out"`
	Junk       uint64 `json:"junk"`
}

// Incident is one event of an incident at one host.
type Incident struct {
	Head
	ID       uint64 `json:"incident"` // with Run it names the incident
	Event    string `json:"event"`    // by flood.Event
	Category string `json:"category"` // by flood.Kind
	Level    string `json:"level"`
	Protocol string `json:"protocol,omitempty"`
	// Target is what an incident names as its target, if that is at the sensor's side; Source is the
	// sealed target of one whose target is a client, as of a scan.
	Target     string           `json:"target,omitempty"`
	Source     Sealed           `json:"source,omitzero"`
	Servers    int              `json:"servers"`
	Targets    []netip.AddrPort `json:"targets,omitempty"`
	Start      int64            `json:"start"` // Unix nanoseconds, as in flood.Incident
	Detected   int64            `json:"detected"`
	End        int64            `json:"end,omitempty"`
	Peak       float64          `json:"peak"` // packets/s
	Mean       float64          `json:"mean"`
	Baseline   float64          `json:"baseline"`
	Requests   uint64           `json:"requests"`
	Replies    uint64           `json:"replies"`
	BytesIn    uint64           `json:"bytes_in"`
	BytesOut   uint64           `json:"bytes_out"`
	Confidence float64          `json:"confidence"`
	Distinct   float64          `json:"source_count"`
	Sources    Sketch           `json:"sources"`     // of the whole incident; empty where the detector has none
	Top        []Network        `json:"top_sources"` // hosts
	Networks   []Network        `json:"top_networks"`
	Forms      []Form           `json:"forms"`
	// Line is the incident as floods -o json prints it, with the addresses of clients: only where
	// the sensor was asked for it.
	Line json.RawMessage `json:"line,omitempty"`
}

// Finding counts findings of one kind at one server in a window.
type Finding struct {
	Head
	Code     string         `json:"id"`
	Severity string         `json:"severity"`
	Addr     netip.AddrPort `json:"server,omitzero"`
	Count    uint64         `json:"count"`
}

// Inventory is what a server says of itself. It is sent when that changes, and now and then.
// Texts are from the network.
type Inventory struct {
	Head
	Addr       netip.AddrPort `json:"server"`
	Protocol   string         `json:"protocol,omitempty"`
	Name       string         `json:"name,omitempty"`
	Map        string         `json:"map,omitempty"`
	Game       string         `json:"game,omitempty"`
	Build      string         `json:"version,omitempty"`
	Players    int            `json:"players"` // -1: unknown, as all of these
	MaxPlayers int            `json:"max_players"`
	Bots       int            `json:"bots"`
}
