package flood

import (
	"slices"

	m "qsniff/internal/flood/measure"
)

// The rules on queries, guesses and junk stand here only: verdicts follow from them, and
// --explain and docs/floods.md print them. A limit with a setting is a multiple of that
// threshold, whose origin is at its default.
//
// The other limits and all points were chosen together on synthetic attacks, crowds and
// calm days (scenario_*_test.go, and a second set kept apart for the check), so that no calm
// day is an attack at a quarter to four times its rate. A number with an origin of its own
// has it beside it.

// queryRules are tried in this order; the first that fits gives the verdict.
var queryRules = []rule{
	{kind: Reflection, meaning: "the server is used against others: it sends them much more than it gets in their name",
		needs: reflectionNeeds,
		ways: []way{
			{
				{{m.Top16, atLeast, 0.6, "", "share of the sixteen busiest sources"},
					{m.Hot, atLeast, 0.3, "", "share of sources that are faster than clients"}},
				{{m.BiggestCount, atLeast, 20, "", "queries of the busiest source in the window"}},
				{{m.BiggestProven, below, 1, "", "1 where the busiest source proved its address"}},
				{{m.BiggestNAT, below, 1, "", "1 where many clients seem to share that address"}},
				{{m.Biggest, atLeast, 1, "reflect_source", "queries/s of the busiest source"},
					{m.Biggest, atLeast, 1, "few_unproven", "the same, should that be less"}},
				{{m.RepeatCount, atLeast, 3, "", "sources without proof that keep asking"},
					{m.Biggest, atLeast, 1, "few_unproven", "queries/s of the busiest source"}},
			},
			{
				{{m.Prefix, atLeast, 0.6, "", "share of the busiest /24 (IPv6: /64)"}},
				{{m.PrefixHosts, atLeast, 8, "", "hosts in it"}},
				{{m.PrefixProven, below, 0.3, "", "share of what proven sources in it sent"}},
			},
		},
		start: 2, startText: "few sources, or one network, get most of the answers",
		signs: slices.Concat(reflectionSigns, []sign{{points: 1,
			template: "the busiest source has {0} ports, one for {1} of its queries and more, or all that keep asking one for {2}",
			ways: []way{{{{m.BiggestPorts, atLeast, 16, "", ""}}, {{m.BiggestPortsEach, atLeast, 0.6, "", ""}}},
				{{{m.PortsEach, atLeast, 0.8, "", ""}}}}}}),
		minPoints: condition{limit: 1, setting: "reflect_score", text: "points of evidence"}, bonus: 1},
	{kind: Reflection, meaning: "the same, against many slow victims",
		needs: slices.Concat(reflectionNeeds, way{
			{{m.Repeat, atLeast, 0.4, "", "share of sources without proof that keep asking"}},
			{{m.RepeatCount, atLeast, 3, "", "and how many these are"}},
			{{m.Rate10, atLeast, 2, "reflect_rate", "queries/s over ten seconds"}}}),
		signs: slices.Concat(reflectionSigns, []sign{
			{points: 2, template: "a time to live on {0} of at least {1} that keep asking: networks apart do not share a path's length",
				ways: []way{{{{m.RepeatTTL, atLeast, 0.6, "", ""}}, {{m.RepeatCount, atLeast, 8, "", ""}}}}},
			{points: 1, template: "all that keep asking have a source port for {0} of their queries and more",
				ways: []way{{{{m.PortsEach, atLeast, 0.8, "", ""}}}}}}),
		minPoints: condition{limit: 1, setting: "reflect_score", text: "points of evidence"}, bonus: 1},
	{kind: FloodFew, meaning: "few sources, or one network, send more than clients do",
		ways: []way{
			{
				{{m.Rate3, atLeast, 1, "few_unproven", "queries/s over three seconds: less is a burst that is over"}},
				{{m.Top8, atLeast, 1, "few_share", "share of the eight busiest sources"}},
				{{m.Sources, below, 64, "", "different sources in the window"}, // the busiest are listed whole then
					{m.Biggest, above, 1.5, "few_unproven", "queries/s of the busiest source"}},
				{{m.Lead, atLeast, 1, "few_unproven", "queries/s of a source that did not prove its address"},
					{m.LeadProven, atLeast, 1, "few_proven", "queries/s of a source that did, unless many clients seem to share it"}},
			},
			slices.Concat(way{{{m.Rate3, atLeast, 1, "few_unproven", "queries/s over three seconds"}}}, fromOnePrefix),
			{
				{{m.Rate3, atLeast, 1, "few_unproven", "queries/s over three seconds"}},
				{{m.HotRate, atLeast, 2, "few_unproven", "queries/s of all sources that are faster than clients"}},
				{{m.Hot, atLeast, 0.2, "", "their share, whoever else asks"}},
				{{m.HeavyCount, atMost, 16, "", "how many these are"}},
			},
			{
				{{m.Stubborn, atLeast, 1, "few_share", "share of sources that ask on without the challenge they were given"}},
				{{m.StubbornCount, atMost, 16, "", "how many these are"}},
				{{m.Rate10, atLeast, 1, "slow_rate", "queries/s over ten seconds"}},
			},
		},
		start: 4, startText: toBegin,
		signs: []sign{
			{points: 1, template: "{0} queries/s of one of them, or of a network",
				ways: []way{{{{m.Lead, atLeast, 5, "few_unproven", ""}, {m.LeadProven, atLeast, 5, "few_unproven", ""},
					{m.PrefixRate, atLeast, 5, "few_unproven", ""}}}}},
			{points: 1, template: "the eight busiest sources send {0} of the queries or more, or one network reaches few_prefix and few_share with less than {3} of its queries from proven sources",
				ways: []way{{{{m.Top8, atLeast, 0.9, "", ""}}}, fromOnePrefix}},
			{points: 1, template: "less than {0} replies for each request, or less than {1} of the challenged sources brought the challenge back",
				ways: []way{{{{m.Answered, below, 0.5, "", ""}, {m.Completion, below, 0.2, "", ""}}}}},
		}},
	{kind: FloodCompleting, meaning: "many sources that bring challenges back and go on asking, as people do not",
		ways: []way{
			append(slices.Clone(keenNeeds), clause{{m.KeenCount, atLeast, 2 * keenSources, "", "how many sources go on asking: more than a server has players and monitors"}}),
			append(slices.Clone(keenNeeds), clause{{m.KeenCount, atLeast, keenSources, "", "how many sources go on asking"}},
				clause{{m.KeenRate, atLeast, 2, "", "queries/s of one of them: twice what probes ask"}}),
			append(slices.Clone(keenNeeds),
				clause{{m.KeenCount, atLeast, 24, "", "how many sources go on asking"}},
				clause{{m.Answered, below, 0.9, "", "replies for each request: the server refuses some"}}),
			{
				{{m.SharedRate, atLeast, 5, "few_proven", "queries/s of a proven address that looks shared: as many clients as no shared address has"}},
				{{m.Rate3, atLeast, 5, "few_proven", "queries/s over three seconds"}},
			},
		},
		start: 4, startText: toBegin,
		signs: []sign{
			{points: 2, template: "the server answers less than {0} of the requests", ways: []way{{{{m.Answered, below, 0.9, "", ""}}}}},
			{points: 1, template: "{0}/s of each that goes on asking, which is what engines answer", ways: []way{{{{m.KeenRate, atLeast, 3, "", ""}}}}},
			{points: 1, template: "{0} sources that go on asking, or more", ways: []way{{{{m.KeenCount, atLeast, 3 * keenSources, "", ""}}}}},
		}},
	{kind: FloodSpoofed, meaning: "many sources, whose addresses are not their own", signs: manySigns, needsAddressSign: true,
		minPoints: condition{limit: 1, setting: "many_score", text: "points of evidence, some of which is about addresses (*)"}},
	{kind: FloodDistributed, meaning: "many sources, whose addresses may be their own", signs: manySigns,
		minPoints: condition{limit: 1, setting: "many_score", text: "points of evidence, as for flood_spoofed"}},
	{kind: FloodSuspect, meaning: "many sources, too little evidence to tell from a crowd", signs: manySigns,
		minPoints: condition{limit: 1, setting: "suspect_score", text: "points of evidence, as for flood_spoofed"}},
	{kind: Crowd, meaning: "many clients at once, with the habits of clients", signs: manySigns,
		needs: way{{{m.Sources, atLeast, crowdSources, "", "different sources"}}}},
	{kind: Poller, meaning: "few clients that ask often", signs: manySigns,
		needs: way{{{m.Sources, below, crowdSources, "", "different sources"}}}},
}

// ownRule is about the queries of one's own tools alone, which are proven. Its limits are those from
// which on strangers who prove their address are a flood: of one, or of many together. Players may share
// a stranger's address, so that it is none then; tools of one's own that share one are told to ask less.
var ownRule = rule{kind: OwnToolStorm, meaning: "tools of one's own, which --own names and which prove their address, send more than clients do",
	ways: []way{
		{
			{{m.Rate3, atLeast, 1, "few_unproven", "queries/s over three seconds: less is a burst that is over"}},
			{{m.Biggest, atLeast, 1, "few_proven", "queries/s of the busiest address, however many tools are at it"}},
		},
		{
			{{m.HeavyCount, atLeast, 8, "", "addresses that send few_unproven and more"}},
			{{m.Heavy, atLeast, 0.6, "", "their share"}},
			{{m.Rate10, atLeast, 100, "", "queries/s over ten seconds"}},
		},
	},
	start: 6, startText: toBegin}

// keenNeeds are the needs of a flood from sources that complete each query: they go on asking, most of
// what comes is theirs, and none is so fast that a limit for each address ends it.
var keenNeeds = way{
	{{m.Keen, atLeast, 0.5, "", "share of proven sources that go on asking"}},
	{{m.Rate10, atLeast, 1, "slow_rate", "queries/s over ten seconds"}},
	{{m.Heavy, below, 0.6, "", "share of sources that send few_unproven and more"}, {m.HeavyCount, below, 8, "", "how many these are"}},
}

// keenSources is how many sources that go on asking are more than a server can have that do so with a
// reason: engines have 64 slots at most (Source) or 32 (GoldSource), and services that probe from all
// over the world have some dozens of places.
const keenSources = 100

// LeastChallenged is how many challenged sources it takes for the share of them that brought the
// challenge back to mean something.
const LeastChallenged = 30

// crowdSources is how many different sources make a crowd, fewer being pollers.
const crowdSources = 50

// fromOnePrefix holds where one network sends most, without proof.
var fromOnePrefix = way{
	{{m.Prefix, atLeast, 1, "few_share", "share of the busiest /24 (IPv6: /64)"}},
	{{m.PrefixRate, atLeast, 1, "few_prefix", "queries/s from it"}},
	{{m.PrefixProven, below, 0.5, "", "share of what proven sources in it sent"}},
}

// reflectionNeeds are the needs of both rules on reflection: the server sends much more than
// it gets, to sources that never prove their address.
var reflectionNeeds = way{
	{{m.OneWay, below, 1, "", "1 where the capture has one direction only"}},
	{{m.GainTop, atLeast, 1, "amp", "bytes sent for each byte received, with sources that keep asking"}},
	{{m.Answered, atLeast, 1, "ans", "replies for each request"}},
	{{m.Rate10, atLeast, 1, "reflect_rate", "queries/s over ten seconds"}},
	{{m.TopProven, below, 0.3, "", "share of proven sources in what the sixteen busiest sent"}},
}

var reflectionSigns = []sign{
	{points: 2, template: "{0} or more of the replies come back as ICMP errors: their receivers did not ask",
		ways: []way{{{{m.Unreach, atLeast, 0.02, "", ""}}}}},
	{points: 1, template: "more than {0} of the queries come from ports below 1,024, or {1w} or more from one port with {2w} or more sources that keep asking", // one client may well have one port
		ways: []way{{{{m.Low, above, 0.01, "", ""}}}, {{{m.Port1, atLeast, 0.5, "", ""}}, {{m.RepeatCount, atLeast, 3, "", ""}}}}},
	{points: 1, template: "of {0} or more challenged sources, less than {1} brought the challenge back",
		ways: []way{{{{m.Challenged, atLeast, LeastChallenged, "", ""}}, {{m.Completion, below, 0.2, "", ""}}}}},
	// Where each virtual machine is routed to there are two, and one for the rack.
	{points: 2, template: "the busiest source is in the server's own /24 (IPv6: /64), but what comes in its name crossed {0} routers or more",
		ways: []way{{{{m.BiggestRouters, atLeast, neighbourRouters, "", ""}}}}},
	{points: 1, template: "{0w} or more of the queries come from the port that the server itself has: a server gets the replies, and no client",
		ways: []way{{{{m.ServersPort, atLeast, 0.5, "", ""}}}}},
}

// neighbourRouters is more routers than are between hosts of one network.
const neighbourRouters = 4

// manySigns are the signs that many sources are an attack, and those with negative points
// that they are a crowd.
var manySigns = []sign{
	// Spoofed or blind bots cannot bring a challenge back; real clients do, and old tools
	// and loss leave room below 1.
	{points: 3, template: "of {0} or more challenged sources, or of those beyond the usual ones, at most {1} brought the challenge back (* where a source sent less than {2} queries, sources that keep asking less than {3w} of all, and less than {4} of those that came again keep a time to live of their own)",
		ways:             []way{{{{m.Challenged, atLeast, LeastChallenged, "", ""}}, {{m.Echoed, atMost, 0.1, "", ""}}}},
		isAboutAddresses: true, unless: realSources},
	{points: 2, template: "likewise, more than {1} and at most {2} of {0} or more (* where a source sent less than {3} queries, sources that keep asking less than {4w} of all, and less than {5} of those that came again keep a time to live of their own)",
		ways:             []way{{{{m.Challenged, atLeast, LeastChallenged, "", ""}}, {{m.Echoed, above, 0.1, "", ""}}, {{m.Echoed, atMost, 0.3, "", ""}}}},
		isAboutAddresses: true, unless: realSources},
	// Echoes of few sources prove nothing about the others: an overrun server challenges
	// nearly nobody, but most of a crowd.
	{points: -4, template: "likewise, {1} or more of {0} or more, where {2} of all sources were challenged or {3} of the queries are of proven sources",
		ways: []way{{{{m.Challenged, atLeast, LeastChallenged, "", ""}}, {{m.Echoed, atLeast, 0.6, "", ""}},
			{{m.ChallengedShare, atLeast, 0.05, "", ""}, {m.Proven, atLeast, 0.3, "", ""}}}}},
	{points: -4, template: "one direction only, and what looks like challenges brought back for {1w} of the queries",
		ways: []way{{{{m.OneWay, atLeast, 1, "", ""}}, {{m.EchoLike, atLeast, 0.5, "", ""}}}}},
	// Where some clients bring challenges back, the server gives them, and nearly all clients would.
	{points: 3, template: "one direction only, {1} requests/s or more bring a challenge, and at most {2} of the queries are followed by one (* where a source sent less than {3} queries, sources that keep asking less than {4w} of all, and less than {5} of those that came again keep a time to live of their own)",
		ways:             []way{{{{m.OneWay, atLeast, 1, "", ""}}, {{m.Keyed, atLeast, 1, "", ""}}, {{m.EchoLike, atMost, 0.1, "", ""}}}},
		isAboutAddresses: true, unless: realSources},
	// Of random IPv4 addresses 13.8 % are impossible, of clients' none.
	{points: 3, template: "{0} or more of the queries have an impossible source address, with {1} sources or more (*)", isAboutAddresses: true,
		ways: []way{{{{m.Alien, atLeast, 0.01, "", ""}}, {{m.Sources, atLeast, 100, "", ""}}}}},
	{points: 2, template: "{0} or more of the queries have the same time to live, with {1} sources or more (*)", isAboutAddresses: true, // one machine behind many addresses
		ways: []way{{{{m.TTL1, atLeast, 0.7, "", ""}}, {{m.Sources, atLeast, 200, "", ""}}}}},
	{points: 2, template: "{0} or more of the queries have a time to live that no usual system sends, with {1} sources or more (*)", isAboutAddresses: true, // drawn at random
		ways: []way{{{{m.TTLX, atLeast, 0.1, "", ""}}, {{m.Sources, atLeast, 100, "", ""}}}}},
	// Real machines that bring challenges back, each at or above the 3/s that engines allow.
	{points: 7, template: "{0} or more of the queries from {1w} or more sources that each send few_unproven, at {2} queries/s or more over ten seconds, or {3}/s of each of {4} sources at a server that challenges, " +
		"or {7}/s of each of {6} sources without proof that keep asking, which send {5w} of all",
		ways: []way{
			{{{m.Heavy, atLeast, 0.6, "", ""}}, {{m.HeavyCount, atLeast, 8, "", ""}}, {{m.Rate10, atLeast, 100, "", ""}}},
			{{{m.EachRate, atLeast, 3, "", ""}}, {{m.Sources, atLeast, 100, "", ""}}},
			{{{m.Repeat, atLeast, 0.5, "", ""}}, {{m.RepeatCount, atLeast, 40, "", ""}}, {{m.Push, atLeast, 2 * pushLeast, "", ""}}},
		}},
	{points: 2, template: "{0}/s of each of {1} sources at a server that challenges, with less than {2} of the queries from proven sources; " +
		"or {5}/s and less than {6}/s of each of {4} without proof that keep asking, which send {3w} of all",
		ways: []way{
			{{{m.EachRate, atLeast, 1.5, "", ""}}, {{m.Sources, atLeast, 40, "", ""}}, {{m.Proven, below, 0.3, "", ""}}},
			{{{m.Repeat, atLeast, 0.5, "", ""}}, {{m.RepeatCount, atLeast, 40, "", ""}}, {{m.Push, atLeast, pushLeast, "", ""}}, {{m.Push, below, 2 * pushLeast, "", ""}}},
		}},
	{points: 3, template: "{0w} from sources that ask on for {2} s and more without the challenge they were given, {3}/s each, at slow_rate over ten seconds",
		ways:        []way{{{{m.Stubborn, atLeast, 0.5, "", ""}}, {{m.Rate10, atLeast, 1, "slow_rate", ""}}}},
		extraLimits: []float64{m.StubbornFor, m.StubbornRate}},
	// A random 16-bit port is one of these in 1.6 % of cases.
	{points: 1, template: "{0} or more of the queries come from ports below 1,024, with {1} sources or more",
		ways: []way{{{{m.Low, atLeast, 0.008, "", ""}}, {{m.Sources, atLeast, 200, "", ""}}}}},
	{points: 2, template: "{0w} or more of the queries come from ports below 1,024: clients cannot have such ports",
		ways: []way{{{{m.Low, atLeast, 0.5, "", ""}}}}},
	{points: 1.5, template: "{0w} or more of the queries come from one port, with {1} sources or more", // a tool with a fixed port
		ways: []way{{{{m.Port1, atLeast, 0.5, "", ""}}, {{m.Sources, atLeast, 50, "", ""}}}}},
	// Of 2,000 random addresses 98 % have a /16 of their own; clients share networks.
	{points: 1, template: "with {0} sources or more, {1} networks of the size /16 (IPv6: /32) for each source or more",
		ways: []way{{{{m.Sources, atLeast, 2000, "", ""}}, {{m.SiteShare, atLeast, 0.7, "", ""}}}}},
	{points: 1, template: "the server answers less than half, and goes on answering",
		ways: []way{{{{m.Refusing, atLeast, 1, "", ""}}}}},
	{points: 1, template: "{0} or more of the replies come back as ICMP errors",
		ways: []way{{{{m.Unreach, atLeast, 0.02, "", ""}}}}},
	// Independent clients arrive as a Poisson stream, whose iod is 1 (measured at two game
	// servers: Armitage 2007).
	{points: 1, template: "at {0} queries/s or more, arrivals are more even than {1} or less even than {2} (variance for the mean of 10 ms; clients are near 1)",
		ways: []way{{{{m.RateNow, atLeast, 200, "", ""}}, {{m.Pace, below, 0.4, "", ""}, {m.Pace, above, 6, "", ""}}}}},
	{points: 1, template: "{0} queries/s and more", // what later Source branches answer at most
		ways: []way{{{{m.Rate3, atLeast, 3000, "", ""}}}}},
	{points: 2, template: "{0} queries/s and more, besides",
		ways: []way{{{{m.Rate3, atLeast, 20000, "", ""}}}}},
}

// pushLeast is more than any client asks for long, in queries/s: monitors reach three.
const pushLeast = 4

// realSources holds where sources that bring no challenge back ask again and again. They are
// old clients, or bots that ignore the challenge, and no forged addresses.
var realSources = clause{{m.Each, atLeast, 5, "", ""}, {m.Repeat, atLeast, 0.5, "", ""}, {m.OwnTTL, atLeast, 0.8, "", ""}}

var guessRule = rule{kind: ChallengeBypass, meaning: "requests with challenges that the server never gave", start: 5, startText: toBegin,
	ways: []way{
		{
			{{m.Guesses10, atLeast, 1, "bypass_rate", "such requests a second, over ten seconds"}},
			{{m.GuessShare10, atLeast, 1, "bypass_share", "share of all requests with a challenge, over ten seconds"}},
			{{m.GuessesNow, above, 0, "", "such requests in the last second"}},
		},
		{
			{{m.Guesses10, atLeast, 10, "bypass_rate", "such requests a second, over ten seconds"}},
			{{m.GuessShare10, atLeast, 0.2, "", "share of all requests with a challenge: on a busy server they hide among right ones"}},
			{{m.GuessesNow, above, 0, "", "such requests in the last second"}},
		},
		{
			{{m.Guesses3, atLeast, 1, "bad_challenges", "such requests within three seconds"}},
			{{m.Guesses3, atLeast, 3, "bypass_rate", "such requests within three seconds"}},
			{{m.GuessShare3, atLeast, 1, "bypass_share", "share of all requests with a challenge, over three seconds"}},
		},
	}}

var junkRule = rule{kind: JunkFlood, meaning: "datagrams that begin like queries and are nothing known", start: 4, startText: toBegin,
	ways: []way{
		{
			{{m.JunkNow, atLeast, 1, "junk_rate", "such datagrams in the last second"}},
			{{m.JunkShareNow, atLeast, 1, "junk_share", "share of what the server got in it"},
				{m.JunkNow, atLeast, 5, "junk_rate", "such datagrams in the last second, whatever else comes: one flood hides no other"}},
		},
		{
			{{m.JunkMean, atLeast, 1, "junk_rate", "such datagrams a second, over ten seconds"}},
			{{m.JunkShareMean, atLeast, 1, "junk_share", "share of what the server got in these"},
				{m.JunkMean, atLeast, 5, "junk_rate", "such datagrams a second, over ten seconds"}},
			{{m.JunkNow, above, 0, "", "such datagrams in the last second"}},
		},
	},
	signs: []sign{{points: 2, template: "{0} such datagrams a second and more", ways: []way{{{{m.JunkNow, atLeast, 100, "", ""}}}}}},
}

// A network's verdicts are those of the rules above on its servers together, if it meets
// networkNeeds and what its kind needs besides. What a source sends to a network counts for
// each server that was asked.
var (
	networkNeeds = way{
		{{m.NetServers, atLeast, carpetServers, "", "servers that got a tenth of what the busiest got, or more"}},
		{{m.NetBusiest, atMost, standOutShare, "", "share of the busiest of them"}},
	}
	// Where few sources without proof send most, only flood_few may find them: an old tool that
	// never completes asks every server of a hoster, at the rate of a monitor.
	networkManyNeeds = way{
		{{m.Top8, below, 0.6, "", "for a flood from many: share of the eight busiest sources"},
			{m.TopProven, atLeast, 0.3, "", "share of proven sources in what the sixteen busiest sent"},
			{m.Lead, atLeast, pushLeast, "", "queries/s of an unproven source to each server"}},
	}
)

// All chosen. carpetServers: a few servers that are attacked at the same time are attacks of
// their own. standOutShare, standOutTimes: a server that gets a quarter of all, or ten times
// what the others get on average, is a target of its own; servers that are flooded in turn
// differ by far less. standOutSeconds: as soon as an urgent verdict opens an incident, and
// one more. noteServers: the least that is more than one.
const (
	carpetServers   = 8
	standOutShare   = 0.25
	standOutTimes   = 10
	standOutSeconds = 3
	noteServers     = 2
)
