package flood

import (
	"math"
	"net/netip"
	"strconv"

	"qsniff/dissect"
	"qsniff/flood/other"
)

// Kind is a kind of incident.
type Kind uint8

// The kinds, see doc.go.
const (
	NoKind Kind = iota
	FloodFew
	FloodDistributed
	FloodSpoofed
	FloodSuspect
	Reflection
	ReplyFloodVictim
	ChallengeBypass
	JunkFlood
	RconBruteforce
	RconMisconfig
	Scan
	Survey
	Crowd
	Poller
	OpenAmplifier
	OtherFlood
	NumKinds
)

var kindNames = [NumKinds]string{
	NoKind: "", FloodFew: "flood_few", FloodDistributed: "flood_distributed", FloodSpoofed: "flood_spoofed",
	FloodSuspect: "flood_suspect", Reflection: "reflection", ReplyFloodVictim: "reply_flood_victim",
	ChallengeBypass: "challenge_bypass", JunkFlood: "junk_flood", RconBruteforce: "rcon_bruteforce",
	RconMisconfig: "rcon_misconfig", Scan: "scan", Survey: "survey", Crowd: "crowd", Poller: "poller",
	OpenAmplifier: "open_amplifier", OtherFlood: "other_flood",
}

// String is the kind's name in output.
func (k Kind) String() string { return kindNames[k] }

// Level is how much an incident asks for: Alert is an attack, Warn may be one, Info
// is good to know.
type Level uint8

// The levels.
const (
	Info Level = iota
	Warn
	Alert
)

// String is the level's name in output.
func (l Level) String() string { return [...]string{"info", "warn", "alert"}[l] }

// Level returns how much a kind asks for.
func (k Kind) Level() Level {
	switch k {
	case FloodSuspect:
		return Warn
	case RconMisconfig, Survey, Crowd, Poller, OpenAmplifier, NoKind:
		return Info
	}
	return Alert
}

// Event is what happens to an incident.
type Event uint8

// The events.
const (
	Begins  Event = iota // it was detected
	Changes              // another kind fits better, or it grew to twice its size
	Ends
)

// String is the event's name in output.
func (e Event) String() string { return [...]string{"open", "update", "close"}[e] }

// Target is what an incident is about: an address and port, a host alone (the
// victim of replies), or the source of a scan, in IPv6 its /64.
type Target struct {
	End    netip.AddrPort // port 0: the host alone
	Prefix netip.Prefix   // valid: of the source of a scan in IPv6, in place of End
	TCP    bool
}

// String is the target as output writes it: "udp/198.51.100.17:27015".
func (t Target) String() string {
	switch {
	case t.Prefix.IsValid():
		return t.Prefix.String()
	case t.End.Port() == 0:
		return t.End.Addr().String()
	case t.TCP:
		return "tcp/" + t.End.String()
	}
	return "udp/" + t.End.String()
}

// Incident is something that happened over a stretch of time: what opened it, how
// it went, and what it rests on. Times are Unix nanoseconds of packets. A figure
// that the capture cannot give is -1 and named in Missing.
type Incident struct {
	ID       uint64 // from 1, in the order of detection
	Campaign uint64 // the ID of the first of those that belong together
	Kind     Kind
	Level    Level
	Target   Target
	Proto    *dissect.Proto // of what was sent; nil where it is none
	Class    *other.Class   // of what an OtherFlood is made of; else nil
	Start    int64          // of the first second that qualified
	Detected int64
	End      int64  // of the last second that qualified; 0: not over
	Frame    uint64 // a packet at or after Start: where to look
	Pulses   int
	Peak     float64 // packets a second that count: queries, replies at a victim, logins
	Mean     float64
	Baseline float64 // before the incident
	Requests uint64
	Replies  uint64
	// Packets and PeakBytes are of an OtherFlood: all that it counts, and the bytes of the
	// second with most.
	Packets   uint64
	PeakBytes uint64
	Viewed    uint64 // of how many of its packets the sources were looked at
	BytesIn   uint64 // of payload, to the target; of an OtherFlood with all headers from IP's on
	BytesOut  uint64 // and from it
	// Sources is an estimate, SourcesError its standard error as a share of it.
	Sources      float64
	SourcesError float64
	Top          []Source
	Prefixes     []Prefix
	// Completion is the share of the sources challenged that brought the challenge
	// back, of Challenged sources; -1 where that is unknown.
	Completion float64
	Challenged int
	Answered   float64 // replies for each request; -1: only one direction was captured
	History    []Change
	Confidence float64  // 0 to 1
	Evidence   []string // sentences, the most telling first
	Missing    []string // features that the capture could not give
	Advice     string
	Rules      FilterRules
	Features   []Feature // what the verdict rests on, by name, for --explain
	Succeeded  bool      // a guesser got in, a bypass got data
	Dropped    uint64    // packets that the capturing program lost until then
}

// setSources sets Sources to an estimate, which is above Requests at times: no source
// sent less than one.
func (in *Incident) setSources(estimate float64) {
	in.Sources = estimate
	if in.Requests > 0 {
		in.Sources = min(estimate, float64(in.Requests))
	}
}

// Protocol names what was sent; empty where it is none.
func (i *Incident) Protocol() string {
	if i.Proto == nil {
		return ""
	}
	return i.Proto.Name
}

// FilterRules are the lines of an advice alone: a file for nft -f, and one for
// iptables-restore -n (ip6tables-restore where the target has an IPv6 address). Both are
// empty where no filter helps.
type FilterRules struct {
	NFTables, IPTables string
}

// Change is a verdict that a later one replaced.
type Change struct {
	Kind  Kind
	Nanos int64 // when it was given
}

// Source is one of the busiest sources. The true count lies between Low and High.
type Source struct {
	Addr      netip.Addr
	Low, High uint64
	Verified  bool // it brought a challenge back
	Ports     int  // different ones, at least; exact while few
	TTL       int  // -1 if not known
}

// Prefix is one of the busiest networks: a /24, in IPv6 a /64.
type Prefix struct {
	Prefix    netip.Prefix
	Low, High uint64
	Hosts     int // different ones, at least
}

// Feature is a named value that a verdict rests on.
type Feature struct {
	Name  string
	Value float64 // NaN: the capture could not give it
}

// Feature returns the value of a feature; NaN where the incident has none.
func (i *Incident) Feature(name string) float64 {
	for _, f := range i.Features {
		if f.Name == name {
			return f.Value
		}
	}
	return math.NaN()
}

// Share returns the part of all queries in the window, or of all packets of an OtherFlood
// whose sources were looked at, that n of them are; below 0 where
// the incident does not say how many there were.
func (i *Incident) Share(n uint64) float64 {
	all := i.Feature("D") * i.Feature("q")
	if i.Class != nil {
		all = float64(i.Viewed)
	}
	if !(all > 0) {
		return -1
	}
	return min(float64(n)/all, 1)
}

// Amplification returns payload sent for payload received; 0 where nothing was.
func (i *Incident) Amplification() float64 {
	if i.BytesIn == 0 {
		return 0
	}
	return float64(i.BytesOut) / float64(i.BytesIn)
}

// ConfidenceWord returns how sure a confidence is.
func ConfidenceWord(confidence float64) string {
	switch {
	case confidence >= 0.85:
		return "high"
	case confidence >= 0.65:
		return "medium"
	}
	return "low"
}

// Name is the incident in one word: kind and number.
func (i *Incident) Name() string { return i.Kind.String() + " " + strconv.FormatUint(i.ID, 10) }
