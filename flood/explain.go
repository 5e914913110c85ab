package flood

import (
	"fmt"
	"slices"

	"qsniff/flood/measure"
)

// Rule is a rule for people: what must hold for a kind, with the thresholds in use. Where
// more than one holds of the same traffic, the first counts.
type Rule struct {
	Kind  Kind
	Name  string // of the kind, or of what is no kind
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
	Setting string // the threshold that Value depends on, by its name in files; empty: none
	Value   float64
}

// Sign is a piece of evidence and what it counts for.
type Sign struct {
	Points float64
	Says   string
}

// Meaning says what a feature is.
type Meaning = measure.Meaning

// Meanings lists the features, and what else a capture may not give.
var Meanings = slices.Concat(measure.Meanings[:], []Meaning{
	{Name: "bad", Says: "challenges that were never given to who brings them"},
	{Name: "unsol", Says: "share of replies to a host that had not asked"},
	{Name: "known", Says: "networks that were seen on earlier days: a capture has no earlier days"},
})

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
	all := t.list(alarmRules)
	var listed []Sign // of the rules before
	for _, r := range t.resolve(slices.Concat(queryRules, []rule{guessRule, junkRule})) {
		if n := len(all); all[n-1].Kind == r.kind {
			all[n-1].addAlternative(&r)
			continue
		}
		x := Rule{Kind: r.kind, Means: r.means, Needs: r.listNeeds()}
		if signs := r.listSigns(); !slices.Equal(signs, listed) {
			x.Signs, listed = signs, signs
		}
		all = append(all, x)
	}
	all = append(all, t.list(watcherRules)...)
	for i := range all {
		if r := &all[i]; r.Kind != NoKind {
			r.Name, r.Level = r.Kind.String(), r.Kind.Level()
		}
	}
	return all
}

// RuleOf returns the rule for a kind.
func (t Thresholds) RuleOf(k Kind) *Rule {
	for _, r := range t.Rules() {
		if r.Kind == k {
			return &r
		}
	}
	return nil
}

// list returns rules of watchers, whose needs that name a setting have so many times its
// value; 0 is once.
func (t *Thresholds) list(rules []Rule) []Rule {
	all := slices.Clone(rules)
	for i := range all {
		r := &all[i]
		r.Needs = slices.Clone(r.Needs)
		for j := range r.Needs {
			if n := &r.Needs[j]; n.Setting != "" {
				n.Value = max(n.Value, 1) * t.setting(n.Setting)
			}
		}
	}
	return all
}

// addAlternative adds what another rule for the same kind needs besides, and its signs.
func (r *Rule) addAlternative(other *rule) {
	word := "or, " + other.means + ": "
	for _, n := range other.listNeeds() {
		if !slices.Contains(r.Needs, n) {
			n.Says = word + n.Says
			word = "with: "
			r.Needs = append(r.Needs, n)
		}
	}
	for _, s := range other.listSigns() {
		if !slices.Contains(r.Signs, s) {
			r.Signs = append(r.Signs, s)
		}
	}
}

// listNeeds returns the conditions of a rule, in words that show which of them belong
// together.
func (r *rule) listNeeds() []Need {
	var all []Need
	for _, c := range r.needs {
		all = append(all, c.list("", "or: ")...)
	}
	word := "either: "
	if len(r.needs) > 0 {
		word = "and either: "
	}
	for _, w := range r.ways {
		for i, c := range w {
			if i > 0 {
				word = "with: "
			}
			all = append(all, c.list(word, "with, or: ")...)
		}
		word = "or: "
	}
	if r.enough.setting != "" {
		all = append(all, Need{Says: r.enough.says, Sign: string(atLeast), Setting: r.enough.setting, Value: r.enough.limit})
	}
	return all
}

func (c clause) list(word, or string) []Need {
	var all []Need
	for _, x := range c {
		name := ""
		if x.feature < measure.Published {
			name = measure.Meanings[x.feature].Name
		}
		all = append(all, Need{Feature: name, Says: word + x.says, Sign: string(x.is), Setting: x.setting, Value: x.limit})
		word = or
	}
	return all
}

func (r *rule) listSigns() []Sign {
	var all []Sign
	if r.start > 0 {
		all = append(all, Sign{r.start, r.starts})
	}
	for i := range r.signs {
		all = append(all, Sign{r.signs[i].points, r.signs[i].text()})
	}
	return all
}

const (
	needLeast = string(atLeast)
	needOver  = string(above)
	needMost  = string(atMost)
	needUnder = string(below)
)

// alarmRules are what makes a server worth measuring.
var alarmRules = []Rule{
	{Name: "alarm", Means: "what makes a server worth a verdict on its queries, any of these; crowds do, too", Needs: []Need{
		{"R1", "queries/s, for two seconds running", needLeast, "burst_rate", 0},
		{"R1", "times the usual rate, likewise", needLeast, "burst_factor", 0},
		{"R1", "queries in one second", needLeast, "surge_rate", 0},
		{"R1", "times the usual rate, likewise", needLeast, "surge_factor", 0},
		{"R10", "queries/s over ten seconds", needLeast, "slow_rate", 0},
		{"R10", "times the usual rate, likewise", needLeast, "slow_factor", 0},
		{"", "queries above a slowly raised usual rate, added up", needOver, "drift_sum", 0},
		{"", "queries of one source in the window, if they are half of all", needLeast, "lone_packets", 0},
		{"R10", "queries/s over ten seconds, with these", needLeast, "reflect_rate", 0},
	}},
}

// watcherRules are the rules that hold of something else than queries to a server, and
// what is common to all incidents. The code beside the constants applies them.
var watcherRules = []Rule{
	{Kind: ReplyFloodVictim, Means: "a host gets replies that it did not ask for: others are used against it", Needs: []Need{
		{"", "such replies a second, over ten seconds", needLeast, "victim_rate", 0},
		{"", "or such replies in one second", needLeast, "victim_burst", 0},
		{"", "share of all replies to the host", needLeast, "victim_share", 0},
		{"", "where no request of the host was captured: share of servers that sent a challenge first", needMost, "", exchangesMost},
		{"", "and either: servers, with victim_rate in one second", needUnder, "", fewReflectors},
		{"", "or: replies from each of them in the window", needLeast, "", repliesEach},
	}, Signs: []Sign{{victimScore, toBegin}}},
	{Kind: RconBruteforce, Means: "somebody guesses passwords of the remote console", Needs: []Need{
		{"", "refused logins of one source in " + within(rconWindow), needLeast, "rcon_failures", 0},
		{"", "different passwords in them", needLeast, "rcon_passwords", 0},
		{"", "or refused logins of all sources in " + within(rconAll), needLeast, "rcon_all_failures", 0},
		{"", "different passwords in them", needLeast, "rcon_all_passwords", 0},
		{"", "or refused logins of all sources in " + within(rconMinute), needLeast, "rcon_failures", rconMinuteFailures},
		{"", "different passwords in them", needLeast, "rcon_passwords", rconMinutePasswords},
		{"", "after more seconds without one, the next begins another run", needLeast, "", rconPause},
		{"", "seconds without one before the end of the capture: it is over", needOver, "", endsAfter},
	}, Signs: []Sign{{guesserScore, toBegin}, {brokenScore - guesserScore, "a login succeeded after refusals"}}},
	{Kind: RconMisconfig, Means: "one or two passwords again and again: a tool with an old one", Needs: []Need{
		{"", "refused logins of one source in " + within(rconWindow), needLeast, "rcon_failures", 0},
		{"", "different passwords in them", needUnder, "rcon_passwords", 0},
	}},
	{Kind: Scan, Means: "a source asks addresses where nothing answers", Needs: []Need{
		{"", "different addresses and ports, while it pauses no longer than " + within(scanIdle) + " and no more than " + within(scanFor) + " in all", needLeast, "scan_targets", 0},
		{"", "of them without an answer", needLeast, "scan_dead", 0},
		{"", "share of them without an answer", needLeast, "scan_share", 0},
		{"", "an answer comes within seconds", needMost, "", scanPanes * scanTurn},
	}, Signs: []Sign{{surveyScore, toBegin}, {deadScore, "all of them without an answer; a share of them, that share of it"}}},
	{Kind: Survey, Means: "a source asks many servers, most of which answer: a list, a census, a monitor", Needs: []Need{
		{"", "different addresses and ports", needLeast, "survey_targets", 0},
	}},
	{Kind: OpenAmplifier, Means: "the server answers anybody with more than it was sent, without a challenge", Needs: []Need{
		{"", "answers to sources that proved nothing", needLeast, "amplifier_answers", 0},
		{"", "different sources that got one", needLeast, "", openClients},
		{"", "bytes sent for each byte received", needLeast, "", openGain},
	}},
	otherRule(),
	{Name: "watch", Means: "what makes a server, or a host that gets replies, worth watching closely: either", Needs: []Need{
		{"", "queries in a second", needLeast, "", promoteSecond},
		{"", fmt.Sprintf("or in %d s", measure.PaneSeconds), needLeast, "", promoteTen},
	}},
	{Name: "incidents", Means: "how long a verdict holds before an incident opens, and when incidents end", Needs: []Need{
		{"", fmt.Sprintf("seconds, at %d queries/s and more", quickRate), needLeast, "fast_ticks", 0},
		{"", "seconds, below", needLeast, "slow_ticks", 0},
		{"", "seconds, for warnings and notes", needLeast, "warn_ticks", 0},
		{"", "by how much another verdict must be surer to take its place", needLeast, "", betterBy},
		{"", "and for how many seconds", needLeast, "", betterFor},
		{"", "seconds between two pulses", needLeast, "", pulseGap},
		{"", "seconds after which it is described anew, without what was before", needLeast, "", aloneAfter},
		{"", "share of the mean rate of ten seconds: nothing begins in a tail", needLeast, "", dyingShare},
		{"", "share of its mean rate that an incident lives by", needLeast, "", lowShare},
		{"", "and queries a second, above twice the usual", needLeast, "", leastQueries},
		{"", "or guesses a second", needLeast, "", leastGuesses},
		{"", "or datagrams a second that are nothing known", needLeast, "", leastJunk},
		{"", "seconds of quiet that end an incident", needLeast, "quiet", 0},
		{"", "seconds within which another one at the same target is the same campaign", needMost, "campaign", 0},
	}},
	{Name: "proof", Means: "how long what a source showed counts", Needs: []Need{
		{"", "seconds for which an address stays proved", needMost, "", measure.ProvenFor},
		{"", "seconds from a challenge to its echo", needMost, "", measure.PendingFor},
		{"", "seconds from the first challenge in the capture, in which others may be of before it", needMost, "", measure.FreshFor},
	}},
	{Name: "sure", Means: fmt.Sprintf("%g and %g for each point, but", sureLeast, surePoint), Needs: []Need{
		{"", "always", needMost, "", sureMost},
		{"", "with one direction only", needMost, "", sureOneWay},
		{"", "for a victim of replies whose own requests were not captured", needMost, "", sureVictim},
		{"", fmt.Sprintf("where the capturing program lost over %g of the requests", lossyShare), needMost, "", sureLossy},
		{"", fmt.Sprintf("within the first %d s", warmUp), needMost, "", sureWarming},
	}},
}
