package text

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"

	"qsniff/dissect/finding"
	"qsniff/internal/base/digits"
	"qsniff/internal/flood"
	"qsniff/internal/render"
)

// writeIncident writes all that is known of one incident.
func (p *floodsPage) writeIncident(in *flood.Incident) {
	c := &p.opt.Palette
	s := p.levelStyle(in.Level)
	p.dst = append(append(append(p.dst, '\n'), s.on...), in.Kind.String()...)
	p.dst = append(append(append(p.dst, s.off...), "  "...), c.head.on...)
	p.dst = append(append(p.dst, in.Target.String()...), c.head.off...)
	about := in.Level.String() + "  " + p.sureness(in)
	switch {
	case in.Proto != nil:
		about = in.Protocol() + "  " + about
	case in.Class != nil:
		about = in.Class.Name + "  " + about
	}
	if used := len(in.Kind.String()) + gap + len(in.Target.String()); used+gap+len(about) <= p.opt.Width {
		p.dst = append(append(appendSpaces(p.dst, gap), about...), '\n')
	} else {
		p.dst = append(p.dst, '\n')
		p.writeLine(tableIndent, "%s", about)
	}
	p.writeInside(in)
	p.writeLine(tableIndent, "%s", p.course(in))
	if amounts := p.amounts(in); amounts != "" {
		p.writeLine(tableIndent, "%s", amounts)
	}
	if kinds := in.DescribeKinds(); kinds != "" {
		p.writeItem(kinds)
	}
	p.writeServers(in)
	p.writeEvidence(in)
	p.writeDoubts(in)
	p.writeRelations(in)
	p.writeBusiest(in)
	p.writeNetworks(in)
	if p.how.Explain {
		p.writeRule(in)
	}
	p.writeWhere(in)
	p.writeAdvice(in)
}

// writeInside writes where the capturing host translates the target to, if it does.
func (p *floodsPage) writeInside(in *flood.Incident) {
	inner := p.f.Run.InnerOf(in.Target.End)
	if len(inner) == 0 {
		return
	}
	words := make([]string, len(inner))
	for i, addr := range inner {
		words[i] = addr.String()
	}
	p.writeLine(tableIndent, "inside this host: %s", strings.Join(words, ", "))
}

// writeItem writes a sentence as an item of a list.
func (p *floodsPage) writeItem(text string) {
	at := len(p.dst)
	p.dst = appendWrapped(p.dst, []byte(text), tableIndent+2, p.opt.Width)
	p.dst[at+tableIndent] = '-'
	p.dst = append(p.dst, '\n')
}

func (p *floodsPage) sureness(in *flood.Incident) string {
	return fmt.Sprintf("sure: %s (%.2f)", flood.ConfidenceWord(in.Confidence()), in.Confidence())
}

// course returns when the incident was, in how many pulses, and when it was detected.
func (p *floodsPage) course(in *flood.Incident) string {
	words := fmt.Sprintf("%s to ", p.formatTime(in.Start, true))
	day := func(nanos int64) string { return time.Unix(0, nanos).In(p.opt.Location).Format(time.DateOnly) }
	switch {
	case in.End == in.Start:
		words = p.formatTime(in.Start, true)
	case in.End != 0:
		words += fmt.Sprintf("%s, %s", p.formatTime(in.End, day(in.End) != day(in.Start)), p.length(in))
	case p.f.IsLive:
		words += "now, " + strings.TrimSuffix(p.length(in), "+") + " so far"
	default:
		words += "the end of the capture and on, " + strings.TrimSuffix(p.length(in), "+")
	}
	if in.Pulses > 1 {
		words += fmt.Sprintf(", in %d pulses", in.Pulses)
	}
	if after := time.Duration(in.Detected - in.Start); after > 0 {
		words += fmt.Sprintf("; known after %s", digits.Span(after.Round(100*time.Millisecond)))
	}
	return words
}

// amounts returns rates, packets, bytes and sources of the incident.
func (p *floodsPage) amounts(in *flood.Incident) string {
	var words []string
	add := func(format string, args ...any) { words = append(words, fmt.Sprintf(format, args...)) }
	if in.Peak > 0 {
		add("peak %s/s", short(in.Peak))
	}
	if in.Mean > 0 {
		add("mean %s/s", short(in.Mean))
	}
	if in.Baseline > 0 {
		add("usual %s/s", short(in.Baseline))
	}
	if in.Requests+in.Replies+in.Packets > 0 {
		add("%s in all", in.Count())
	}
	if in.Replies > 0 && in.Kind != flood.ReplyFloodVictim {
		add("%s of the %s", digits.Counted(in.Replies, "reply", "replies"), digits.Noun(uint64(max(in.Servers, 1)), "server"))
	}
	if in.BytesIn > 0 {
		add("%s in", size(in.BytesIn))
	}
	if in.BytesOut > 0 {
		add("%s out", size(in.BytesOut))
	}
	if in.Sources >= 1.5 {
		if in.SourcesError > 0 {
			add("about %s (within %.1f %%)", digits.Counted(uint64(in.Sources+0.5), "source"), 100*in.SourcesError)
		} else {
			add("%s", digits.Counted(uint64(in.Sources+0.5), "source"))
		}
	}
	return strings.Join(words, ", ")
}

// namedServers is how many servers of an incident are named before the others are counted.
const namedServers = 8

// writeServers writes which servers an incident of several is about.
func (p *floodsPage) writeServers(in *flood.Incident) {
	if in.Servers == 0 {
		return
	}
	var names []string
	for _, t := range in.Targets[:min(len(in.Targets), namedServers)] {
		if in.Target.IsNetwork() { // they have its port
			names = append(names, t.Addr().String())
		} else {
			names = append(names, t.String())
		}
	}
	text := digits.Counted(uint64(in.Servers), "server") + whichServers(in) + ": " + strings.Join(names, ", ")
	if in.MoreServers {
		text = "at least " + text
	}
	if more := in.Servers - len(names); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	p.writeItem(text)
}

// whichServers returns, as what follows their number, which servers an incident of several is
// about.
func whichServers(in *flood.Incident) string {
	switch {
	case in.Target.IsNetwork():
		return ", the busiest first"
	case in.Kind == flood.OpenAmplifier:
		return " of one network"
	}
	return " that the same sources ask"
}

// writeDoubts writes what makes the verdict less sure.
func (p *floodsPage) writeDoubts(in *flood.Incident) {
	var why []string
	for _, name := range in.Missing {
		if name == "known" { // no capture can give it
			continue
		}
		why = append(why, cmp.Or(flood.MeaningOf(name), name))
	}
	var doubts []string
	if len(why) > 0 {
		doubts = append(doubts, "unknown in this capture: "+strings.Join(why, "; "))
	}
	if time.Duration(in.Detected-p.f.Run.First) < flood.WarmUp {
		doubts = append(doubts, fmt.Sprintf("it was detected within %s of the begin of the capture: what is usual is unknown", digits.Span(flood.WarmUp)))
	}
	if in.Dropped > 0 {
		doubts = append(doubts, "until then the capture had lost "+digits.Counted(in.Dropped, "packet")+", or stretches of them")
	}
	if in.Completion >= 0 && in.Challenged < flood.LeastChallenged && in.Level >= flood.Warn && in.Challenged > 0 {
		doubts = append(doubts, "sources were challenged "+digits.Counted(uint64(in.Challenged), "time")+" only: what came back of that shows little")
	}
	for _, h := range in.History {
		doubts = append(doubts, fmt.Sprintf("taken for %s until %s", h.Kind, p.formatTime(h.Nanos, !p.sameDay())))
	}
	if len(doubts) > 0 {
		p.writeLine(tableIndent, "To keep in mind:")
	}
	for _, d := range doubts {
		p.writeItem(d)
	}
}

// writeRelations writes which campaign the incident belongs to.
func (p *floodsPage) writeRelations(in *flood.Incident) {
	others := 0
	for i := range p.f.Incidents {
		if o := &p.f.Incidents[i]; o.Campaign == in.Campaign && o.ID != in.ID {
			others++
		}
	}
	if others > 0 {
		p.writeLine(tableIndent, "Campaign %d: %s at this target, too.", in.Campaign, digits.Counted(uint64(others), "other incident"))
	}
}

// writeBusiest writes the sources that sent most, if one of them stands out.
func (p *floodsPage) writeBusiest(in *flood.Incident) {
	if !in.HasLeader() {
		return
	}
	about := "of " + p.topWindow(in)
	t := table{columns: []column{{"ADDRESS", true, 0}, {"AT LEAST", false, 0}, {"AT MOST", false, 0}, {"SHARE", false, 1},
		{"PROVEN", true, 0}, {"PORTS", false, 0}, {"TTL", false, 0}}}
	shares := false
	for i := range in.Top {
		s := &in.Top[i]
		if !in.StandsOut(s) {
			continue
		}
		share := "-"
		if v := in.Share(s.Low); v >= 0 {
			share, shares = fmt.Sprintf("%.1f%%", 100*v), true
		}
		proved, ports, ttl := "no", "-", "-"
		if s.Verified {
			proved = "yes"
		}
		if s.Ports > 0 {
			ports = fmt.Sprint(s.Ports)
		}
		if s.TTL >= 0 {
			ttl = fmt.Sprint(s.TTL)
		}
		t.rows = append(t.rows, tableRow{cells: []string{s.Addr.String(), grouped(s.Low), grouped(s.High), share, proved, ports, ttl}})
	}
	if !shares {
		t.dropColumn(3)
	}
	switch {
	case in.Class != nil:
		about = "of all that it counts; nothing proves an address"
		t.dropColumn(4)
	case in.Target.TCP:
		about += "; a connection proves the address"
		t.dropColumn(len(t.columns) - 1)
		t.dropColumn(len(t.columns) - 1)
	case in.Target.End.Port() == 0:
		about += "; these are servers that reply"
	default:
		about += "; proven: it brought a challenge back"
	}
	p.writeSubtitle("Busiest sources", about)
	p.writeTable(&t)
}

// topWindow returns what the counts of the busiest sources are of.
func (p *floodsPage) topWindow(in *flood.Incident) string {
	d := in.Kind.Doc()
	words := digits.Counted(in.TopOf, cmp.Or(d.One, "request"), cmp.Or(d.Many, "requests"))
	if in.Target.TCP {
		return "the last " + words
	}
	if w := p.window(in, &flood.Sentence{From: in.TopFrom, To: in.TopTo}); w != "" {
		words += " " + w
	}
	return words
}

// dropColumn removes a column.
func (t *table) dropColumn(column int) {
	t.moveBelow(column)
	for i := range t.rows {
		t.rows[i].note = ""
	}
}

// namedNetwork is the least share of the queries with which a network is listed. Chosen: ten
// times that of a source.
const namedNetwork = 0.05

// writeNetworks writes the networks that sent at least namedNetwork from at least two hosts.
func (p *floodsPage) writeNetworks(in *flood.Incident) {
	t := table{columns: []column{{"NETWORK", true, 0}, {"AT LEAST", false, 0}, {"AT MOST", false, 0}, {"HOSTS", false, 0}}}
	for i := range in.Prefixes {
		x := &in.Prefixes[i]
		if x.Hosts < 2 || in.WindowShare(x.Low) < namedNetwork {
			continue
		}
		t.rows = append(t.rows, tableRow{cells: []string{x.Prefix.String(), grouped(x.Low), grouped(x.High), fmt.Sprint(x.Hosts)}})
	}
	if len(t.rows) > 0 {
		p.writeSubtitle("Busiest networks", "in the 10 s before the verdict; hosts: those seen, at least")
		p.writeTable(&t)
	}
}

// writeSubtitle writes the line before a table of an incident.
func (p *floodsPage) writeSubtitle(name, about string) {
	p.writeLine(tableIndent, "%s: %s", name, about)
}

// writeRule writes the rule of the incident's kind, its conditions, and the values measured.
func (p *floodsPage) writeRule(in *flood.Incident) {
	rule := p.f.Limits.RuleOf(in.Kind)
	if rule == nil {
		return
	}
	p.writeLine(tableIndent, "Rule %s: %s", rule.Name, rule.Meaning)
	p.writeTable(needsTable(rule, in))
	if len(in.Features) == 0 {
		return
	}
	t := table{columns: []column{{"VALUE", false, 0}}, hasProse: true}
	for _, f := range in.Features {
		t.rows = append(t.rows, tableRow{cells: []string{value(f.Value)}, note: flood.MeaningOf(f.Name)})
	}
	p.writeSubtitle("Values", "at the verdict, over the 10 to 20 s before it unless the line names another time; shares are parts of 1; -o json has them by name")
	p.writeTable(&t)
}

// needsTable returns the conditions of a rule. If in is not nil, the value that it has for
// each is beside it.
func needsTable(rule *flood.RuleDoc, in *flood.Incident) *table {
	t := &table{columns: []column{{"NEEDS", false, 0}, {"SETTING", true, 0}}, hasProse: true}
	if in != nil {
		t.columns = append(t.columns, column{"HERE", false, 0})
	}
	for _, n := range rule.Needs {
		cells := []string{n.Comparison + " " + value(n.Value), n.Setting}
		if in != nil {
			here := "-"
			if v := in.Feature(n.Feature); n.Feature != "" && !math.IsNaN(v) {
				here = value(v)
			}
			cells = append(cells, here)
		}
		t.rows = append(t.rows, tableRow{cells: cells, note: n.Text})
	}
	return t
}

// value formats a number of any size.
func value(v float64) string {
	switch {
	case math.IsNaN(v):
		return "unknown"
	case v >= 1000:
		return grouped(uint64(v + 0.5))
	}
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.3f", v), "0"), ".")
}

// writeWhere writes from which frame on the incident is in the capture.
func (p *floodsPage) writeWhere(in *flood.Incident) {
	if in.Frame > 0 && !p.f.IsLive {
		p.writeLine(tableIndent, "In the capture from frame %s on:", grouped(in.Frame))
		p.dst = appendSpaces(p.dst, belowIndent) // whole, to be copied
		p.dst = fmt.Appendf(p.dst, "qsniff -o json %s | jq -c 'select(.frame >= %d)'\n", p.f.Asked.Files(), in.Frame)
	}
}

// AppendIncident appends an event of an incident as a block, between two empty lines.
func (l *Line) AppendIncident(dst []byte, x *render.IncidentEvent) []byte {
	return appendWrappedIncident(append(dst, '\n'), &l.opt, l.opt.Date, x)
}

// AppendIncident appends an event of an incident, and an empty line.
func (t *Tree) AppendIncident(dst []byte, x *render.IncidentEvent) []byte {
	return appendWrappedIncident(dst, &t.opt, true, x)
}

// AppendIncident appends an event of an incident, and an empty line.
func (h *Hex) AppendIncident(dst []byte, x *render.IncidentEvent) []byte {
	return appendWrappedIncident(dst, &h.opt, true, x)
}

// appendWrappedIncident appends an event in lines of at most Options.Width, and an
// empty line. hasDate adds the date to a time of day.
func appendWrappedIncident(dst []byte, o *Options, hasDate bool, x *render.IncidentEvent) []byte {
	const hang = frameW + 1 + indentStep
	p := page{dst: dst, opt: o}
	p.padTo(frameW + 1)
	lo := len(p.dst)
	p.dst = o.appendClockTime(p.dst, x.Nanos, x.First, hasDate, &x.Hole)
	p.col += len(p.dst) - lo
	p.padTo(p.col + 1)
	mark := incidentMark(x)
	if p.col+len(mark)+gap+roomForWords > o.Width {
		p.newline()
		p.padTo(hang)
	}
	p.writeString(o.incidentStyle(x), mark)
	p.padTo(p.col + gap)
	lo = len(p.dst)
	p.dst = append(p.dst, IncidentWords(x)...)
	p.writeParagraph(style{}, lo, hang)
	p.newline()
	return p.dst
}

func (o *Options) incidentStyle(x *render.IncidentEvent) style {
	if x.Level == flood.Alert {
		return o.Palette.severity[finding.Error]
	}
	return o.Palette.severity[finding.Warn]
}

func incidentMark(x *render.IncidentEvent) string { return "! " + x.Level.String() + " FLOOD" }

// IncidentWords returns what happened, as one sentence: with the first sentence of the evidence
// where an incident begins or changes, with its length and size where it is over.
func IncidentWords(x *render.IncidentEvent) string {
	what := fmt.Sprintf("%s at %s", x.Kind, x.Target)
	first := firstEvidence(x.Incident, x.Nanos)
	switch {
	case x.Event == flood.Begins:
		return fmt.Sprintf("%s, from frame %d on: %s", what, x.Frame, first)
	case x.Event == flood.Changes && len(x.History) > 0:
		return fmt.Sprintf("%s, taken for %s before: %s", what, x.History[len(x.History)-1].Kind, first)
	case x.Event == flood.Changes:
		return fmt.Sprintf("%s goes on: %s", what, first)
	case x.End == 0:
		return fmt.Sprintf("%s is not over where the capture ends; peak %s/s, %s so far", what, short(x.Peak), x.Count())
	}
	return fmt.Sprintf("%s was over after %s; peak %s/s, %s", what, digits.Span(time.Duration(x.End-x.Start).Round(100*time.Millisecond)), short(x.Peak), x.Count())
}
