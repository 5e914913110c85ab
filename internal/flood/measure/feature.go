package measure

// Feature is the index of one number that describes a second of a server. Rates are
// per second; shares are parts of the queries in the window unless the comment names
// another whole, and the window is the 10 to 20 seconds that the sketches cover.
type Feature uint8

// The published features, which incidents show under the names in Meanings.
const (
	RateNow Feature = iota
	Rate10
	Rate60
	Base
	Sources
	Sites
	Each
	Top1
	Top8
	Top16
	Biggest
	Prefix
	Repeat
	Heavy
	Proven
	Completion
	Challenged
	Answered
	Gain
	Alien
	TTL1
	TTLX
	Low
	Port1
	Print1
	Unreach
	Pace
	// Published is the number of published features.
	Published = Pace + 1
)

// The features that only rules read.
const (
	Rate3  = Published + iota // queries/s over three seconds
	Window                    // seconds that the sketches cover
	OneWay                    // 1: the capture has only what goes to the server
	TTL                       // the commonest time to live
	Port                      // the commonest source port

	BiggestCount     // queries of the busiest source
	BiggestPorts     // its different source ports
	BiggestPortsEach // the same for each of its queries, of which portsCounted at most count
	BiggestProven    // 1: it proved its address
	BiggestNAT       // 1: many clients seem to share it
	BiggestRouters   // routers that its packets crossed, if it is in the server's own network; else 0
	ServersPort      // share of queries from the port that the server itself has
	TopProven        // share of proven sources in what the 16 busiest sent
	Lead             // queries/s of the busiest source that proved nothing
	LeadProven       // queries/s of the busiest source that did, unless many clients seem to share it
	Hot              // share of sources that are too fast for clients, proven or not
	HotRate          // queries/s that they send
	HeavyCount       // sources that send few_unproven and more
	RepeatCount      // sources without proof that keep asking
	RepeatTTL        // share of the commonest time to live among these
	PortsEach        // different ports of the sources in RepeatCount for each of their queries
	Push             // mean queries/s of one of these, since its first
	PrefixHosts      // hosts of the busiest /24 (IPv6: /64)
	PrefixProven     // share of what proven sources in it sent
	PrefixRate       // queries/s from it
	Stubborn         // share of sources that ask on and on without the challenge they were given
	StubbornCount    // how many sources these are

	Echoed          // Completion, or that of the sources beyond the usual ones if that is lower
	ChallengedShare // sources that were challenged, as a part of Sources
	EchoLike        // share of queries that were followed by what looks like a challenge brought back
	EachRate        // queries/s of a source at a server that challenges; else 0, as nobody can prove anything there
	SiteShare       // Sites as a part of Sources
	Refusing        // 1: the server goes on answering, but less than half
	GainTop         // bytes sent for each byte received, with those that keep asking

	WindowQueries // queries in the window
	PortQueries   // how many of them Port1 is a share of
	PrintQueries  // and Print1

	JunkNow       // datagrams that no protocol recognizes, in the last second
	JunkMean      // the same, a second, over ten seconds
	JunkShareNow  // share of these in what the server got in the last second
	JunkShareMean // the same, over ten seconds
	GuessesNow    // requests with a challenge that was never issued, in the last second
	Guesses3      // the same, in the last three seconds
	GuessShare3   // share of these in all requests with a challenge, over three seconds
	Guesses10     // guesses a second, over ten seconds
	GuessShare10  // share of these in all requests with a challenge, over ten seconds

	NetServers // servers of a network that were asked in the window; 0 at a single server
	NetBusiest // share of the busiest of them in what was asked

	Keen       // share of proven sources that go on asking, as people do not
	KeenCount  // how many sources these are
	KeenRate   // queries/s of one of them in the mean
	Keyed      // requests/s with a challenge, over ten seconds
	OwnTTL     // share of the sources that came again which keep a time to live of their own; 0 where few came again
	SharedRate // queries/s of the busiest proven source that looks like that of many clients

	// NumFeatures is the number of all features.
	NumFeatures
)

// Features holds the value of each feature. One that this capture cannot give is NaN,
// so every comparison with it is false.
type Features [NumFeatures]float64

// Meaning is the name of a published feature in outputs, and what it measures.
type Meaning struct{ Name, Text string }

// Meanings has an entry for each published feature.
var Meanings = [Published]Meaning{
	RateNow:    {"R1", "queries in the last second"},
	Rate10:     {"R10", "queries/s over ten seconds"},
	Rate60:     {"R60", "queries/s over a minute"},
	Base:       {"B", "queries/s that are usual here: a slow mean that attacks do not move"},
	Sources:    {"D", "different sources in the window"},
	Sites:      {"D16", "different /16 (IPv6: /32) in the window"},
	Each:       {"q", "queries of a source in the window"},
	Top1:       {"top1", "share of the busiest source"},
	Top8:       {"top8", "share of the eight busiest sources"},
	Top16:      {"top16", "share of the sixteen busiest sources"},
	Biggest:    {"biggest", "queries/s of the busiest source; at a network, for each of its servers"},
	Prefix:     {"pfx", "share of the busiest /24 (IPv6: /64)"},
	Repeat:     {"rep", "share of sources without proof that keep asking"},
	Heavy:      {"heavy", "share of sources that send few_unproven and more"},
	Proven:     {"verified", "share of queries whose source had proved its address"},
	Completion: {"C", "share of the challenged sources that brought the challenge back"},
	Challenged: {"n", "sources that were challenged"},
	Answered:   {"ans", "replies for each request"},
	Gain:       {"amp", "bytes sent for each byte received"},
	Alien:      {"M", "share of queries with an impossible source address"},
	TTL1:       {"ttl1", "share of the commonest time to live"},
	TTLX:       {"ttlX", "share of times to live that no usual system sends"},
	Low:        {"low", "share of source ports below 1,024"},
	Port1:      {"port1", "share of the commonest source port, those of game clients aside"},
	Print1:     {"fp1", "share of the commonest payload"},
	Unreach:    {"icmp", "share of replies that came back as ICMP errors"},
	Pace:       {"iod", "evenness of arrivals: variance for the mean of 10 ms; strangers are near 1, one sender is near 0"},
}

// names are what features are called where they leave the program, as columns do: they stay.
var names = [NumFeatures]string{
	RateNow: "rate_now", Rate10: "rate_10s", Rate60: "rate_60s", Base: "base_rate", Sources: "sources", Sites: "sites", Each: "queries_each",
	Top1: "top1_share", Top8: "top8_share", Top16: "top16_share", Biggest: "biggest_rate", Prefix: "prefix_share", Repeat: "repeat_share",
	Heavy: "heavy_share", Proven: "proven_share", Completion: "completion_share", Challenged: "challenged_sources", Answered: "answered_ratio",
	Gain: "gain_ratio", Alien: "alien_share", TTL1: "ttl1_share", TTLX: "ttl_odd_share", Low: "low_port_share", Port1: "port1_share",
	Print1: "payload1_share", Unreach: "unreachable_share", Pace: "pace",

	Rate3: "rate_3s", Window: "window_seconds", OneWay: "one_way", TTL: "ttl", Port: "port", BiggestCount: "biggest_count",
	BiggestPorts: "biggest_ports", BiggestPortsEach: "biggest_ports_each", BiggestProven: "biggest_proven", BiggestNAT: "biggest_nat",
	BiggestRouters: "biggest_routers", ServersPort: "servers_port_share",
	TopProven: "top_proven_share", Lead: "lead_rate", LeadProven: "lead_proven_rate", Hot: "hot_share", HotRate: "hot_rate",
	HeavyCount: "heavy_count", RepeatCount: "repeat_count", RepeatTTL: "repeat_ttl_share", PortsEach: "ports_each", Push: "push_rate",
	PrefixHosts: "prefix_hosts", PrefixProven: "prefix_proven_share", PrefixRate: "prefix_rate", Keen: "keen_share", KeenCount: "keen_count", KeenRate: "keen_rate",
	SharedRate: "shared_rate", Keyed: "keyed_rate", OwnTTL: "own_ttl_share", Stubborn: "stubborn_share",
	StubbornCount: "stubborn_count", Echoed: "echoed_share", ChallengedShare: "challenged_share", EchoLike: "echo_like_share",
	EachRate: "each_rate", SiteShare: "site_share", Refusing: "refusing", GainTop: "gain_top_ratio", WindowQueries: "window_queries",
	PortQueries: "port_queries", PrintQueries: "payload_queries", JunkNow: "junk_now", JunkMean: "junk_mean",
	JunkShareNow: "junk_share_now", JunkShareMean: "junk_share_mean", GuessesNow: "guesses_now", Guesses3: "guesses_3s",
	GuessShare3: "guess_share_3s", Guesses10: "guesses_10s", GuessShare10: "guess_share_10s", NetServers: "net_servers", NetBusiest: "net_busiest_share",
}

// Name returns what a feature is called in exports. Meanings has the short names that incidents show.
func (f Feature) Name() string { return names[f] }
