package text

import (
	"fmt"
	"math"
	"strings"
	"time"

	"qsniff/flood"
	"qsniff/internal/digits"
)

// block tells all of one incident.
func (p *floodsPage) block(in *flood.Incident) {
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
		p.line(tableIndent, "%s", about)
	}
	p.line(tableIndent, "%s", p.course(in))
	if amounts := p.amounts(in); amounts != "" {
		p.line(tableIndent, "%s", amounts)
	}
	for _, s := range in.Evidence {
		p.item(s)
	}
	p.doubts(in)
	p.relations(in)
	p.busiest(in)
	p.networks(in)
	if p.how.Explain {
		p.explain(in)
	}
	p.look(in)
	p.advice(in)
}

// item writes a sentence of a list.
func (p *floodsPage) item(text string) {
	at := len(p.dst)
	p.dst = appendWrapped(p.dst, []byte(text), tableIndent+2, p.opt.Width)
	p.dst[at+tableIndent] = '-'
	p.dst = append(p.dst, '\n')
}

func (p *floodsPage) sureness(in *flood.Incident) string {
	return fmt.Sprintf("sure: %s (%.2f)", flood.ConfidenceWord(in.Confidence), in.Confidence)
}

// course says when it was and how it went.
func (p *floodsPage) course(in *flood.Incident) string {
	said := fmt.Sprintf("%s to ", p.clock(in.Start, true))
	day := func(nanos int64) string { return time.Unix(0, nanos).In(p.opt.Location).Format(time.DateOnly) }
	switch {
	case in.End == in.Start:
		said = p.clock(in.Start, true)
	case in.End != 0:
		said += fmt.Sprintf("%s, %s", p.clock(in.End, day(in.End) != day(in.Start)), p.length(in))
	default:
		said += "the end of the capture and on, " + strings.TrimSuffix(p.length(in), "+")
	}
	if in.Pulses > 1 {
		said += fmt.Sprintf(", in %d pulses", in.Pulses)
	}
	if after := time.Duration(in.Detected - in.Start); after > 0 {
		said += fmt.Sprintf("; known after %s", digits.Span(after.Round(100*time.Millisecond)))
	}
	return said
}

// amounts says how much it was.
func (p *floodsPage) amounts(in *flood.Incident) string {
	var said []string
	add := func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }
	if in.Peak > 0 {
		add("peak %s/s", short(in.Peak))
	}
	if in.Mean > 0 {
		add("mean %s/s", short(in.Mean))
	}
	if in.Baseline > 0 {
		add("usual %s/s", short(in.Baseline))
	}
	if in.Packets > 0 {
		add("%s in all", digits.Counted(in.Packets, "packet"))
	}
	if in.Requests > 0 {
		add("%s in all", digits.Counted(in.Requests, "request"))
	}
	if in.Replies > 0 {
		add("%s", digits.Counted(in.Replies, "reply", "replies"))
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
	return strings.Join(said, ", ")
}

// doubts says why it is not surer.
func (p *floodsPage) doubts(in *flood.Incident) {
	var why []string
	for _, name := range in.Missing {
		if name == "known" { // no capture can give it
			continue
		}
		says := flood.MeaningOf(name)
		if says == "" {
			says = name
		} else {
			says += " (" + name + ")"
		}
		why = append(why, says)
	}
	if len(why) > 0 {
		p.item("not to be told from this capture: " + strings.Join(why, ", "))
	}
	if time.Duration(in.Detected-p.f.Run.First) < warmUp {
		p.item("it was there within 30 s of the begin of the capture: what is usual is not known")
	}
	if in.Dropped > 0 {
		p.item("until then the capture had lost " + digits.Counted(in.Dropped, "packet") + ", or stretches of them")
	}
	if in.Completion >= 0 && in.Challenged < 30 && in.Level >= flood.Warn && in.Challenged > 0 {
		p.item("only " + digits.Counted(uint64(in.Challenged), "source was", "sources were") + " challenged: their share says little")
	}
}

// relations says what it was taken for before, and what it belongs to.
func (p *floodsPage) relations(in *flood.Incident) {
	for _, h := range in.History {
		p.item(fmt.Sprintf("taken for %s until %s", h.Kind, p.clock(h.Nanos, !p.sameDay())))
	}
	others := 0
	for i := range p.f.Incidents {
		if o := &p.f.Incidents[i]; o.Campaign == in.Campaign && o.ID != in.ID {
			others++
		}
	}
	if others > 0 {
		p.item(fmt.Sprintf("campaign %d: %s at this target belong with it", in.Campaign, digits.Counted(uint64(others), "other incident")))
	}
}

// outstanding is the share from which on a source is worth naming.
const outstanding = 0.005

// busiest lists the sources that sent most.
func (p *floodsPage) busiest(in *flood.Incident) {
	if len(in.Top) == 0 {
		return
	}
	if v := in.Share(in.Top[0].Low); v >= 0 && v < outstanding {
		p.item("no source stands out: addresses are as good as useless to block it")
		return
	}
	t := table{columns: []column{{"ADDRESS", true, 0}, {"AT LEAST", false, 0}, {"AT MOST", false, 0}, {"SHARE", false, 1},
		{"PROVED", true, 0}, {"PORTS", false, 0}, {"TTL", false, 0}}}
	shares := false
	for i := range in.Top {
		s := &in.Top[i]
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
		t.drop(3)
	}
	about := "in the 10 to 20 s that the verdict rests on; proved: it brought a challenge back"
	switch {
	case in.Class != nil:
		about = "of all that it counts; nothing proves an address"
		t.drop(4)
	case strings.HasPrefix(in.Target.String(), "tcp/"):
		about = "of the last refused logins; a connection proves the address"
		t.drop(len(t.columns) - 1)
		t.drop(len(t.columns) - 1)
	case in.Target.End.Port() == 0:
		about = "servers, in the 10 to 20 s that the verdict rests on"
	}
	p.subtitle("Busiest sources", about)
	p.table(&t)
}

// drop leaves out a column.
func (t *table) drop(column int) {
	t.below(column)
	for i := range t.rows {
		t.rows[i].says = ""
	}
}

// networks lists the networks that sent most, where any stands out.
func (p *floodsPage) networks(in *flood.Incident) {
	t := table{columns: []column{{"NETWORK", true, 0}, {"AT LEAST", false, 0}, {"AT MOST", false, 0}, {"HOSTS", false, 0}}}
	for i := range in.Prefixes {
		x := &in.Prefixes[i]
		if x.Hosts < 2 || in.Share(x.Low) < 10*outstanding {
			continue
		}
		t.rows = append(t.rows, tableRow{cells: []string{x.Prefix.String(), grouped(x.Low), grouped(x.High), fmt.Sprint(x.Hosts)}})
	}
	if len(t.rows) > 0 {
		p.subtitle("Busiest networks", "in the last 10 s of these; hosts: those seen, at least")
		p.table(&t)
	}
}

// subtitle begins a table of a block.
func (p *floodsPage) subtitle(name, about string) {
	p.line(tableIndent, "%s: %s", name, about)
}

// explain tells the rule, what it needs and what there was.
func (p *floodsPage) explain(in *flood.Incident) {
	rule := p.f.Limits.RuleOf(in.Kind)
	if rule == nil {
		return
	}
	p.line(tableIndent, "Rule %s: %s", rule.Name, rule.Means)
	p.table(needsTable(rule, in))
	if len(in.Features) == 0 {
		return
	}
	t := table{columns: []column{{"FEATURE", true, 0}, {"VALUE", false, 0}}, prose: true}
	for _, f := range in.Features {
		t.rows = append(t.rows, tableRow{cells: []string{f.Name, value(f.Value)}, says: flood.MeaningOf(f.Name)})
	}
	p.subtitle("Values", "when the figures were taken; shares are parts of 1")
	p.table(&t)
}

// needsTable lists the conditions of a rule, beside what an incident shows of each
// if there is one.
func needsTable(rule *flood.Rule, in *flood.Incident) *table {
	t := &table{columns: []column{{"NEEDS", false, 0}, {"SETTING", true, 0}}, prose: true}
	if in != nil {
		t.columns = append(t.columns, column{"HERE", false, 0})
	}
	for _, n := range rule.Needs {
		cells := []string{n.Sign + " " + value(n.Value), n.Setting}
		if in != nil {
			here := "-"
			if v := in.Feature(n.Feature); n.Feature != "" && !math.IsNaN(v) {
				here = value(v)
			}
			cells = append(cells, here)
		}
		t.rows = append(t.rows, tableRow{cells: cells, says: n.Says})
	}
	return t
}

// value writes a number of any size.
func value(v float64) string {
	switch {
	case math.IsNaN(v):
		return "not known"
	case v >= 1000:
		return grouped(uint64(v + 0.5))
	}
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.3f", v), "0"), ".")
}

// look says where in the capture it is.
func (p *floodsPage) look(in *flood.Incident) {
	if in.Frame > 0 {
		p.line(tableIndent, "In the capture from frame %s on:", grouped(in.Frame))
		p.dst = appendSpaces(p.dst, belowIndent) // whole, to be copied
		p.dst = fmt.Appendf(p.dst, "qsniff -o json FILE | jq -c 'select(.frame >= %d)'\n", in.Frame)
	}
}

// advice is what can be done. Its lines are copied into terminals: they stay whole.
func (p *floodsPage) advice(in *flood.Incident) {
	if in.Advice == "" {
		return
	}
	p.line(tableIndent, "What to do (without the indent: qsniff floods -o json FILE | jq -r .advice):")
	for line := range strings.Lines(in.Advice) {
		if line = strings.TrimRight(line, "\n"); line != "" {
			p.dst = append(appendSpaces(p.dst, belowIndent), line...)
		}
		p.dst = append(p.dst, '\n')
	}
}
