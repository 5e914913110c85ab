package flood

import (
	"fmt"
	"slices"

	"qsniff/internal/flood/measure"
)

// Explanation is what --explain prints: the thresholds in use, the rules that rest on them,
// and the features.
type Explanation struct {
	Settings []Setting
	Rules    []RuleDoc
	Meanings []Meaning
}

// Explain returns the explanation of verdicts with these thresholds.
func Explain(t Thresholds) *Explanation {
	return &Explanation{Settings: t.Settings(), Rules: t.Rules(), Meanings: Meanings}
}

// RuleDoc documents a rule: what must hold for a kind, with the thresholds in use. Where
// more than one holds for the same traffic, the first counts.
type RuleDoc struct {
	Kind    Kind
	Name    string // of the kind; of a rule without one, what it is about
	Level   Level
	Meaning string
	Needs   []NeedDoc
	Signs   []SignDoc // evidence that adds up
}

// NeedDoc documents one condition of a rule.
type NeedDoc struct {
	Feature    string // name of the feature; empty where incidents do not list it
	Text       string
	Comparison string // ">=", or another comparison
	Setting    string // the threshold that Value depends on, by its name in files; empty: none
	Value      float64
}

// SignDoc documents a sign: the points that it counts where its text is true.
type SignDoc struct {
	Points float64
	Text   string
}

// Meaning documents a feature.
type Meaning = measure.Meaning

// Meanings documents the features that incidents list, and what else Incident.Missing may
// name.
var Meanings = slices.Concat(measure.Meanings[:], []Meaning{
	{Name: "bad", Text: "challenges that were never given to who brings them"},
	{Name: "unsol", Text: "share of replies to a host that had not asked"},
	{Name: "known", Text: "networks that were seen on earlier days: a capture has no earlier days"},
}, otherMeanings())

// MeaningOf returns what the feature of that name means; empty if there is none.
func MeaningOf(name string) string {
	i := slices.IndexFunc(Meanings, func(m Meaning) bool { return m.Name == name })
	if i < 0 {
		return ""
	}
	return Meanings[i].Text
}

// Rules documents all rules with these thresholds: of alarms, of queries, guesses and junk in
// the order in which they are tried, and of the other watchers. Signs that the rule before
// has as well are not repeated.
func (t Thresholds) Rules() []RuleDoc {
	all := t.resolveWatcherRules(alarmRules)
	var listed []SignDoc // of the rules before
	for _, r := range t.resolve(slices.Concat(queryRules, []rule{ownRule, guessRule, junkRule})) {
		if n := len(all); all[n-1].Kind == r.kind {
			all[n-1].addAlternative(&r)
			continue
		}
		x := RuleDoc{Kind: r.kind, Meaning: r.meaning, Needs: r.listNeeds()}
		if signs := r.listSigns(); !slices.Equal(signs, listed) {
			x.Signs, listed = signs, signs
		}
		all = append(all, x)
	}
	all = append(all, t.resolveWatcherRules(watcherRules)...)
	for i := range all {
		if r := &all[i]; r.Kind != NoKind {
			r.Name, r.Level = r.Kind.String(), r.Kind.Level()
		}
	}
	return all
}

// RuleOf returns the rule for a kind.
func (t Thresholds) RuleOf(k Kind) *RuleDoc {
	for _, r := range t.Rules() {
		if r.Kind == k {
			return &r
		}
	}
	return nil
}

// resolveWatcherRules returns rules with the values that the thresholds give them: a need
// with a setting has Value times that setting, for 0 once.
func (t *Thresholds) resolveWatcherRules(rules []RuleDoc) []RuleDoc {
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

// addAlternative adds the needs and signs that another rule for the same kind has besides.
func (r *RuleDoc) addAlternative(other *rule) {
	word := "or, " + other.meaning + ": "
	for _, n := range other.listNeeds() {
		if !slices.Contains(r.Needs, n) {
			n.Text = word + n.Text
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

// listNeeds returns the conditions of a rule. Words before their texts, as "either: " and
// "with: ", show which of them belong together.
func (r *rule) listNeeds() []NeedDoc {
	var all []NeedDoc
	all = append(all, r.needs.listNeeds()...)
	word := "either: "
	if len(r.needs) > 0 {
		word = "and either: "
	}
	for _, w := range r.ways {
		for i, c := range w {
			if i > 0 {
				word = "with: "
			}
			all = append(all, c.listNeeds(word, "with, or: ")...)
		}
		word = "or: "
	}
	if r.minPoints.setting != "" {
		all = append(all, NeedDoc{Text: r.minPoints.text, Comparison: string(atLeast), Setting: r.minPoints.setting, Value: r.minPoints.limit})
	}
	return all
}

func (w way) listNeeds() []NeedDoc {
	var all []NeedDoc
	for _, c := range w {
		all = append(all, c.listNeeds("", "or: ")...)
	}
	return all
}

func (c clause) listNeeds(word, or string) []NeedDoc {
	var all []NeedDoc
	for _, x := range c {
		name := ""
		if x.feature < measure.Published {
			name = measure.Meanings[x.feature].Name
		}
		all = append(all, NeedDoc{Feature: name, Text: word + x.text, Comparison: string(x.comparison), Setting: x.setting, Value: x.limit})
		word = or
	}
	return all
}

func (r *rule) listSigns() []SignDoc {
	var all []SignDoc
	if r.start > 0 {
		all = append(all, SignDoc{r.start, r.startText})
	}
	for i := range r.signs {
		all = append(all, SignDoc{r.signs[i].points, r.signs[i].text()})
	}
	return all
}

const (
	needsAtLeast = string(atLeast)
	needsAbove   = string(above)
	needsAtMost  = string(atMost)
	needsBelow   = string(below)
)

// alarmRules documents watched.checkAlarm.
var alarmRules = []RuleDoc{
	{Name: "alarm", Meaning: "what makes a server worth a verdict on its queries, any of these; crowds do, too", Needs: []NeedDoc{
		{"R1", "queries/s, for two seconds running", needsAtLeast, "burst_rate", 0},
		{"R1", "times the usual rate, likewise", needsAtLeast, "burst_factor", 0},
		{"R1", "queries in one second", needsAtLeast, "surge_rate", 0},
		{"R1", "times the usual rate, likewise", needsAtLeast, "surge_factor", 0},
		{"R10", "queries/s over ten seconds", needsAtLeast, "slow_rate", 0},
		{"R10", "times the usual rate, likewise", needsAtLeast, "slow_factor", 0},
		{"", "queries above a slowly raised usual rate, added up", needsAbove, "drift_sum", 0},
		{"", "queries of one source in the window, if they are half of all", needsAtLeast, "lone_packets", 0},
		{"R10", "queries/s over ten seconds, with these", needsAtLeast, "reflect_rate", 0},
	}},
}

// watcherRules documents the rules on other traffic than queries to a server, and what all
// incidents have in common. The code beside the constants applies them.
var watcherRules = []RuleDoc{
	{Kind: ReplyFloodVictim, Meaning: "a host gets replies that it did not ask for: others are used against it", Needs: []NeedDoc{
		{"", "such replies a second, over ten seconds", needsAtLeast, "victim_rate", 0},
		{"", "or such replies in one second", needsAtLeast, "victim_burst", 0},
		{"", "share of all replies to the host", needsAtLeast, "victim_share", 0},
		{"", "where no request of the host was captured: share of servers that sent a challenge first", needsAtMost, "", exchangesMost},
		{"", "and either: servers, with victim_rate in one second", needsBelow, "", fewReflectors},
		{"", "or: replies from each of them in the window", needsAtLeast, "", repliesEach},
	}, Signs: []SignDoc{{victimScore, toBegin}}},
	{Kind: RconBruteforce, Meaning: "somebody guesses passwords of the remote console", Needs: []NeedDoc{
		{"", "refused logins of one source in " + formatSpan(rconWindow), needsAtLeast, "rcon_failures", 0},
		{"", "different passwords in them", needsAtLeast, "rcon_passwords", 0},
		{"", "or refused logins of all sources in " + formatSpan(rconAll), needsAtLeast, "rcon_all_failures", 0},
		{"", "different passwords in them", needsAtLeast, "rcon_all_passwords", 0},
		{"", "or refused logins of all sources in " + formatSpan(rconMinute), needsAtLeast, "rcon_failures", rconMinuteFailures},
		{"", "different passwords in them", needsAtLeast, "rcon_passwords", rconMinutePasswords},
		{"", "after more seconds without one, the next begins another run", needsAtLeast, "", rconPause},
		{"", "seconds without one before the end of the capture: it is over", needsAbove, "", endsAfter},
	}, Signs: []SignDoc{{guesserScore, toBegin}, {successScore - guesserScore, "a login succeeded after refusals"}}},
	{Kind: RconMisconfig, Meaning: "one or two passwords again and again: a tool with an old one", Needs: []NeedDoc{
		{"", "refused logins of one source in " + formatSpan(rconWindow), needsAtLeast, "rcon_failures", 0},
		{"", "different passwords in them", needsBelow, "rcon_passwords", 0},
	}},
	{Kind: Scan, Meaning: "a source asks addresses where nothing answers", Needs: []NeedDoc{
		{"", "different addresses and ports, while it pauses no longer than " + formatSpan(scanIdle) + " and no more than " + formatSpan(scanFor) + " in all", needsAtLeast, "scan_targets", 0},
		{"", "of them without an answer", needsAtLeast, "scan_dead", 0},
		{"", "share of them without an answer", needsAtLeast, "scan_share", 0},
		{"", "an answer comes within seconds", needsAtMost, "", scanPanes * scanPane},
	}, Signs: []SignDoc{{surveyScore, toBegin}, {deadScore, "all of them without an answer; a share of them, that share of it"}}},
	{Kind: Survey, Meaning: "a source asks many servers, most of which answer: a list, a census, a monitor", Needs: []NeedDoc{
		{"", "different addresses and ports", needsAtLeast, "survey_targets", 0},
	}},
	{Kind: OpenAmplifier, Meaning: "the server answers anybody with more than it was sent, without a challenge", Needs: []NeedDoc{
		{"", "answers to sources that proved nothing", needsAtLeast, "amplifier_answers", 0},
		{"", "different sources that got one", needsAtLeast, "", openClients},
		{"", "bytes sent for each byte received", needsAtLeast, "", openGain},
		{"", "share of the requests without a challenge for the same thing that got data, not a challenge", needsAtLeast, "", openShare},
	}},
	otherRule(),
	{Name: "network", Meaning: "what makes floods of many servers one incident of their /24 (IPv6: /64, or /48): the rules above hold for all of them together, and", Needs: slices.Concat(
		networkNeeds.listNeeds(), networkManyNeeds.listNeeds(), []NeedDoc{
			{"", "for a note: servers that would have one of their own", needsAtLeast, "", noteServers},
			{"", "a server has its own incident besides: its share of what the network got in " + formatSpan(standOutSeconds), needsAbove, "", standOutShare},
			{"", "or so many times what the servers got on average", needsAbove, "", standOutTimes},
		})},
	{Name: "watch", Meaning: "what makes a server, a network, or a host that gets replies, worth watching closely: either", Needs: []NeedDoc{
		{"", "queries in a second", needsAtLeast, "", promoteSecond},
		{"", fmt.Sprintf("or in %d s", measure.PaneSeconds), needsAtLeast, "", promoteTen},
		{"", "and of a network: servers that were asked in them", needsAtLeast, "", carpetServers},
	}},
	{Name: "incidents", Meaning: "how long a verdict holds before an incident opens, and when incidents end", Needs: []NeedDoc{
		{"", fmt.Sprintf("seconds, at %d queries/s and more", urgentRate), needsAtLeast, "fast_ticks", 0},
		{"", "seconds, below", needsAtLeast, "slow_ticks", 0},
		{"", "seconds, for warnings and notes", needsAtLeast, "warn_ticks", 0},
		{"", "by how much another verdict must be surer to take its place", needsAtLeast, "", betterBy},
		{"", "and for how many seconds", needsAtLeast, "", betterFor},
		{"", "seconds between two pulses", needsAtLeast, "", pulseGap},
		{"", "seconds after which it is described anew, without what was before", needsAtLeast, "", aloneAfter},
		{"", "share of the mean rate of ten seconds, of the window and of a minute: nothing begins in a tail", needsAtLeast, "", tailShare},
		{"", "queries/s of pulses, whose seconds are added up over pauses", needsAtLeast, "burst_rate", 0},
		{"", "share of the pulse before that a pause has", needsBelow, "", liveShare},
		{"", "seconds from one pulse to the next", needsAtMost, "", longestPause},
		{"", "share of its mean rate that an incident lives by", needsAtLeast, "", liveShare},
		{"", "and queries a second, above twice the usual", needsAtLeast, "", minLiveQueries},
		{"", "or guesses a second", needsAtLeast, "", minLiveGuesses},
		{"", "or datagrams a second that are nothing known", needsAtLeast, "", minLiveJunk},
		{"", "seconds of quiet that end an incident", needsAtLeast, "quiet", 0},
		{"", "or as many where each pulse of an attack, at burst_rate and more", needsAtLeast, "", pulseQuiet},
		{"", "lasted as many seconds", needsAtMost, "", longestPulse},
		{"", "with a next pulse, once quiet is over, at this share of the peak", needsAtLeast, "", pulseShare},
		{"", "seconds within which another one at the same target is the same campaign", needsAtMost, "campaign", 0},
	}},
	{Name: "proof", Meaning: "how long what a source showed counts", Needs: []NeedDoc{
		{"", "seconds for which an address stays proved", needsAtMost, "", measure.ProvenFor},
		{"", "seconds from a challenge to its echo", needsAtMost, "", measure.PendingFor},
		{"", "seconds from the first challenge in the capture, in which others may be of before it", needsAtMost, "", measure.FreshFor},
	}},
	{Name: "weight", Meaning: fmt.Sprintf("of evidence, which decides between verdicts: %g and %g for each point, but", weightBase, weightPerPoint), Needs: []NeedDoc{
		{"", "always", needsAtMost, "", weightMost},
		{"", "with one direction only", needsAtMost, "", weightOneWay},
		{"", "for a victim of replies whose own requests were not captured", needsAtMost, "", weightVictim},
		{"", fmt.Sprintf("where the capturing program lost over %g of the requests", lossyShare), needsAtMost, "", weightLossy},
		{"", fmt.Sprintf("within the first %d s", warmUp), needsAtMost, "", weightWarmUp},
	}},
	{Name: "sure", Meaning: "the share of incidents of labelled captures that were what they were called", Needs: sureNeeds()},
}

// sureNeeds documents Calibration.
func sureNeeds() (docs []NeedDoc) {
	for i := range Calibration {
		r := &Calibration[i]
		docs = append(docs, NeedDoc{"", fmt.Sprintf("%s: %d of %d", r.Doc, r.True, r.Said), "=", "", r.Confidence()})
	}
	return docs
}
