package compare

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"qsniff/internal/base/digits"
	"qsniff/internal/render"
)

// finder finds the differences of two tables.
type finder struct {
	tables     [2]*table
	labels     [2]string
	verbs      verbs
	all        []render.Difference
	uncompared []string
	compared   [render.NumAspects]bool
	unequal    [render.NumAspects]bool // also where what differs is listed under another aspect
}

// The sides that a client fails at.
const (
	atA = iota
	atB
	atEither // or one cannot say
)

// add adds a difference about messages of a type. cells are what stands for each side in a table.
func (f *finder) add(a render.Aspect, failsAt int, k key, what string, cells [2]string, text string, args ...any) *render.Difference {
	text = fmt.Sprintf(text, args...)
	f.all = append(f.all, render.Difference{Aspect: a, IsOfFirst: failsAt == atA, Protocol: k.protocol, Message: k.name, What: what, Cells: cells,
		Text: strings.ToUpper(text[:1]) + text[1:] + "."})
	return &f.all[len(f.all)-1]
}

// compareQuestions compares what became of requests that both sides were sent.
func (f *finder) compareQuestions() {
	for i, t := range f.tables {
		for _, q := range t.questions {
			if findQuestion(f.tables[1-i], q.key) == nil {
				f.uncompared = append(f.uncompared, fmt.Sprintf("%s: only %s has it (%s)", q.name, f.labels[i], digits.Counted(q.asked, "exchange")))
			}
		}
	}
	f.compareStrays()
	f.comparePushes()
	for _, a := range f.tables[0].questions {
		if b := findQuestion(f.tables[1], a.key); b != nil {
			both := [2]*question{a, b}
			if !f.compareChallenges(&both) {
				f.compareAnswers(&both)
			}
			f.compareOrders(&both)
			f.compareTimes(&both)
		}
	}
}

func findQuestion(t *table, k key) *question {
	if i := slices.IndexFunc(t.questions, func(q *question) bool { return q.key == k }); i >= 0 {
		return t.questions[i]
	}
	return nil
}

// compareChallenges finds where one side is challenged and the other is not. It reports whether that is why answers
// are missing.
func (f *finder) compareChallenges(q *[2]*question) (explains bool) {
	if q[0].challenged+q[0].atOnce == 0 || q[1].challenged+q[1].atOnce == 0 {
		return false
	}
	f.compared[render.ChallengeAspect] = true
	for i, x := range q {
		y := q[1-i]
		cells := func(yes, no string) (c [2]string) {
			c[i], c[1-i] = yes, no
			return c
		}
		switch {
		case x.challenged > x.atOnce && y.challenged <= y.atOnce:
			lead := fmt.Sprintf("%s %s; %s %s", f.labels[i], fmt.Sprintf(f.verbs.answersAfter, x.name), f.labels[1-i], f.verbs.atOnce)
			if x.refused > 0 {
				f.add(render.AnswerAspect, i, x.key, "challenge", cells("yes, not brought back", "no"),
					"%s: here %s of %s to %s never repeated with the challenge, and got nothing", lead, grouped(x.refused), digits.Counted(x.decided(), "request"), f.labels[i]+digits.Noun(x.refused, " was", " were"))
				return true
			}
			f.add(render.ChallengeAspect, i, x.key, "challenge", cells("yes", "no"),
				"%s: a client that does not repeat its request with the challenge gets nothing from %s", lead, f.labels[i])
		case x.again > 0 && y.again == 0:
			f.add(render.ChallengeAspect, i, x.key, "further challenges", cells(grouped(x.again), "none"),
				"%s is challenged anew when it brings the challenge back (%s, %s); %s is not: a client that repeats its request once gets nothing", f.labels[i], x.name, digits.Counted(x.again, "time"), f.labels[1-i])
		}
	}
	return false
}

// compareAnswers finds where one side is answered and the other is not, or less often.
func (f *finder) compareAnswers(q *[2]*question) {
	for i, x := range q {
		if x.decided() == 0 {
			f.uncompared = append(f.uncompared, fmt.Sprintf("%s: the capture does not show whether %s answers", x.name, f.labels[i]))
			return
		}
	}
	f.compared[render.AnswerAspect] = true
	share := func(x *question) float64 { return float64(x.answered) / float64(x.decided()) }
	cells := [2]string{}
	for i, x := range q {
		cells[i] = fmt.Sprintf("%s of %s", grouped(x.answered), grouped(x.decided()))
	}
	for i, x := range q {
		y := q[1-i]
		switch {
		case x.answered == 0 && y.answered > 0:
			why := f.whyUnanswered(i, x)
			f.add(render.AnswerAspect, i, x.key, "answered", cells, "%s %s %s%s; %s %s %s", f.labels[i], f.verbs.answersNone, digits.Counted(x.decided(), x.name, x.name), why,
				f.labels[1-i], f.verbs.answers, cells[1-i])
		case share(y)-share(x) >= leastShare && x.decided() >= leastAsked, share(y)-share(x) >= largeShare && x.decided() >= fewAsked:
			f.add(render.AnswerAspect, i, x.key, "answered", cells, "%s %s %s %s%s; %s %s", f.labels[i], f.verbs.answers, cells[i], x.name, f.whyUnanswered(i, x), f.labels[1-i], cells[1-i])
		case share(y) > share(x):
			f.unequal[render.AnswerAspect] = true
			f.add(render.NoteAspect, i, x.key, "answered", cells, "%s %s %s %s%s; %s %s: as few as a network loses", f.labels[i], f.verbs.answers, cells[i], x.name, f.whyUnanswered(i, x), f.labels[1-i], cells[1-i])
		}
	}
}

// whyUnanswered returns what came in place of answers of side i, as words that follow a sentence.
func (f *finder) whyUnanswered(i int, x *question) string {
	switch {
	case x.again > 0:
		return "; to the request that brings the challenge back a new challenge came"
	case x.broughtInVain > 0:
		return "; a challenge came, the client brought it back, and nothing came"
	case x.refused > 0:
		return "; a challenge is all that came, and the client did not bring it back"
	case x.late > 0:
		return fmt.Sprintf("; %s came too late, after %s", digits.Counted(x.late, "answer"), elapsed(x.took.median()))
	}
	if came := f.tables[i].strays[x.asks]; len(came) > 0 {
		return fmt.Sprintf("; %s came, which answers no request that was captured", mostOf(came))
	}
	return ""
}

// compareOrders finds where answers are other messages, more of them, or in another order.
func (f *finder) compareOrders(q *[2]*question) {
	if len(q[0].orders) == 0 || len(q[1].orders) == 0 {
		return
	}
	f.compared[render.ReplyAspect], f.compared[render.OrderAspect] = true, true
	a, b := mostOf(q[0].orders), mostOf(q[1].orders)
	if a == b {
		return
	}
	k := q[0].key
	for i, order := range [...]string{a, b} {
		if order == withoutParts {
			f.add(render.AnswerAspect, i, k, "replies", [2]string{a, b}, "all that came for %s of %s is %s; %s %s %s", k.name, f.labels[i], withoutParts, f.labels[1-i], f.verbs.sends, [...]string{b, a}[i])
			return
		}
	}
	names := func(s string) (all []string) {
		for run := range strings.SplitSeq(s, ", ") {
			all = append(all, run[strings.LastIndexByte(run, ' ')+1:])
		}
		return slices.Compact(slices.Sorted(slices.Values(all)))
	}
	if slices.Equal(names(a), names(b)) {
		f.add(render.OrderAspect, atEither, k, "replies", [2]string{a, b}, "%s %s %s for %s, %s %s: a client that takes the first message for the answer, or waits for one, sees another one", f.labels[0], f.verbs.sends, a, k.name, f.labels[1], b)
		return
	}
	f.add(render.ReplyAspect, atEither, k, "replies", [2]string{a, b}, "%s %s %s for %s, %s %s: a client that reads only one of these forms fails at the other", f.labels[0], f.verbs.sends, a, k.name, f.labels[1], b)
}

// compareStrays compares the types of replies whose requests were not captured, or that came without one.
func (f *finder) compareStrays() {
	for i, t := range f.tables {
		for _, asks := range slices.Sorted(maps.Keys(t.strays)) {
			x, y := t.strays[asks], f.tables[1-i].strays[asks]
			own, other := strings.Join(slices.Sorted(maps.Keys(x)), " or "), strings.Join(slices.Sorted(maps.Keys(y)), " or ")
			cells := [2]string{own, other}
			switch {
			case y == nil && len(t.questions) > 0 && len(f.tables[1-i].questions) > 0:
				cells[i], cells[1-i] = own, "none"
				f.add(render.ReplyAspect, i, key{name: mostOf(x)}, "unasked", cells, "%s %s %s without an open request for it, %s does not: a client that takes the next message for its answer reads the wrong one", f.labels[i], f.verbs.sends, own, f.labels[1-i])
			case y == nil || i == 1:
			case own != other:
				f.add(render.ReplyAspect, atEither, key{name: mostOf(x)}, "replies", cells, "%s %s %s, %s %s to the same question: a client that reads only one of these forms fails at the other", f.labels[0], f.verbs.sends, own, f.labels[1], other)
				fallthrough
			default:
				f.compared[render.ReplyAspect] = true
			}
		}
	}
}

// comparePushes finds messages in connections that one side alone sends without a request.
func (f *finder) comparePushes() {
	for i, t := range f.tables {
		if len(t.pushes) == 0 || len(f.tables[1-i].pushes) > 0 || f.tables[1-i].messages == 0 {
			continue
		}
		name := mostOf(t.pushes)
		cells := [2]string{"none", "none"}
		cells[i] = digits.Counted(t.pushes[name], "time")
		f.add(render.ReplyAspect, i, key{name: name}, "unasked", cells, "%s %s %s without a request for it (%s), %s does not: a client that takes the next message for its answer reads the wrong one",
			f.labels[i], f.verbs.sends, name, digits.Counted(t.pushes[name], "time"), f.labels[1-i])
	}
}

// mostOf returns the key with the highest count.
func mostOf(counts map[string]uint64) (most string) {
	for _, k := range slices.Sorted(maps.Keys(counts)) {
		if counts[k] > counts[most] {
			most = k
		}
	}
	return most
}

// compareTimes finds where answers or challenges take longer.
func (f *finder) compareTimes(q *[2]*question) {
	for _, of := range [...]struct {
		what     string
		nanos    [2]int64
		sentence string
	}{
		{"time to answer", [2]int64{q[0].took.median(), q[1].took.median()}, "for an answer to"},
		{"time to challenge", [2]int64{q[0].trip.median(), q[1].trip.median()}, "for the challenge to"},
	} {
		if of.nanos[0] < 0 || of.nanos[1] < 0 {
			continue
		}
		f.compared[render.TimeAspect] = true
		slow := 0
		if of.nanos[1] > of.nanos[0] {
			slow = 1
		}
		more, less := of.nanos[slow], of.nanos[1-slow]
		if more < 2*less || more-less < leastDelay {
			continue
		}
		aspect, end := render.NoteAspect, ""
		if more >= leastWait {
			aspect, end = render.TimeAspect, ": a client that waits for less time gives up"
		}
		f.unequal[render.TimeAspect] = true
		f.add(aspect, slow, q[0].key, of.what, [2]string{elapsed(of.nanos[0]), elapsed(of.nanos[1])},
			"%s %s %s %s %s (median), %s %s%s", f.labels[slow], f.verbs.takes, elapsed(more), of.sentence, q[0].name, f.labels[1-slow], elapsed(less), end)
	}
}

// compareFindings finds what was found at one side only.
func (f *finder) compareFindings() {
	f.compared[render.FindingAspect] = true
	var only []*foundBy
	side := map[*foundBy]int{}
	for i, t := range f.tables {
		for id, x := range t.findings {
			if f.tables[1-i].findings[id] == nil {
				only, side[x] = append(only, x), i
			}
		}
	}
	f.unequal[render.FindingAspect] = len(only) > 0
	rank := []string{"error", "warn", "note", "chat"}
	slices.SortFunc(only, func(a, b *foundBy) int {
		if d := slices.Index(rank, a.Severity) - slices.Index(rank, b.Severity); d != 0 {
			return d
		}
		return strings.Compare(a.ID, b.ID)
	})
	for _, x := range only {
		i := side[x]
		cells := [2]string{"none", "none"}
		cells[i] = digits.Counted(x.count, "time")
		a := render.FindingAspect
		hasClientsAct := x.concernsClients && x.Fault == "server"
		switch {
		case x.Severity == "chat":
			a = render.ValueAspect
		case x.Severity == "note" && !hasClientsAct:
			a = render.NoteAspect
		case x.Severity != "note" && hasClientsAct:
			a = render.FaultAspect
		}
		d := f.add(a, i, key{}, x.ID+" "+x.Severity, cells, "%s has %s (%s, fault: %s), %s has not: %s", f.labels[i], x.ID, x.Severity, x.Fault, f.labels[1-i], strings.TrimSuffix(x.Text, "."))
		d.Finding = x.ID
	}
}

func elapsed(nanos int64) string { return string(digits.AppendElapsed(nil, nanos, " ")) }
func grouped(n uint64) string    { return digits.Grouped(int64(min(n, 1<<62))) }

const (
	// leastShare is by how much shares of answered requests must differ, and leastAsked of how many the smaller
	// one must be. Chosen: below it is what a network loses. Of as few as fewAsked it must be largeShare.
	leastShare = 0.1
	leastAsked = 10
	largeShare = 0.5
	fewAsked   = 3
	// leastDelay is by how much medians of times must differ, of which one must also be twice the other. Chosen: more
	// than two servers of one continent differ in. leastWait is the shortest time that a client waits for: quakestat
	// repeats a request after half a second.
	leastDelay = 50e6
	leastWait  = 400e6
)
