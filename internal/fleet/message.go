// Package fleet defines what the hosts of a fleet, the sensors, report to a hub about their traffic: the
// messages, the subjects that they are published under, and what hides the addresses of clients in
// them. It publishes nothing and judges nothing: internal/fleet/sensor makes the messages, internal/fleet/outbox
// brings them to a broker, and internal/fleet/campaign finds what they show together.
//
//	track.Sighting   on each host
//	  |
//	  v
//	monitor.Meter, flood.Detector
//	  |
//	  |  internal/fleet/sensor: every Period, by the time of packets
//	  v
//	Server, Host, Incident, Finding, Inventory        JSON, of bounded size
//	  |
//	  |  internal/fleet/outbox, in the messenger process: spool, broker
//	  v
//	JetStream        streams of one subject a sensor and kind
//	  |
//	  v
//	internal/fleet/campaign   windows of all sensors, campaigns; internal/fleet/hub brings messages to it and reports them
//
// # What is not in a message
//
// There is no packet in a message, and no address of a client, but for Sealed ones: addresses
// encrypted with the secret of the fleet, which sensors and hubs have and brokers need not. Counts
// of sources travel as sketches of hashes that are keyed with the same secret. A reader with the
// secret can open and test addresses; one without can only see that two are equal.
//
// # Hostile input
//
// Whatever can publish may send anything: Parse bounds every length, and what a message says of its
// sensor must be what the subject says, for which the broker vouches.
package fleet

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"
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

// DefaultPrefix begins the subjects of a fleet that was given no other prefix.
const DefaultPrefix = "qsniff"

// Subject returns the subject of a sensor's messages of a kind: PREFIX.SENSOR.KIND, so that the right
// to publish to PREFIX.SENSOR.> is the right to speak as that sensor only.
func Subject(prefix, sensor string, k Kind) string { return prefix + "." + sensor + "." + string(k) }

// ParseSubject returns which sensor published under a subject, and what.
func ParseSubject(prefix, subject string) (sensor string, k Kind, err error) {
	rest, isOurs := strings.CutPrefix(subject, prefix+".")
	sensor, word, hasKind := strings.Cut(rest, ".")
	if !isOurs || !hasKind {
		return "", "", fmt.Errorf("the subject %.100q is none of %s.SENSOR.KIND", subject, prefix)
	}
	return sensor, Kind(word), CheckName(sensor)
}

// HubName is the name that hubs have among subjects and inboxes, where sensors have theirs. No sensor
// is called so.
const HubName = "_hub"

// InboxPrefix begins the subjects of what a broker answers to a sensor, or with HubName to a hub: acks
// of what it published. Each has its own, so that no sensor has a right to see what others get.
func InboxPrefix(sensor string) string { return "_INBOX." + sensor }

// HeaderSent is the header of messages with the Unix time in nanoseconds at which the sensor published
// them, by its own clock: together with the broker's time it shows how far that clock is off.
const HeaderSent = "Qsniff-Sent"

// MessageID returns an id that no other message has: brokers drop a second one with the same.
func (h *Head) MessageID() string {
	return h.Sensor + "/" + h.Run + "/" + strconv.FormatUint(h.Seq, 10)
}

// CheckName returns an error if a sensor cannot have that name: it is a word of a subject.
func CheckName(name string) error {
	isWord := name != "" && len(name) <= MaxName && name != HubName
	for i := range len(name) {
		c := name[i]
		isWord = isWord && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_')
	}
	if !isWord {
		return fmt.Errorf("%.100q: the name of a sensor is 1 to %d letters, digits, - and _, and not %s", name, MaxName, HubName)
	}
	return nil
}

// NameOf makes a name of a sensor of the name of a host.
func NameOf(host string) string {
	word := strings.Map(func(r rune) rune {
		if r < 0x80 && CheckName(string(r)) == nil {
			return r
		}
		return '-'
	}, host)
	return word[:min(len(word), MaxName)]
}

const (
	// limit: Period is how long a window is, which Server and Host report. Windows begin at multiples of it
	// in Unix time, so that those of different sensors are of the same seconds. Chosen: that of the
	// sketches of package measure; a campaign is announced within a minute.
	Period = 10 * time.Second

	// limit: MaxServers is how many servers of a sensor have a Server message in each window: the first by
	// their addresses among those that were asked last; the others are in Host.Others. Chosen: as
	// many as a detector watches closely.
	MaxServers = 64

	// limit: MaxText is the most bytes of a text from the network in a message.
	MaxText = 256

	// limit: MaxName is the most bytes of the name of a sensor.
	MaxName = 64
)
