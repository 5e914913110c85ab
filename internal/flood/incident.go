package flood

import (
	"cmp"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"qsniff/dissect"
	"qsniff/internal/base/digits"
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
	OwnToolStorm          // the operator's tools ask more than clients do
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
	Own         *hostset.Networks // the operator's tools: no rules name any of them; nil: none
	// Joins is how many attempts a second to join the game came from the busiest source besides, at most.
	Joins float64
	// MorePorts are those of the network's servers, besides that of Target, that get the same.
	MorePorts []uint16
	Class     *other.Class // of the packets of an OtherFlood, and of a Reflection by a server of another game; else nil
	Start     int64        // of the first second that qualified
	Detected  int64        // when a verdict had held long enough
	End       int64        // of the last second that qualified; 0: not over
	Paused    int64        // the same while nothing qualifies and another pulse may continue it; else 0
	Frame     uint64       // a packet at or after Start: where to look
	Pulses    int          // stretches between pauses of pulseGap seconds and more
	// Peak, Mean and Baseline, the usual rate (0: unknown), are in packets a second of those that
	// count: queries, guesses or junk, replies at a victim, refused logins. Mean is that of the
	// whole length, pauses between pulses included.
	Peak     float64
	Mean     float64
	Baseline float64
	Requests uint64
	Replies  uint64
	// Packets and PeakBytes are of one with a Class: all that it counts, and the bytes of the
	// second with most.
	Packets   uint64
	PeakBytes uint64
	Viewed    uint64 // of how many of its packets the sources were looked at
	BytesIn   uint64 // of payload, to the target; of one with a Class with all headers from IP's on
	BytesOut  uint64 // and from it
	// Sources is an estimate, SourcesError its standard error as a share of it, with the sources from
	// before Start in what it was counted with.
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
	// Challenged counts the challenges that the server gave. Completion is the share of these that were
	// brought back; -1 if it cannot be determined.
	Completion float64
	Challenged int
	// GivesChallenges: the server was seen to give challenges, meanwhile or before.
	GivesChallenges bool
	Gated           dissect.Asked // what the server gives only for a challenge, as far as it showed before the detection
	Answered        float64       // replies for each request of any kind, challenges included, at most 1; -1: only one direction was captured
	// Stands is how many requests a second the server answered in the first limitSeconds of the incident, where
	// it left others unanswered: what it can give. 0: it answered nearly all, or that is unknown.
	Stands float64
	// Answers has what clients got since the detection; empty where that is unknown.
	Answers Answers
	// Served is the share of the requests of clients that had proved their address, or did by them, that got a
	// reply; -1: too few of such clients asked.
	Served    float64
	History   []Change
	Weight    Weight     // of the evidence; Confidence makes a share of it
	Evidence  []Sentence // the most telling first
	Missing   []string   // features that the capture could not give, by name
	Advice    Advice
	Features  []FeatureValue // what the verdict rests on, by name, for --explain
	Succeeded bool           // a guesser got in, a bypass got data
	Leak      Leak           // what a bypass got
	Dropped   uint64         // packets that the capturing program lost before it was opened
}

// Answers counts requests to a server, and those of them that got a reply, be it a challenge.
type Answers struct {
	// ProvenAsked are the requests of clients that had proved their address, first queries among them, and ask no
	// more than clients do.
	ProvenAsked, ProvenGiven uint64
	// FirstAsked are those of all others. A new visitor's first query looks like them and fares as they do.
	FirstAsked, FirstGiven uint64
	// KeyedAsked are those of ProvenAsked that brought a challenge back, KeyedGiven those of them that got data.
	KeyedAsked, KeyedGiven uint64
	// Clients are those of the proven ones that asked in the last minute, ClientsServed those of them whose last
	// query got a reply.
	Clients, ClientsServed int
}

// Minus returns what was counted after b was; the clients are those of a.
func (a Answers) Minus(b Answers) Answers {
	a.ProvenAsked -= min(b.ProvenAsked, a.ProvenAsked)
	a.ProvenGiven -= min(b.ProvenGiven, a.ProvenGiven)
	a.FirstAsked -= min(b.FirstAsked, a.FirstAsked)
	a.FirstGiven -= min(b.FirstGiven, a.FirstGiven)
	a.KeyedAsked -= min(b.KeyedAsked, a.KeyedAsked)
	a.KeyedGiven -= min(b.KeyedGiven, a.KeyedGiven)
	return a
}

// Served returns which share of their requests proven clients got a reply to; -1: too few asked.
func (a Answers) Served() float64 { return shareOfAsked(a.ProvenGiven, a.ProvenAsked) }

// FirstServed returns the same of the requests of all others.
func (a Answers) FirstServed() float64 { return shareOfAsked(a.FirstGiven, a.FirstAsked) }

// KeyedServed returns the same of requests that brought a challenge back.
func (a Answers) KeyedServed() float64 { return shareOfAsked(a.KeyedGiven, a.KeyedAsked) }

func shareOfAsked(given, asked uint64) float64 {
	if asked < leastAsked {
		return -1
	}
	return min(1, float64(given)/float64(asked))
}

// leastAsked is how many requests a share needs. Chosen: fewer show chance.
const leastAsked = 10

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

// KindDoc explains a kind of incident to the administrator of a server.
type KindDoc struct {
	// Code is the stable id, among those of findings. Kinds that ask for the same to be done
	// share one, and a kind has that of the finding that reports the same.
	Code string
	// One and Many are what is counted, "request" and "requests" where they are empty.
	One, Many string
	// Packets follows their number in a summary: "60,180 requests of forged sources".
	Packets string
	What    string // what it is
	Apart   string // how it differs from legitimate load
	Do      string
}

// Doc returns the explanation of a kind.
func (k Kind) Doc() *KindDoc { return &kindDocs[k] }

// Code returns the stable id of a kind: "DOS-F01".
func (k Kind) Code() string { return kindDocs[k].Code }

// Count returns how many packets the incident is about, with the noun for them.
func (in *Incident) Count() string {
	if in.Class != nil {
		return digits.Counted(in.Packets, "packet")
	}
	n := in.Requests
	if in.Kind == ReplyFloodVictim {
		n = in.Replies
	}
	d := in.Kind.Doc()
	return digits.Counted(n, cmp.Or(d.One, "request"), cmp.Or(d.Many, "requests"))
}

var kindDocs = [NumKinds]KindDoc{
	FloodFew: {Code: "DOS-F02", Packets: "of few sources",
		What: "A few addresses, or one network, send more queries than any client needs, until the server answers nobody else.",
		Apart: "Servers answer one source about 3 times a second. A list refresh, a monitor or a household behind one address stays below few_unproven and few_proven; " +
			"an address with many ports and few queries from each counts as many clients.",
		Do: "Load the advised rules: they drop the busiest sources for a time (--expire) and limit all others. Where the flood moves to other addresses, keep the limit only."},
	FloodDistributed: {Code: "DOS-F02", Packets: "of many sources",
		What: "Many machines, with addresses that may be their own, send more queries than clients do: a botnet.",
		Apart: "Each of them asks faster or for longer than clients, brings no challenge back, or shares habits that strangers do not share. " +
			"Clients of a crowd each ask two or three times and bring the challenge back.",
		Do: "Load the advised rules: a limit for each source, and a cap on queries without a challenge. If the line to the server is full, only the provider can filter."},
	FloodSpoofed: {Code: "DOS-F01", Packets: "of forged sources",
		What: "One sender, or a few, write invented source addresses into queries. Answers and challenges go to strangers.",
		Apart: "Nobody brings a challenge back, as the challenge never reaches the sender; addresses that no client can have, one time to live for all " +
			"and one payload add to that. Real clients bring the challenge back from their first visit on.",
		Do: "Load the advised rules: they cap queries that bring no challenge, and let those with one pass. Block no single addresses: they belong to people who did nothing."},
	FloodSuspect: {Code: "DOS-S01", Packets: "of many sources, which may be clients",
		What:  "More sources than usual ask, with some habits of an attack, but too few for a verdict.",
		Apart: "Nothing does for sure: the points of evidence lie between those of a crowd and those of a flood. A capture of both directions usually decides it.",
		Do:    "Look whether players join as well, and capture both directions. Limit nothing before that: a cap would hit either."},
	Reflection: {Code: "DOS-R01", Packets: "in the name of others",
		What: "Somebody sends queries with a victim's address as the source, and the server sends its larger answers to the victim.",
		Apart: "The receivers never bring a challenge back, keep being \"asked\" from more ports than a client has, and answer with ICMP errors; " +
			"what leaves is a multiple of what arrives.",
		Do: "Load the advised rules: they cut what each of these addresses is sent. Make the server ask for a challenge. Do not report the victim: the packets are not from there."},
	ReplyFloodVictim: {Code: "DOS-V01", One: "reply", Many: "replies", Packets: "that the host did not ask for",
		What:  "Game servers all over the world send this host answers to queries that it did not send: somebody forged its address.",
		Apart: "A client that refreshes a list gets about three replies from each server, a challenge first; a victim gets many of the same kind and no challenge before them.",
		Do:    "Load the advised rules, which cap such replies, and give the same test to the provider if the line is full. Do not block or report the servers one by one."},
	ChallengeBypass: {Code: "DOS-B01", Packets: "with guessed challenges",
		What: "Requests bring challenges that the server never gave to that address: a sender with forged addresses guesses, or hopes that the challenge is not checked.",
		Apart: "An old tool that keeps a challenge brings the same one back once for each of its questions; guesses differ from request to request, or come from sources that were never given any. " +
			"In the first minute of a capture a challenge may be of before it.",
		Do: "See whether guesses were answered: then the server, or a cache before it, does not check the challenge and can be used against others. Load the advised limit."},
	JunkFlood: {Code: "DOS-J01", One: "datagram", Many: "datagrams", Packets: "that are nothing known",
		What:  "Datagrams that begin like queries and are none, or that belong to no session, fill the line and the server's time.",
		Apart: "Players' packets belong to a session in which the server answers; these come without one, at a rate and a share of the traffic that no game has.",
		Do:    "Look at the packets first, as the advised rules log some. Let pass what the game needs, and then load the cap."},
	RconBruteforce: {Code: "RCN-07", One: "refused login", Many: "refused logins", Packets: "with guessed passwords",
		What:  "Somebody tries passwords of the remote console.",
		Apart: "A person who mistypes, or a tool with an old password, repeats one or two passwords; a guesser has many different ones.",
		Do:    "Load the advised rules with your own address let in before them, and let the console be reached through a VPN only. After a success, change the password now."},
	RconMisconfig: {Code: "RCN-10", One: "refused login", Many: "refused logins", Packets: "with an old password",
		What:  "A tool logs in to the remote console with the same wrong password again and again.",
		Apart: "A guesser tries different passwords.",
		Do:    "Find the tool by its address and correct its password: its noise hides guessers, and the server may ban it."},
	Scan: {Code: "DOS-N01", Packets: "in search of servers",
		What:  "One source asks many addresses and ports where nothing answers.",
		Apart: "A server browser asks servers from a public list, and most of these answer.",
		Do:    "Usually nothing. If it comes from your own network, look at that machine."},
	Survey: {Code: "DOS-N02", Packets: "to many servers",
		What:  "One source asks many servers, most of which answer: a browser, a census, a monitor.",
		Apart: "A scan finds silence at most addresses.",
		Do:    "Nothing. If it asks too often, talk to who runs it."},
	Crowd: {Code: "DOS-P02", Packets: "of many clients",
		What:  "Many clients ask at once: an event, a restart, a server list that was published.",
		Apart: "They bring challenges back, ask two or three times each, arrive independently of each other, and come from networks where clients live. An attack does not do all of that.",
		Do:    "Let the server, or a cache, answer more: these are real clients, and any limit would hit them."},
	Poller: {Code: "DOS-P01", Packets: "of few clients that ask often",
		What:  "One or a few programs ask more often than clients do: monitors, panels, list sites.",
		Apart: "They bring challenges back, and ask less than what opens flood_few.",
		Do:    "Have these programs ask less often: once in 10 seconds is enough for most monitors."},
	OpenAmplifier: {Code: "DOS-A01", Packets: "that were answered without a challenge",
		What:  "The server answers anybody, without a challenge, with more bytes than it was sent: it can be used against others.",
		Apart: "It is a fact about the server and no attack: answers to sources that proved nothing were counted. Those of one network (a /24, in IPv6 a /64) are one note.",
		Do:    "Make the server ask for a challenge, where its engine can, or limit its answers to each address."},
	OwnToolStorm: {Code: "DOS-F03", Packets: "of one's own tools",
		What: "Monitors, panels or bots that --own names send a server more queries than any client needs: a polling interval that is wrong, a retry without a pause, a second copy that nobody stopped.",
		Apart: "An address can be forged, so a query counts as one's own only if its source is one that --own names and brings back the challenges that this server gave to it alone, one for every two queries at least. " +
			"All else in the name of these addresses counts as anybody's, as does everything at a server that gives no challenge, and what others send at the same time is judged without one's own tools. " +
			"Below few_proven such a tool is the incident poller (DOS-P01).",
		Do: "Find the tool by its address, and let it ask less often: once in 10 seconds is enough for most monitors. Block nothing."},
	FloodCompleting: {Code: "DOS-F04", Packets: "of sources that complete each query",
		What: "Bots with addresses of their own bring back the challenge that the server gave them, as clients do, and go on asking. " +
			"Or one address has so many clients at once as no shared address has.",
		Apart: "A person asks once or a few times when choosing a server, and then plays or leaves. These ask again and again, each of them, for as long as the flood lasts; " +
			"they are more than a server has players and monitors together, or the server refuses part of what it is asked.",
		Do: "Load the advised rules: they limit each address and port, which spares players who share an address. Where the server's own limiter refuses clients, --limits shows which."},
	OtherFlood: {Code: "DOS-O01", Packets: "that are no queries",
		What: "A host with game servers gets many more packets of one class than usual that are no queries: TCP SYN, random UDP, fragments, ICMP, tunnels, " +
			"replies of amplifiers, or what clients of other games send.",
		Apart: "What the host answers is a session and counts as nothing: players and downloads are no flood. --explain lists from which rate on a class is one.",
		Do:    "Give your provider the target, the class and the rates: if the line is full, no filter on the host helps."},
}

// KindNamed returns the kind of that name in output; NoKind if there is none.
func KindNamed(name string) Kind { return Kind(max(slices.Index(kindNames[:], name), 0)) }
