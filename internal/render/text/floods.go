package text

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"qsniff/dissect/finding"
	"qsniff/internal/base/digits"
	"qsniff/internal/flood"
	"qsniff/internal/flood/advice"
	"qsniff/internal/render"
	"qsniff/internal/render/counters"
)

// FloodOptions choose what AppendFloods prints besides the verdict, the table, and the
// warnings and alerts.
type FloodOptions struct {
	Verbose bool // all that is known of each incident, the advice, and what was tried
	Explain bool // as Verbose, and each with its rule and the values that it rests on
}

// AppendFloods appends the incidents of a run for people to read: the verdict, a block for
// each attack and warning, and the commands against them. Of the options, width, colours and the zone of
// times are used. Commands are never wrapped, so that they can be copied.
func AppendFloods(dst []byte, f *render.Floods, opt Options, how FloodOptions) []byte {
	p := floodsPage{statsPage{dst: dst, opt: opt.withDefaults(), s: &render.Stats{Run: f.Run}}, f, how}
	p.writeInterrupted()
	if f.Run.Packets == 0 {
		text := "The capture has no packets."
		if f.IsLive {
			text = "No packets so far."
		}
		p.writeLine(0, "%s", text)
		return p.dst
	}
	p.writeHeadline()
	p.writeScope()
	p.writeIdleRules()
	if !how.Verbose && !how.Explain {
		p.writeBrief()
		return p.dst
	}
	p.writeCaveats()
	p.writeTableOfIncidents()
	for i := range f.Incidents {
		p.writeIncident(&f.Incidents[i])
	}
	p.writeLoading()
	p.writeSummary()
	return p.dst
}

// AppendFloodEvent appends a block on an event of an incident: a line on what happened, and,
// where the incident begins or ends, all that is known of it.
func AppendFloodEvent(dst []byte, f *render.Floods, in *flood.Incident, e flood.Event, opt Options) []byte {
	o := opt.withDefaults()
	o.Micros = true
	dst = appendWrappedIncident(append(dst, '\n'), &o, true, &render.IncidentEvent{Nanos: f.Run.Last, First: f.Run.First, Event: e, Incident: in})
	dst = dst[:len(dst)-1] // the next block begins with an empty line
	if e == flood.Changes {
		return dst
	}
	return AppendFloodIncident(dst, f, in, o)
}

// AppendFloodIncident appends all that is known of an incident, after an empty line.
func AppendFloodIncident(dst []byte, f *render.Floods, in *flood.Incident, opt Options) []byte {
	p := floodsPage{statsPage{dst: dst, opt: opt.withDefaults(), s: &render.Stats{Run: f.Run}}, f, FloodOptions{}}
	p.writeIncident(in)
	return p.dst
}

// floodsPage is the page of AppendFloods.
type floodsPage struct {
	statsPage
	f   *render.Floods
	how FloodOptions
}

// levelStyle returns the colour of a level.
func (p *floodsPage) levelStyle(l flood.Level) style {
	severity := [...]finding.Severity{flood.Info: finding.Note, flood.Warn: finding.Warn, flood.Alert: finding.Error}
	return p.opt.Palette.severity[severity[l]]
}

// writeHeadline writes the first line: whether there was an attack.
func (p *floodsPage) writeHeadline() {
	run, n := &p.f.Run, &p.f.Counts
	where := fmt.Sprintf("in %s of capture, %s", digits.Span(time.Duration(run.Last-run.First)), digits.Counted(run.Packets, "packet"))
	var parts []string
	worst := flood.Info
	for _, x := range []struct {
		level flood.Level
		words string
	}{{flood.Alert, "attack"}, {flood.Warn, "warning"}, {flood.Info, "note"}} {
		if c := n[x.level]; c > 0 || x.level == flood.Alert {
			parts = append(parts, digits.Counted(c, x.words))
			if c > 0 {
				worst = max(worst, x.level)
			}
		}
	}
	s := p.levelStyle(worst)
	text := strings.Join(parts, ", ") + " " + where
	if others := &p.f.Others; n[flood.Alert]+n[flood.Warn] == others[flood.Alert]+others[flood.Warn] {
		text = p.noQueryFloods(where)
		if worst == flood.Info {
			s = p.opt.Palette.head
		}
	}
	p.dst = append(p.dst, s.on...)
	p.dst = appendWrapped(p.dst, []byte(text), 0, p.opt.Width)
	p.dst = append(append(p.dst, s.off...), '\n')
}

// writeIdleRules writes that rules are still loaded when nothing goes on.
func (p *floodsPage) writeIdleRules() {
	goesOn := slices.ContainsFunc(p.f.Incidents, func(in flood.Incident) bool { return in.Level >= flood.Warn && in.End == 0 && in.Paused == 0 })
	if text := p.f.Loaded.DescribeIdle(time.Unix(0, p.f.Run.Last)); text != "" && p.f.IsLive && !goesOn {
		p.writeLine(0, "%s", text)
	}
}

// writeScope writes what was examined: the time, and the traffic in it.
func (p *floodsPage) writeScope() {
	run, seen := &p.f.Run, p.f.Seen
	times := fmt.Sprintf("%s to %s", p.formatTime(run.First, true), p.formatTime(run.Last, !p.sameDay()))
	if seen.Queries+seen.Replies+seen.Junk+seen.Logins == 0 {
		p.writeLine(0, "%s: no query traffic. qsniff looks for it on all ports; -d udp.port==N,PROTOCOL names one to try harder on.", times)
		return
	}
	servers, rough := seen.Servers()
	about := ""
	if rough {
		about = "about "
	}
	words := fmt.Sprintf("%s: %s to %s%s, %s", times, digits.Counted(seen.Queries, "query", "queries"), about,
		digits.Counted(servers, "server"), digits.Counted(seen.Replies, "reply", "replies"))
	if seen.Junk > 0 {
		words += fmt.Sprintf(", %s known", digits.Counted(seen.Junk, "datagram that is nothing", "datagrams that are nothing"))
	}
	if seen.Logins > 0 {
		words += ", " + digits.Counted(seen.Logins, "login of RCON", "logins of RCON")
	}
	if seen.OneWay() == "" && seen.Queries > 0 {
		words += "; both directions were captured"
	}
	if p.f.IsLimited {
		words += "; these numbers are of all servers, and the report is of those that --servers names"
	}
	p.writeLine(0, "%s", words)
}

// writeCaveats writes what makes the verdict less sure: missing directions, packets or time.
func (p *floodsPage) writeCaveats() {
	f, run := p.f, &p.f.Run
	switch f.Seen.OneWay() {
	case "requests":
		p.writeLine(0, "Only what goes to servers was captured: reflection cannot be found, and nothing is sure, because nobody is seen to prove an address. Capture both directions.")
	case "replies":
		p.writeLine(0, "Only what servers send was captured: queries and who proves an address are not there. Capture both directions.")
	}
	if span := time.Duration(run.Last - run.First); span < flood.WarmUp && f.Seen.Queries > 0 {
		p.writeLine(0, "The capture is shorter than %s: what is usual here is unknown, which makes verdicts less sure, and short attacks may be missing.", digits.Span(flood.WarmUp))
	}
	if run.Dropped > 0 {
		p.writeLine(0, "The capturing program lost %s: rates were higher, and sources without proof may have proved their address.", digits.Counted(run.Dropped, "packet"))
	}
	for _, s := range run.Sentences() {
		p.writeLine(0, "%s.", s)
	}
	if run.Backwards > 0 {
		p.writeLine(0, "Time went backwards in the capture: %s older than one before.", digits.Counted(run.Backwards, "packet was", "packets were"))
	}
	if len(f.FullTables) > 0 {
		p.writeLine(0, "Tables were full of %s: the oldest were evicted, and incidents there may be missing (--memory, or fewer servers in the capture).", strings.Join(f.FullTables, ", "))
	}
	for _, label := range (&counters.Result{Floods: f.Unnamed}).Labels(counters.Incidents) {
		p.writeLine(0, "%s.", label)
	}
}

// writeTableOfIncidents writes the table of all incidents, worst first.
func (p *floodsPage) writeTableOfIncidents() {
	if len(p.f.Incidents) == 0 {
		return
	}
	t := table{columns: []column{{"LEVEL", true, 0}, {"KIND", true, 0}, {"TARGET", true, 0}, {"START", true, 0}, {"LENGTH", false, 0},
		{"PEAK/S", false, 0}, {"SOURCES", false, 0}, {"SURE", true, 0}, {"MEAN/S", false, 1}, {"USUAL/S", false, 1},
		{"REQUESTS", false, 2}, {"REPLIES", false, 2}, {"IN", false, 3}, {"OUT", false, 3}, {"CAMPAIGN", false, 4}}}
	for level := flood.Alert; ; level-- {
		for i := range p.f.Incidents {
			if in := &p.f.Incidents[i]; in.Level == level {
				t.rows = append(t.rows, tableRow{cells: p.cells(in), style: p.levelStyle(level)})
			}
		}
		if level == flood.Info {
			break
		}
	}
	if _, _, used := t.fitColumns(p.opt.Width); used > p.opt.Width {
		t.moveBelow(2)
	}
	p.dst = append(p.dst, '\n')
	p.writeTable(&t)
}

// moveBelow removes a column, and makes its cells the notes of their rows.
func (t *table) moveBelow(column int) {
	cut := func(list []string) []string {
		return append(append([]string{}, list[:column]...), list[column+1:]...)
	}
	for i := range t.rows {
		r := &t.rows[i]
		r.note, r.cells = r.cells[column], cut(r.cells)
	}
	t.columns = append(append(t.columns[:0:0], t.columns[:column]...), t.columns[column+1:]...)
}

func (p *floodsPage) cells(in *flood.Incident) []string {
	rate := func(v float64) string {
		if v <= 0 {
			return "-"
		}
		return short(v)
	}
	return []string{in.Level.String(), in.Kind.String(), in.Target.String(), p.formatTime(in.Start, !p.sameDay()), p.length(in),
		rate(in.Peak), p.sources(in), flood.ConfidenceWord(in.Confidence()), rate(in.Mean), rate(in.Baseline),
		grouped(in.Requests), grouped(in.Replies), size(in.BytesIn), size(in.BytesOut), fmt.Sprint(in.Campaign)}
}

// sources returns how many sources there were.
func (p *floodsPage) sources(in *flood.Incident) string {
	if in.Sources < 0.5 {
		return "-"
	}
	return grouped(uint64(in.Sources + 0.5))
}

// length returns how long the incident lasted, with a + if it was not over at the end of
// the capture.
func (p *floodsPage) length(in *flood.Incident) string {
	end, open := in.End, ""
	if end == in.Start {
		return "-"
	}
	if end == 0 {
		end, open = cmp.Or(in.Paused, p.f.Run.Last), "+"
	}
	return digits.Span(max(time.Duration(end-in.Start), 0).Round(100*time.Millisecond)) + open
}

// formatTime formats a time to the second, which is what incidents are measured in.
func (p *floodsPage) formatTime(nanos int64, date bool) string {
	layout := time.TimeOnly
	if date {
		layout = time.DateTime
	}
	if p.opt.UTC {
		layout += "Z"
	}
	return time.Unix(0, nanos).In(p.opt.Location).Format(layout)
}

// short formats a rate.
func short(v float64) string {
	if v >= 10 {
		return grouped(uint64(v + 0.5))
	}
	return digits.Short(v)
}

// writeNotes writes the incidents of level info, each in a sentence.
func (p *floodsPage) writeNotes() {
	first := true
	for i := range p.f.Incidents {
		in := &p.f.Incidents[i]
		if in.Level != flood.Info {
			continue
		}
		if first {
			p.writeTitle("Notes", "no attacks; -v prints each in full")
			first = false
		}
		others := ""
		if in.Servers > 1 && !in.Target.IsNetwork() {
			others = " and " + digits.Counted(uint64(in.Servers-1), "more server") + whichServers(in)
		}
		p.writeLine(tableIndent, "%s %s%s: %s", in.Kind, in.Target, others, p.evidenceText(in))
	}
}

// noQueryFloods returns the first line of a page without query floods. It names what else there
// was, because a reader whose server is down has to know where to look.
func (p *floodsPage) noQueryFloods(where string) string {
	text, n := "No query floods", &p.f.Others
	if watched := time.Duration(p.f.Run.Last - p.f.Run.First); p.f.IsLive && watched < flood.SureAfter {
		text = fmt.Sprintf("Watching since %.0f s, nothing yet", watched.Seconds())
	}
	if c := n[flood.Alert]; c > 0 {
		text = digits.Counted(c, "attack") + " (no queries)"
	}
	if c := n[flood.Warn]; c > 0 {
		text += ", " + digits.Counted(c, "other warning")
	}
	if c := p.f.Counts[flood.Info]; c > 0 {
		text += ", " + digits.Counted(c, "note")
	}
	return text + " " + where + p.otherTraffic()
}

// worthSaying is from how many other packets a second on the first line names them: fewer are
// in every capture.
const worthSaying = 50

// otherTraffic returns what else than queries came, in the second with most of it. It names
// sessions only where nothing else reached worthSaying.
func (p *floodsPage) otherTraffic() string {
	x := &p.f.OtherPeak
	switch n := p.f.Sessions; {
	case x.Packets >= worthSaying:
	case n >= worthSaying:
		return fmt.Sprintf("; other packets were of sessions, %s a second at most", grouped(n))
	default:
		return ""
	}
	of := "to " + x.Host.Addr().String()
	switch {
	case x.Class == nil:
	case x.Port != 0:
		of = fmt.Sprintf("%s to port %d of %s", x.Class.Says, x.Port, x.Host.Addr())
	default:
		of = fmt.Sprintf("%s to %s", x.Class.Says, x.Host.Addr())
	}
	return fmt.Sprintf("; %s a second arrived (%s)", digits.Counted(x.Packets, "other packet"), of)
}

// summarized is how many incidents the summary names. Chosen: three are two or three lines of
// a terminal.
const summarized = 3

// writeSummary writes the verdict once more, in one paragraph below the advice, where the eye
// is after a long page: which attacks, and what to do next.
func (p *floodsPage) writeSummary() {
	level := flood.Alert
	if p.f.Counts[level] == 0 {
		level = flood.Warn
	}
	var named []string
	for i := range p.f.Incidents {
		if in := &p.f.Incidents[i]; in.Level == level {
			if len(named) < summarized {
				named = append(named, p.summarize(in))
			}
		}
	}
	if len(named) == 0 {
		return
	}
	all := p.f.Counts[level]
	text := "Summary: " + digits.Counted(all, [...]string{flood.Warn: "warning", flood.Alert: "attack"}[level]) + ": " + strings.Join(named, "; ")
	if more := int(min(all, 1<<30)) - len(named); more > 0 {
		text += fmt.Sprintf("; and %s more in the table above", grouped(uint64(more)))
	}
	next := "what to do stands above"
	if !advice.NewRuleset("", p.f.Incidents, p.f.Expiry).IsEmpty() {
		next = "load the rules, with a command above"
		if p.f.IsLive && len(p.f.Script) == 0 {
			next = "Ctrl-C, which prints the rules"
		}
	}
	p.dst = append(p.dst, '\n')
	p.writeLine(0, "%s. Next: %s.", text, next)
}

// summarize returns an incident in words: what, where, when, how much of what.
func (p *floodsPage) summarize(in *flood.Incident) string {
	end := "the end of the capture"
	if in.End != 0 {
		end = p.formatTime(in.End, !p.sameDay())
	}
	when := p.formatTime(in.Start, !p.sameDay()) + " to " + end
	if in.End == in.Start {
		when = p.formatTime(in.Start, !p.sameDay())
	}
	text := fmt.Sprintf("%s on %s, %s, %s", in.Kind, in.Target, when, in.Count())
	if of := in.Kind.Doc().Packets; of != "" {
		text += " " + of
	}
	if in.Succeeded {
		text += ", WITH SUCCESS"
	}
	return text
}
