package flood

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"qsniff/dissect"
	"qsniff/internal/base/digits"
	"qsniff/internal/flood/measure"
	"qsniff/internal/track"
)

// account is what evidence on a server is written from: the totals of the incident so far,
// and the features of a window, which are of the last verdict that described the incident or,
// in sum, of the panes in it.
type account struct {
	in       *Incident
	server   *measure.Server
	totals   *measure.Totals
	features *measure.Features // of the window
	lim      *Thresholds
	whole    span // of the incident so far
	window   span // of the features
	sample   span // of those features that are of sampled panes: of the window, or of the whole
	sampled  *measure.Features
}

// writeEvidence fills in the evidence on a server, in sentences, and the figures that go with
// it.
func (a *account) writeEvidence(family family) {
	in, t := a.in, a.totals
	s := sentences(in.Evidence[:0])
	switch family {
	case ofGuesses:
		a.addGuesses(&s)
	case ofJunk:
		a.addJunk(&s)
	default:
		in.Completion, in.Challenged, in.GivesChallenges = -1, int(min(t.Given, t.Replies, 1<<30)), a.server.LastChallenge > 0
		if a.server.LastChallenge > 0 && t.Given > 0 {
			in.Completion = min(1, measure.Share(float64(t.Brought), float64(t.Given)))
			in.dropMissing(measure.Completion)
		}
		a.addQueries(&s)
	}
	in.addOwn(&s)
	in.Answered = -1
	if a.features[measure.OneWay] == 0 && t.Packets > 0 {
		in.Answered = min(1, measure.Share(float64(t.Replies), float64(t.Packets)))
	}
	in.Served = -1
	if a.features[measure.OneWay] == 0 && t.ProvenAsked > 0 {
		in.Served = min(1, measure.Share(float64(t.ProvenGiven), float64(t.ProvenAsked)))
	}
	s.groupBySpan()
	in.Evidence = s
}

// addOwn adds which of the busiest sources are the operator's tools, or have the address of one.
func (in *Incident) addOwn(s *sentences) {
	var names []string
	for i := range in.Top {
		if x := &in.Top[i]; in.Own.Has(x.Addr) && in.StandsOut(x) {
			names = append(names, x.Addr.String())
		}
	}
	all := uint64(len(names))
	if all == 0 {
		return
	}
	are := strings.Join(names, ", ") + digits.Noun(all, " is an address", " are addresses") + " that --own names"
	switch {
	case in.Kind == OwnToolStorm:
		s.add("%s, and brought back challenges that the server gave to nobody else", are)
	case in.Level == Info:
		s.add("%s", are)
	default:
		s.add("%s, but most of what counts here brought no challenge back that the server gave to it alone: it may be forged, and counts as anybody's", are)
	}
}

// dropMissing takes a feature off the list of those that the capture could not give.
func (in *Incident) dropMissing(f measure.Feature) {
	in.Missing = slices.DeleteFunc(in.Missing, func(name string) bool { return name == measure.Meanings[f].Name })
}

// addQueries adds the evidence of floods, reflections, crowds and pollers.
func (a *account) addQueries(s *sentences) {
	f, t := a.features, a.totals
	window, whole := s.within(a.window), s.within(a.whole)
	if a.in.Kind == Reflection {
		a.addVictims(window)
	}
	a.addRate(whole)
	if a.in.Joins > 0 {
		whole.add("%s attempts a second to join the game came from the same source: players that are none, with their requests for a challenge", count(a.in.Joins))
	}
	oneWay := f[measure.OneWay] > 0
	switch {
	case a.in.Completion >= 0:
		whole.add("%s", describeCompletion(a.in.Completion, uint64(a.in.Challenged)))
	case !oneWay && a.server.LastChallenge == 0:
		whole.add("the server asked for no challenge, so that no source could prove its address")
		a.in.dropMissing(measure.Completion)
	}
	a.addReplies(whole)
	if share := measure.Share(float64(t.Unreachable), float64(t.Replies)); !oneWay && share >= 0.005 {
		whole.add("%s of %s came back as ICMP errors: their receivers had not asked", percent(min(share, 1)), digits.Counted(t.Replies, "reply", "replies"))
	}
	a.addSourceOddities(s.within(a.sample))
	if f[measure.Prefix] >= 0.5 && f[measure.PrefixHosts] > 1 && len(a.in.Prefixes) > 0 {
		window.add("%s of %s from %s, from at least %.0f hosts in it", percent(f[measure.Prefix]), a.queriesOf(f), a.in.Prefixes[0].Prefix, f[measure.PrefixHosts])
	}
	if f[measure.HeavyCount] >= 8 && f[measure.Heavy] >= 0.3 {
		window.add("%.0f sources sent %s/s or more each", f[measure.HeavyCount], count(a.lim.FewUnproven))
	}
	if oneWay && f[measure.EchoLike] > 0 {
		window.add("%s of the queries were followed by what looks like a challenge brought back", percent(f[measure.EchoLike]))
	}
	if f[measure.Pace] < 0.4 && f[measure.RateNow] >= 200 {
		s.within(span{max(a.window.from, a.window.to-1e9), a.window.to}).add("%s queries, evenly paced, as one sender does", count(f[measure.RateNow]))
	}
	if a.in.Kind == FloodSuspect {
		s.add("a crowd with unusual habits cannot be ruled out")
	}
}

// addVictims adds to whom a reflector sends, and how many times the bytes that come in their names.
func (a *account) addVictims(s timedSentences) {
	f := a.features
	text := "the server is a reflector: it sends %s %s the bytes that come in %s"
	if a.in.Target.IsNetwork() {
		text = "the servers are reflectors: they send %s %s the bytes that come in %s"
	}
	number := max(f[measure.RepeatCount], 1)
	s.add(text+": %s", plural("victim", number), times(f[measure.GainTop]), verb(number, "its name", "their names"), a.nameVictims(int(number)))
	if f[measure.BiggestRouters] >= neighbourRouters {
		s.add("what comes in the name of the busiest crossed routers, and would not if it came from there, as it is in the same network")
	}
}

// nameVictims returns the busiest of so many victims, or their network.
func (a *account) nameVictims(number int) string {
	in := a.in
	if number >= 8 && a.features[measure.Prefix] >= 0.6 && len(in.Prefixes) > 0 {
		return in.Prefixes[0].Prefix.String()
	}
	var names []string
	for i := range in.Top[:min(len(in.Top), number, namedVictims)] {
		names = append(names, in.Top[i].Addr.String())
	}
	if number > len(names) {
		names = append(names, "others")
	}
	return joinWords(names)
}

// namedVictims is how many victims a sentence names.
const namedVictims = 3

// joinWords returns words as a list in a sentence.
func joinWords(words []string) string {
	if n := len(words) - 1; n > 0 {
		return strings.Join(words[:n], ", ") + " and " + words[n]
	}
	return strings.Join(words, "")
}

// describeCompletion returns how many challenges sources were given, and which share of these came
// back.
func describeCompletion(share float64, challenged uint64) string {
	switch {
	case challenged == 1 && share >= 0.5:
		return "one source was challenged, and brought the challenge back"
	case challenged == 1:
		return "one source was challenged, and did not bring the challenge back"
	case share == 0:
		return fmt.Sprintf("sources were challenged %s times, and never brought the challenge back", count(float64(challenged)))
	}
	return fmt.Sprintf("sources were challenged %s times, and brought the challenge back in %s of them", count(float64(challenged)), percent(share))
}

// addRate adds the rate, and from how many sources it came.
func (a *account) addRate(s timedSentences) {
	in := a.in
	text := count(in.Mean) + " queries/s on average"
	if in.Pulses > 1 {
		text += ", pauses included"
	}
	if in.Baseline > 0 {
		text += " (usual: " + count(in.Baseline) + ")"
	}
	if (in.Kind == FloodFew || in.Kind == OwnToolStorm) && len(in.Top) > 0 && in.Share(in.Top[0].Low) >= mostShare {
		s.add("%s, most of them from %s", text, in.Top[0].Addr) // how many others came by is beside the point
		return
	}
	if each := float64(in.Requests) / max(in.Sources, 1); in.IsSampled {
		s.add("%s, in samples from %s at least", text, plural("source", in.Sources))
		return
	} else if in.Sources >= 1.5 {
		s.add("%s from %s, %s each", text, plural("source", in.Sources), count(each))
		return
	}
	s.add("%s from one source", text)
}

// addReplies adds how many replies the server sent in the meantime, of all requests.
func (a *account) addReplies(s timedSentences) {
	t := a.totals
	if a.features[measure.OneWay] > 0 || t.Packets == 0 {
		return
	}
	if t.Replies == 0 {
		s.add("%s sent no reply to %s", a.servers(), digits.Counted(t.Packets, "request"))
		return
	}
	s.add("%s sent %s, challenges included, to %s of all kinds (%s), %s the bytes", a.servers(), digits.Counted(t.Replies, "reply", "replies"),
		digits.Counted(t.Packets, "request"), percent(min(1, measure.Share(float64(t.Replies), float64(t.Packets)))),
		times(measure.Share(float64(t.BytesOut), float64(t.BytesIn))))
}

// servers returns what the evidence calls that which was asked.
func (a *account) servers() string {
	if a.in.Target.IsNetwork() {
		return "the servers"
	}
	return "the server"
}

// mostShare is the share from which on a source sends most, namedShare that from which on it
// is worth naming in a sentence. Chosen: who blocks a source with less than a tenth notices
// little.
const (
	mostShare  = 0.5
	namedShare = 0.1
)

// addBusiest adds a sentence on the busiest source of an incident, or that none stands out.
func (s timedSentences) addBusiest(in *Incident, what string) {
	if len(in.Top) == 0 {
		return
	}
	switch share := in.Share(in.Top[0].Low); {
	case share == 1:
		s.add("%s sent all of %s", in.Top[0].Addr, what)
	case share >= namedShare:
		s.add("%s sent at least %s of %s", in.Top[0].Addr, percent(share), what)
	case !in.HasLeader():
		s.add("no source stands out among %s: blocking single addresses is useless", what)
	}
}

func (a *account) queriesOf(f *measure.Features) string {
	return digits.Counted(uint64(f[measure.WindowQueries]), "query", "queries")
}

// addSourceOddities adds a sentence for each feature of the sources that clients do not have.
func (a *account) addSourceOddities(s timedSentences) {
	f, sources := a.sampled, a.in.Sources
	of := a.queriesOf(f)
	s.addBusiest(a.in, of)
	if f[measure.Alien] >= 0.005 && sources >= 20 {
		s.add("%s of %s from impossible addresses (of random addresses 14 %% are)", percent(f[measure.Alien]), of)
	}
	if f[measure.TTL1] >= 0.7 && sources >= 20 {
		s.add("time to live %.0f on %s of %s", f[measure.TTL], percent(f[measure.TTL1]), of)
	}
	if f[measure.TTLX] >= 0.1 {
		s.add("%s of %s with a time to live that no usual system sends", percent(f[measure.TTLX]), of)
	}
	sampled := func(n float64) string { return digits.Counted(uint64(n), "sampled query", "sampled queries") }
	if f[measure.Port1] >= 0.5 && sources >= 3 {
		s.add("source port %.0f on %s of %s", f[measure.Port], percent(f[measure.Port1]), sampled(f[measure.PortQueries]))
	}
	if f[measure.Print1] >= 0.9 {
		s.add("the same payload in %s of %s", percent(f[measure.Print1]), sampled(f[measure.PrintQueries]))
	}
}

// addGuesses adds the evidence of challenges that were never issued.
func (a *account) addGuesses(s *sentences) {
	in, t := a.in, a.totals
	whole := s.within(a.whole)
	all := max(t.WithChallenge, in.Requests)
	whole.add("%s/s with challenges that the server never gave out, %s of %s with a challenge", digits.Counted(uint64(in.Mean+0.5), "request"),
		percent(measure.Share(float64(in.Requests), float64(all))), digits.Counted(all, "request"))
	a.addReplies(whole)
	s.within(span{in.TopFrom, in.TopTo}).addBusiest(in, digits.Counted(in.TopOf, "such request"))
}

// addJunk adds the evidence of datagrams that are nothing known.
func (a *account) addJunk(s *sentences) {
	in, t := a.in, a.totals
	n := uint64(in.Mean + 0.5)
	whole := s.within(a.whole)
	others := uint64(0)
	for i := range in.Shape {
		if in.Shape[i].IsOther {
			others += in.Shape[i].Packets
		}
	}
	if 2*others < t.Junk+t.Strange {
		whole.add("%s/s that %s with FF FF FF FF and %s nothing known", digits.Counted(n, "datagram"), digits.Noun(n, "begins", "begin"), digits.Noun(n, "is", "are"))
	} else {
		whole.add("%s/s that %s no query and %s to no session", digits.Counted(n, "datagram"), digits.Noun(n, "is", "are"), digits.Noun(n, "belongs", "belong"))
	}
	all := t.Junk + t.Strange + t.Packets
	whole.add("%s of %s to the server, from %s", percent(measure.Share(float64(t.Junk+t.Strange), float64(all))), digits.Counted(all, "datagram"), plural("source", in.Sources))
	if a.features[measure.OneWay] == 0 {
		whole.add("the server sent %s to all of them together", digits.Counted(t.Replies, "reply", "replies"))
	}
	s.within(span{in.TopFrom, in.TopTo}).addBusiest(in, digits.Counted(in.TopOf, "such datagram"))
}

// listMissing appends the names of the features that the capture could not give. The
// completion of a protocol without a challenge is none of them: no capture can give it.
func listMissing(dst []string, f *measure.Features, p *dissect.Proto) []string {
	oneWay, proves := f[measure.OneWay] > 0, p == nil || p.Proof() == dissect.TokenProof
	if proves && (oneWay || math.IsNaN(f[measure.Completion])) {
		dst = append(dst, "C")
	}
	if oneWay {
		dst = append(dst, "ans", "amp", "icmp", "bad")
	}
	if math.IsNaN(f[measure.Pace]) {
		dst = append(dst, "iod")
	}
	return append(dst, "known")
}

// listFeatures appends the published features with their names.
func listFeatures(dst []FeatureValue, f *measure.Features) []FeatureValue {
	for i, v := range f[:measure.Published] {
		dst = append(dst, FeatureValue{measure.Meanings[i].Name, v})
	}
	return dst
}

// How many sources and networks an incident lists.
const (
	listedSources  = 8
	listedPrefixes = 4
)

// appendTop appends the first listedSources of list. hasProofs reports whether the server
// gives challenges that the capture shows whole, so that Verified may be set.
func appendTop(dst []Source, list []measure.BusyHost, hasProofs bool) []Source {
	for i := range list[:min(len(list), listedSources)] {
		x := &list[i]
		dst = append(dst, newSource(x.Addr, uint64(x.Low), uint64(x.High), &x.Activity, hasProofs))
	}
	return dst
}

// appendStretch is appendTop for the hosts of a stretch.
func appendStretch(dst []Source, list []measure.StretchHost, hasProofs bool) []Source {
	for i := range list[:min(len(list), listedSources)] {
		x := &list[i]
		dst = append(dst, newSource(x.Addr, x.Low, x.High, &x.Activity, hasProofs))
	}
	return dst
}

func newSource(host track.Host, low, high uint64, a *measure.Activity, hasProofs bool) Source {
	ports := int(min(uint64(a.Ports.Count()), high)) // an estimate: each packet has one port
	var own uint16
	if hasProofs {
		own = a.OwnPort()
	}
	return Source{Addr: host.Addr(), OwnPort: own, Low: low, High: high, Verified: hasProofs && (a.Proven || a.HasEchoed()) && !a.IsForged(), Ports: ports, TTL: int(a.TTL)}
}

// appendPrefixes appends the networks of a server's clients, busiest first.
func appendPrefixes(dst []Prefix, t *measure.Server) []Prefix {
	t.EachPrefix(func(prefix track.Host, low, high uint32, hosts int) {
		dst = append(dst, Prefix{Prefix: measure.Network(prefix), Low: uint64(low), High: uint64(high), Hosts: hosts})
	})
	slices.SortFunc(dst, func(a, b Prefix) int {
		return cmp.Or(cmp.Compare(b.Low, a.Low), a.Prefix.Addr().Compare(b.Prefix.Addr()))
	})
	return dst
}

// Sentence is one fact about an incident, and the stretch of time that its numbers are of, in
// Unix nanoseconds. Both ends are 0 where it has no numbers.
type Sentence struct {
	Text     string
	From, To int64
}

// sentences are evidence in words.
type sentences []Sentence

// add adds a sentence whose numbers are of no stretch of time, or which has none.
func (s *sentences) add(format string, args ...any) { s.within(span{}).add(format, args...) }

// span is a stretch of time in Unix nanoseconds; the zero value is none.
type span struct{ from, to int64 }

// within returns a list that adds its sentences to s, with that stretch of time.
func (s *sentences) within(x span) timedSentences { return timedSentences{s, x} }

type timedSentences struct {
	list *sentences
	span span
}

func (t timedSentences) add(format string, args ...any) {
	*t.list = append(*t.list, Sentence{fmt.Sprintf(format, args...), t.span.from, t.span.to})
}

// groupBySpan puts sentences of the same stretch of time one after the other, in the order in
// which the first of each was added.
func (s sentences) groupBySpan() {
	var order []span
	for _, x := range s {
		if k := (span{x.From, x.To}); !slices.Contains(order, k) {
			order = append(order, k)
		}
	}
	slices.SortStableFunc(s, func(a, b Sentence) int {
		return slices.Index(order, span{a.From, a.To}) - slices.Index(order, span{b.From, b.To})
	})
}

// percent, count, times and bytesOf return numbers as sentences have them.
func percent(share float64) string {
	switch p := 100 * share; {
	case p > 0 && p < 0.1:
		return "under 0.1 %"
	case p > 0 && p < 1:
		return fmt.Sprintf("%.1f %%", p)
	case p > 99 && p < 100:
		return "99 %"
	default:
		return fmt.Sprintf("%.0f %%", p)
	}
}

func count(n float64) string {
	if n < 10 && n != math.Trunc(n) {
		return fmt.Sprintf("%.1f", n)
	}
	s := fmt.Sprintf("%.0f", n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func times(x float64) string {
	if x < 10 {
		return fmt.Sprintf("%.2fx", x)
	}
	return count(x) + "x"
}

func bytesOf(n uint64) string {
	switch {
	case n >= 10e6:
		return fmt.Sprintf("%.0f MB", float64(n)/1e6)
	case n >= 1e6:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	case n >= 10e3:
		return fmt.Sprintf("%.0f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%d B", n)
}

// plural returns an estimated number with its noun: "one source", "about 12 sources".
func plural(what string, estimate float64) string {
	if estimate < 1.5 {
		return "one " + what
	}
	return "about " + count(math.Round(estimate)) + " " + what + "s"
}

// verb returns one for an estimated number of one, else many.
func verb(estimate float64, one, many string) string {
	if estimate < 1.5 {
		return one
	}
	return many
}
