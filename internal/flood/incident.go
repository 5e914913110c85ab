package flood

import (
	"math"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"qsniff/dissect"
	"qsniff/internal/base/hostset"
	"qsniff/internal/flood/measure"
	"qsniff/internal/flood/other"
	"qsniff/internal/flood/sketch"
)

// Kind is a kind of incident.
type Kind uint8

// The kinds.
const (
	NoKind           Kind = iota
	FloodFew              // few sources, or one network, send more queries than clients do
	FloodDistributed      // many sources, whose addresses may be their own
	FloodSpoofed          // many sources, whose addresses are forged
	FloodSuspect          // many sources, which may be a crowd
	Reflection            // the server is used against others
	ReplyFloodVictim      // a host gets replies that it did not ask for
	ChallengeBypass       // requests bring challenges that the server never issued
	JunkFlood             // datagrams that begin like queries and are nothing known
	RconBruteforce        // passwords of the remote console are guessed
	RconMisconfig         // a tool logs in with an old password again and again
	Scan                  // a source asks addresses where nothing answers
	Survey                // a source asks many servers, most of which answer
	Crowd                 // many clients at once
	Poller                // few clients that ask often
	OpenAmplifier         // the server answers anybody, without a challenge, with more than it gets
	OtherFlood            // a host with servers gets too much of something that is no query
	OwnToolStorm          // tools of one's own ask more than clients do
	FloodCompleting       // many sources that bring challenges back and keep asking, as people do not
	NumKinds
)

var kindNames = [NumKinds]string{
	NoKind: "", FloodFew: "flood_few", FloodDistributed: "flood_distributed", FloodSpoofed: "flood_spoofed",
	FloodSuspect: "flood_suspect", Reflection: "reflection", ReplyFloodVictim: "reply_flood_victim",
	ChallengeBypass: "challenge_bypass", JunkFlood: "junk_flood", RconBruteforce: "rcon_bruteforce",
	RconMisconfig: "rcon_misconfig", Scan: "scan", Survey: "survey", Crowd: "crowd", Poller: "poller",
	OpenAmplifier: "open_amplifier", OtherFlood: "other_flood", OwnToolStorm: "own_tool_storm",
	FloodCompleting: "flood_completing",
}

// String returns the kind's name in output.
func (k Kind) String() string { return kindNames[k] }

// Level is how urgent an incident is: Alert is an attack, Warn may be one, Info is worth
// knowing.
type Level uint8

// The levels.
const (
	Info Level = iota
	Warn
	Alert
)

// String returns the level's name in output.
func (l Level) String() string { return [...]string{"info", "warn", "alert"}[l] }

// Level returns how urgent incidents of a kind are.
func (k Kind) Level() Level {
	switch k {
	case FloodSuspect, FloodCompleting, OwnToolStorm, Scan:
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
	Changes              // another kind fits better, or the peak doubled
	Ends
)

// String returns the event's name in output.
func (e Event) String() string { return [...]string{"open", "update", "close"}[e] }

// Target is what an incident is about: an address and port, all servers of a network with a
// port, a host alone (the victim of replies), or the source of a scan, in IPv6 its /64.
type Target struct {
	End    netip.AddrPort // port 0: the host alone; of a network, its first address
	Prefix netip.Prefix   // valid: of the source of a scan in IPv6, in place of End; with a port in End, the network
	TCP    bool
}

// IsNetwork reports whether the target is all servers of a network.
func (t Target) IsNetwork() bool { return t.Prefix.IsValid() && t.End.Port() != 0 }

// String returns the target as output writes it: "udp/198.51.100.17:27015",
// "udp/198.51.100.0/24:27015", "udp/[2001:db8::/64]:27015".
func (t Target) String() string {
	switch {
	case t.IsNetwork() && t.Prefix.Addr().Is6():
		return "udp/[" + t.Prefix.String() + "]:" + strconv.Itoa(int(t.End.Port()))
	case t.IsNetwork():
		return "udp/" + t.Prefix.String() + ":" + strconv.Itoa(int(t.End.Port()))
	case t.Prefix.IsValid():
		return t.Prefix.String()
	case t.End.Port() == 0:
		return t.End.Addr().String()
	case t.TCP:
		return "tcp/" + t.End.String()
	}
	return "udp/" + t.End.String()
}

// Incident is what the detector reports: one kind of abuse, or of unusual load, at one
// target over a stretch of time. Times are Unix nanoseconds of packets. A figure that the
// capture cannot give is -1 and named in Missing.
type Incident struct {
	IsSampled bool   // packets that are samples show it: counts and rates are multiplied, sources are those of the samples
	ID        uint64 // from 1, in the order of detection
	Campaign  uint64 // ID of the first incident of the campaign
	Kind      Kind
	Level     Level
	Target    Target
	// Servers is how many servers of a network the incident is spread over, or how many a
	// note is about: those that the same sources ask, or the open amplifiers of a network; 0:
	// one. Targets lists them, at most 64, of a
	// network the busiest first. MoreServers: there were others besides.
	Servers     int
	Targets     []netip.AddrPort
	MoreServers bool
	Proto       *dissect.Proto    // of the packets; nil if unknown
	Own         *hostset.Networks // one's own tools: no rules name any of them; nil: none
	// Joins is how many attempts a second to join the game came from the busiest source besides, at most.
	Joins float64
	// MorePorts are those of the network's servers, besides that of Target, that get the same.
	MorePorts []uint16
	Class     *other.Class // of the packets of an OtherFlood; else nil
	Start     int64        // of the first second that qualified
	Detected  int64        // when a verdict had held long enough
	End       int64        // of the last second that qualified; 0: not over
	Frame     uint64       // a packet at or after Start: where to look
	Pulses    int          // stretches between pauses of pulseGap seconds and more
	// Peak, Mean and Baseline, the usual rate, are in packets a second of those that
	// count: queries, guesses or junk, replies at a victim, refused logins. Mean is that of the
	// whole length, pauses between pulses included.
	Peak     float64
	Mean     float64
	Baseline float64
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
	// SourceSketch is what Sources was counted with, hashes of the sources' addresses; nil where
	// there is none. Where the sources are servers that answer, the hashes are by
	// measure.Key.HashHost, else they are track.Sighting.ClientHash. It is valid during the call of
	// an observer only.
	SourceSketch *sketch.Distinct
	Top          []Source
	// Shape has the forms of the packets that count, those with most packets first;
	// OtherForms counts packets of further ones. See Kinds.
	Shape      []measure.Form
	OtherForms uint64
	Prefixes   []Prefix // in the window of the verdict
	// TopFrom and TopTo are the stretch of time that the counts in Top are of, and TopOf is
	// how many packets came in it: 0 where that is unknown.
	TopFrom, TopTo int64
	TopOf          uint64
	// Challenged counts how often a source was challenged that waited for no other challenge: who
	// asks again later counts again. Completion is the share in which it brought that back.
	Completion float64
	Challenged int
	// GivesChallenges: the server was seen to give challenges, meanwhile or before.
	GivesChallenges bool
	Gated           dissect.Asked // what the server gives only for a challenge, as far as it showed before the detection
	Answered        float64       // replies for each request of any kind, at most 1; -1: only one direction was captured
	History         []Change
	Weight          Weight     // of the evidence; Confidence makes a share of it
	Evidence        []Sentence // the most telling first
	Missing         []string   // features that the capture could not give, by name
	Advice          Advice
	Features        []FeatureValue // what the verdict rests on, by name, for --explain
	Succeeded       bool           // a guesser got in, a bypass got data
	Leak            Leak           // what a bypass got
	Dropped         uint64         // packets that the capturing program lost before it was opened
}

// setSources sets Sources to an estimate, but to no more than Requests: each source sent at
// least one.
func (in *Incident) setSources(estimate float64) {
	in.Sources = estimate
	if in.Requests > 0 {
		in.Sources = min(estimate, float64(in.Requests))
	}
}

// Protocol returns the name of the packets' protocol; empty if unknown.
func (in *Incident) Protocol() string {
	if in.Proto == nil {
		return ""
	}
	return in.Proto.Name
}

// Change is a verdict that a later one replaced.
type Change struct {
	Kind  Kind
	Nanos int64 // when it was replaced
}

// Source is one of the busiest sources. The true count lies between Low and High.
type Source struct {
	Addr      netip.Addr
	Low, High uint64
	Verified  bool // it brought a challenge back
	// OwnPort is the port from which the host itself brings challenges back, where most of what comes in
	// its name is forged; 0: none is known.
	OwnPort uint16
	Ports   int // different source ports, at least; exact while few
	TTL     int // -1 if unknown
}

// Prefix is one of the busiest networks: a /24, in IPv6 a /64.
type Prefix struct {
	Prefix    netip.Prefix
	Low, High uint64
	Hosts     int // different ones, at least
}

// FeatureValue is the value of a feature that a verdict rests on.
type FeatureValue struct {
	Name  string
	Value float64 // NaN: the capture could not give it
}

// Feature returns the value of a feature; NaN where the incident has none.
func (in *Incident) Feature(name string) float64 {
	for _, f := range in.Features {
		if f.Name == name {
			return f.Value
		}
	}
	return math.NaN()
}

// Share returns which part of the packets that Top is about n of them are, or -1 where their
// number is unknown.
func (in *Incident) Share(n uint64) float64 {
	if in.TopOf == 0 {
		return -1
	}
	return min(float64(n)/float64(in.TopOf), 1)
}

// WindowShare returns which part of the queries in the window of the verdict n of them are, or
// -1 where their number is unknown; of an OtherFlood, of all packets whose sources were counted.
func (in *Incident) WindowShare(n uint64) float64 {
	all := in.Feature("D") * in.Feature("q")
	if in.Class != nil {
		all = float64(in.Viewed)
	}
	if !(all > 0) {
		return -1
	}
	return min(float64(n)/all, 1)
}

// leastShare is the least share of the packets with which a source stands out. Chosen: who
// blocks a source with less than 1 in 200 notices no difference.
const leastShare = 0.005

// StandsOut reports whether a source sent more than one packet, and a share of all that is
// worth a rule.
func (in *Incident) StandsOut(s *Source) bool {
	share := in.Share(s.Low)
	return s.Low >= 2 && (share < 0 || share >= leastShare)
}

// HasLeader reports whether the busiest source stands out.
func (in *Incident) HasLeader() bool { return len(in.Top) > 0 && in.StandsOut(&in.Top[0]) }

// Amplification returns payload bytes sent for each byte received; 0 where none was received.
func (in *Incident) Amplification() float64 {
	if in.BytesIn == 0 {
		return 0
	}
	return float64(in.BytesOut) / float64(in.BytesIn)
}

// ConfidenceWord returns a confidence as a word: high where at least 85 of 100 are true, medium where
// 65 are, else low.
func ConfidenceWord(confidence float64) string {
	switch {
	case confidence >= 0.85:
		return "high"
	case confidence >= 0.65:
		return "medium"
	}
	return "low"
}

// Name returns the kind and the number of the incident.
func (in *Incident) Name() string { return in.Kind.String() + " " + strconv.FormatUint(in.ID, 10) }

// IsAt reports whether the target of the incident can be one of servers. A scan has many
// targets, and a note may have more than it lists: any of them may be.
func (i *Incident) IsAt(servers *hostset.Set) bool {
	switch t := &i.Target; {
	case i.Kind == Scan:
		return true
	case t.IsNetwork():
		return servers.Overlaps(t.Prefix, t.End.Port())
	case slices.ContainsFunc(i.Targets, servers.Has), i.Servers > len(i.Targets): // any may be one that is not listed
		return true
	case t.End.Port() == 0: // the victim of replies is a host
		return servers.HasHost(t.End.Addr())
	default:
		return servers.Has(t.End)
	}
}

// Concerns reports whether what a server sent or got at a time, in Unix nanoseconds, is what
// the incident is about, as far as its target and its time say.
func (in *Incident) Concerns(server netip.AddrPort, nanos int64) bool {
	if nanos < in.Start || in.End != 0 && nanos >= in.End+int64(time.Second) {
		return false
	}
	switch t := &in.Target; {
	case t.IsNetwork():
		return t.Prefix.Contains(server.Addr()) && t.End.Port() == server.Port()
	case slices.Contains(in.Targets, server):
		return true
	case t.End.Port() == 0:
		return t.End.Addr() == server.Addr()
	default:
		return t.End == server
	}
}
