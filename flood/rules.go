package flood

import (
	"math"
	"slices"
)

// Rule says when a kind is given: what must hold, with the thresholds in use. Where
// several rules hold, the first one of its family counts.
type Rule struct {
	Kind  Kind
	Name  string // of the kind, or of what precedes all of them
	Level Level
	Means string
	Needs []Need
	Signs []Sign // evidence that adds up
}

// Need is one condition of a rule.
type Need struct {
	Feature string // what is measured, by its name; empty where an incident has no such value
	Says    string
	Sign    string // ">=", or another comparison
	Setting string // the threshold, by its name in files; empty: Value is fixed
	Value   float64
}

// Sign is a piece of evidence and what it counts for.
type Sign struct {
	Points float64
	Says   string
}

// Meaning says what a feature is.
type Meaning struct{ Name, Says string }

// Meanings lists the features, and what else a capture may not give.
var Meanings = []Meaning{
	{"R1", "queries in the last second"},
	{"R10", "queries/s over ten seconds"},
	{"R60", "queries/s over a minute"},
	{"B", "queries/s that are usual here: a slow mean that attacks do not move"},
	{"D", "different sources in the window"},
	{"D16", "different /16 (IPv6: /32) in the window"},
	{"q", "queries of a source in the window"},
	{"top1", "share of the busiest source"},
	{"top8", "share of the eight busiest sources"},
	{"top16", "share of the sixteen busiest sources"},
	{"biggest", "queries/s of the busiest source"},
	{"pfx", "share of the busiest /24 (IPv6: /64)"},
	{"rep", "share of sources without proof that keep asking"},
	{"heavy", "share of sources with 10/s and more"},
	{"verified", "share of queries whose source had proved its address"},
	{"C", "share of the challenged sources that brought the challenge back"},
	{"n", "sources that were challenged"},
	{"ans", "replies for each request"},
	{"amp", "bytes sent for each byte received"},
	{"M", "share of queries with an impossible source address"},
	{"ttl1", "share of the commonest time to live"},
	{"ttlX", "share of times to live that no usual system sends"},
	{"low", "share of source ports below 1,024"},
	{"port1", "share of the commonest source port, those of game clients aside"},
	{"fp1", "share of the commonest payload"},
	{"icmp", "share of replies that came back as ICMP errors"},
	{"iod", "evenness of arrivals: variance for the mean of 10 ms; strangers are near 1, one sender is near 0"},
	{"bad", "challenges that were never given to who brings them"},
	{"unsol", "share of replies to a host that had not asked"},
	{"known", "networks that were seen on earlier days: a capture has no earlier days"},
}

// MeaningOf says what the feature of that name is; empty if there is none.
func MeaningOf(name string) string {
	i := slices.IndexFunc(Meanings, func(m Meaning) bool { return m.Name == name })
	if i < 0 {
		return ""
	}
	return Meanings[i].Says
}

// Rules lists when what is given with these thresholds.
func (t Thresholds) Rules() []Rule {
	all := slices.Concat(alarmRules, queryRules, otherRules)
	for i := range all {
		r := &all[i]
		r.Needs = slices.Clone(r.Needs)
		for j := range r.Needs {
			if n := &r.Needs[j]; n.Setting != "" {
				n.Value = t.setting(n.Setting)
			}
		}
		if r.Kind != NoKind {
			r.Name, r.Level = r.Kind.String(), r.Kind.Level()
		}
	}
	return all
}

// RuleOf is the rule for a kind.
func (t Thresholds) RuleOf(k Kind) *Rule {
	for _, r := range t.Rules() {
		if r.Kind == k {
			return &r
		}
	}
	return nil
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

// Share is the part of all queries in the window that n of them are; below 0 where
// the incident does not say how many there were.
func (i *Incident) Share(n uint64) float64 {
	all := i.Feature("D") * i.Feature("q")
	if !(all > 0) {
		return -1
	}
	return min(float64(n)/all, 1)
}

const atLeast = ">="

var alarmRules = []Rule{{Name: "alarm", Means: "what makes a server worth a verdict on its queries, any of these; crowds do, too", Needs: []Need{
	{"R1", "queries/s, for two seconds running", atLeast, "burst_rate", 0},
	{"R1", "times the usual rate, likewise", atLeast, "burst_factor", 0},
	{"R1", "queries in one second", atLeast, "surge_rate", 0},
	{"R1", "times the usual rate, likewise", atLeast, "surge_factor", 0},
	{"R10", "queries/s over ten seconds", atLeast, "slow_rate", 0},
	{"R10", "times the usual rate, likewise", atLeast, "slow_factor", 0},
	{"", "queries above a slowly raised usual rate, added up", atLeast, "drift_sum", 0},
	{"", "queries of one source in the window, if they are half of all", atLeast, "lone_packets", 0},
}}}

var queryRules = []Rule{
	{Kind: Reflection, Means: "the server is used against others: it sends them much more than it gets in their name", Needs: []Need{
		{"amp", "bytes sent for each byte received", atLeast, "amp", 0},
		{"ans", "replies for each request", atLeast, "ans", 0},
		{"R10", "queries/s over ten seconds", atLeast, "reflect_rate", 0},
		{"top16", "share of the sixteen busiest sources; or of a /24 with eight hosts, or of sources that keep asking", atLeast, "", 0.6},
		{"biggest", "queries/s of the busiest source", atLeast, "reflect_source", 0},
		{"", "points of evidence", atLeast, "reflect_score", 0},
	}, Signs: []Sign{{2, "few sources, or one network, get most of the answers"},
		{2, "icmp >= 0.02: receivers say that they did not ask"},
		{1, "low > 0.01, or port1 >= 0.5 with three sources that keep asking"},
		{1, "C < 0.2 of 30 challenged sources and more"},
		{1, "the busiest source, or all that keep asking, have a source port for nearly each query"}}},
	{Kind: FloodFew, Means: "few sources, or one network, send more than clients do", Needs: []Need{
		{"top8", "share of the eight busiest sources; or of the busiest network, in pfx", atLeast, "few_share", 0},
		{"biggest", "queries/s of a source that did not prove its address", atLeast, "few_unproven", 0},
		{"", "or queries/s of a source that did, unless many clients seem to share it", atLeast, "few_proven", 0},
		{"", "or queries/s of one /24 (IPv6: /64)", atLeast, "few_prefix", 0},
		{"", "whoever else asks: share of sources that are faster than either", atLeast, "", hotShare},
		{"", "or of at most 16 sources that ask on without the challenge they were given", atLeast, "few_share", 0},
	}},
	{Kind: FloodSpoofed, Means: "many sources, whose addresses are not their own", Needs: []Need{
		{"", "points of evidence, some of which is about addresses (*)", atLeast, "many_score", 0},
	}, Signs: manySigns},
	{Kind: FloodDistributed, Means: "many sources, whose addresses may be their own", Needs: []Need{
		{"", "points of evidence, as for flood_spoofed", atLeast, "many_score", 0},
	}},
	{Kind: FloodSuspect, Means: "many sources, too little evidence to tell from a crowd", Needs: []Need{
		{"", "points of evidence, as for flood_spoofed", atLeast, "suspect_score", 0},
	}},
	{Kind: Crowd, Means: "many clients at once, with the habits of clients", Needs: []Need{{"D", "different sources", atLeast, "", crowdSources}}},
	{Kind: Poller, Means: "few clients that ask often", Needs: []Need{{"D", "different sources", "<", "", crowdSources}}},
}

// manySigns are what many adds up.
var manySigns = []Sign{
	{3, "C <= 0.1 of 30 challenged sources and more, or of those beyond the usual ones (*)"},
	{2, "C <= 0.3, likewise (*)"},
	{-4, "C >= 0.6, likewise"},
	{-4, "one direction only, and what looks like challenges brought back for half of the queries"},
	{3, "M >= 0.01 with 100 sources (*)"},
	{2, "ttl1 >= 0.7 with 200 sources (*)"},
	{2, "ttlX >= 0.1 with 100 sources (*)"},
	{7, "heavy >= 0.6 from eight sources with R10 >= 100, or 3/s of each of 100 sources at a server that challenges"},
	{7, "8/s of each of 40 sources without proof that keep asking, which send half of all"},
	{2, "1.5/s of each of 40 sources at a server that challenges, verified < 0.3; or 4/s of each that keeps asking"},
	{3, "half from sources that ask on for 5 s and more without the challenge they were given, 3/s each, R10 >= slow_rate"},
	{1, "low >= 0.008 with 200 sources"},
	{2, "low >= 0.5: clients cannot have such ports"},
	{1.5, "port1 >= 0.5 with 50 sources"},
	{1, "D16 >= 0.7 D with 2,000 sources"},
	{1, "the server answers less than half, and goes on answering"},
	{1, "icmp >= 0.02"},
	{1, "iod < 0.4 or > 6 at R1 >= 200"},
	{1, "3,000 queries/s and more"},
	{2, "20,000 queries/s and more, besides"},
}

var otherRules = []Rule{
	{Kind: ChallengeBypass, Means: "requests with challenges that the server never gave", Needs: []Need{
		{"", "such requests a second, over ten seconds", atLeast, "bypass_rate", 0},
		{"", "or such requests within three seconds", atLeast, "bad_challenges", 0},
		{"", "share of all requests with a challenge", atLeast, "bypass_share", 0},
	}},
	{Kind: JunkFlood, Means: "datagrams that begin like queries and are nothing known", Needs: []Need{
		{"", "such datagrams a second", atLeast, "junk_rate", 0},
		{"", "share of what the server gets", atLeast, "junk_share", 0},
	}},
	{Kind: ReplyFloodVictim, Means: "a host gets replies that it did not ask for: others are used against it", Needs: []Need{
		{"", "such replies a second, over ten seconds", atLeast, "victim_rate", 0},
		{"", "or such replies in one second", atLeast, "victim_burst", 0},
		{"", "share of all replies to the host", atLeast, "victim_share", 0},
	}},
	{Kind: RconBruteforce, Means: "somebody guesses passwords of the remote console", Needs: []Need{
		{"", "refused logins of one source in ten minutes", atLeast, "rcon_failures", 0},
		{"", "different passwords in them", atLeast, "rcon_passwords", 0},
		{"", "or refused logins of all sources in thirty minutes", atLeast, "rcon_all_failures", 0},
		{"", "different passwords in them", atLeast, "rcon_all_passwords", 0},
	}},
	{Kind: RconMisconfig, Means: "one or two passwords again and again: a tool with an old one", Needs: []Need{
		{"", "refused logins of one source in ten minutes", atLeast, "rcon_failures", 0},
	}},
	{Kind: Scan, Means: "a source asks addresses where nothing answers", Needs: []Need{
		{"", "different addresses and ports", atLeast, "scan_targets", 0},
		{"", "of them without an answer", atLeast, "scan_dead", 0},
		{"", "share of them without an answer", atLeast, "scan_share", 0},
	}},
	{Kind: Survey, Means: "a source asks many servers, most of which answer: a list, a census, a monitor", Needs: []Need{
		{"", "different addresses and ports", atLeast, "survey_targets", 0},
	}},
	{Kind: OpenAmplifier, Means: "the server answers anybody with more than it was sent, without a challenge", Needs: []Need{
		{"", "answers to sources that proved nothing", atLeast, "amplifier_answers", 0},
		{"", "different sources that got one", atLeast, "", openClients},
		{"", "bytes sent for each byte received", atLeast, "", openGain},
	}},
	{Name: "incidents", Means: "how long a verdict holds before an incident opens, and when incidents end", Needs: []Need{
		{"", "seconds, at 500 queries/s and more", atLeast, "fast_ticks", 0},
		{"", "seconds, below", atLeast, "slow_ticks", 0},
		{"", "seconds, for warnings and notes", atLeast, "warn_ticks", 0},
		{"", "seconds of quiet that end an incident", atLeast, "quiet", 0},
		{"", "seconds within which another one at the same target is the same campaign", "<=", "campaign", 0},
	}},
}
