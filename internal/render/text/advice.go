package text

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"qsniff/internal/base/digits"
	"qsniff/internal/flood"
	"qsniff/internal/flood/advice"
)

// writeAdvice writes what can be done: the words, what rules do, and what these would have
// done. The rules themselves are another output: at the end of the page is the command that
// loads those of all incidents.
func (p *floodsPage) writeAdvice(in *flood.Incident) {
	a := &in.Advice
	if len(a.Words) == 0 && a.Rules == nil {
		return
	}
	p.writeLine(tableIndent, "What to do:")
	for i, s := range a.Words {
		if i > 0 {
			p.dst = append(p.dst, '\n')
		}
		p.writeLine(belowIndent, "%s", s)
	}
	if a.Rules == nil {
		return
	}
	p.dst = append(p.dst, '\n')
	p.writeLine(belowIndent, "The rules, for %s:", a.Rules.Scope())
	lines := a.Rules.Lines()
	for i := range lines {
		at := len(p.dst)
		p.writeLine(belowIndent+2, "%s", lines[i].Text()+describeMatch(&lines[i]))
		p.dst[at+belowIndent] = '-'
	}
	if a.Measured != "" {
		p.writeLine(belowIndent, "%s", a.Measured)
	}
}

// describeMatch returns the lengths of the payloads whose first bytes a line of rules matches, in
// words; empty if there are none, or more than shownLengths.
func describeMatch(x *flood.RuleLine) string {
	var sizes []string
	for i := range x.Patterns {
		if n := flood.LengthText(&x.Patterns[i], 0); !slices.Contains(sizes, n) {
			sizes = append(sizes, n)
		}
	}
	if len(sizes) == 0 || len(sizes) > shownLengths {
		return ""
	}
	return "; matches the first bytes of payloads of " + strings.Join(sizes, ", ") + " bytes"
}

// shownLengths is how many lengths a line of rules has at most. Chosen: more are read by
// nobody.
const shownLengths = 4

// writeLoading writes the commands that load the rules of all incidents, and remove them.
// They are never wrapped, so that they can be copied.
func (p *floodsPage) writeLoading() {
	if !slices.ContainsFunc(p.f.Incidents, func(in flood.Incident) bool { return in.Advice.Rules != nil }) {
		return
	}
	if p.f.IsLive {
		p.writeScript()
		return
	}
	asked := &p.f.Asked
	p.writeTitle("Rules", "for all of these together; qsniff itself loads none")
	if c, n := flood.CostTogether(p.f.Incidents); n > 0 {
		p.writeLine(tableIndent, "The cost of the lines against %d of them together: %s", n, advice.DescribeCost(&c))
	}
	until := "they match until they are removed"
	if p.f.Expiry > 0 {
		until = "they match for " + advice.FormatExpiry(p.f.Expiry) + " from then on"
	}
	load, form := "Load", "nft"
	if slices.ContainsFunc(p.f.Incidents, func(in flood.Incident) bool { return in.Advice.ProvenFirst }) {
		load, form = "Load, with the clients that proved their address, who pass first", "nft --proven"
	}
	if p.f.Proven != nil {
		form = "nft"
	}
	p.writeLine(tableIndent, "%s; %s, and loading again does no harm:", load, until)
	p.writeCommand(asked.Floods(form) + " | sudo nft -f -")
	p.writeLine(tableIndent, "Undo:")
	p.writeCommand("sudo nft delete table inet qsniff")
	needs := ""
	if slices.ContainsFunc(p.f.Incidents, needsPeers) {
		needs = ", which needs " + advice.IPSetPackage + " for these"
	}
	p.writeLine(tableIndent, "With iptables instead%s, and undo:", needs)
	p.writeCommand(asked.Floods("iptables") + " | sudo sh")
	p.writeCommand(asked.Floods("iptables") + " | sudo sh -s undo")
	p.writeLine(tableIndent, "Without what follows the bar, each command prints what it would load. --proven lets clients "+
		"that proved their address pass first (nft); without it, loading removes sets that qsniff proven -o nft made. -o xdp-filter, ovh and path are what those can do of it.")
}

// needsPeers reports whether rules against an incident look at whom the server sent something.
func needsPeers(in flood.Incident) bool {
	return in.Advice.Rules != nil && slices.ContainsFunc(in.Advice.Rules.Lines(), func(x flood.RuleLine) bool { return x.NeedsPeers })
}

// writeScript writes the rules for nft as a command that can be pasted, if there are any.
func (p *floodsPage) writeScript() {
	if len(p.f.Script) == 0 || p.f.Asked.Written != "" {
		return
	}
	p.writeTitle("Rules", "for all of these together; paste them into a shell, qsniff itself loads none")
	p.dst = append(p.dst, "sudo nft -f - <<'END'\n"...)
	p.dst = append(append(p.dst, bytes.TrimSpace(p.f.Script)...), "\nEND\n"...)
	p.writeLine(0, "Undo:")
	p.writeCommand("sudo nft delete table inet qsniff")
}

// writeCommand writes a command that is to be copied.
func (p *floodsPage) writeCommand(s string) {
	p.dst = append(append(appendSpaces(p.dst, belowIndent), s...), '\n')
}

// writeEvidence writes the sentences of evidence as items, those of one stretch of time under
// a line that names it.
func (p *floodsPage) writeEvidence(in *flood.Incident) {
	before := ""
	for i := range in.Evidence {
		s := &in.Evidence[i]
		switch window := p.window(in, s); {
		case window == before:
		case window == "":
			p.writeLine(tableIndent, "Besides:")
			before = window
		default:
			p.writeLine(tableIndent, "%s:", capitalized(window))
			before = window
		}
		p.writeItem(s.Text)
	}
}

func sameSpan(a, b *flood.Sentence) bool { return a.From == b.From && a.To == b.To }

// capitalized returns an ASCII text with its first letter as a capital.
func capitalized(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// window returns which stretch of time the numbers of a sentence are of, in words; empty for
// none.
func (p *floodsPage) window(in *flood.Incident, s *flood.Sentence) string {
	if w := relativeWindow(in, s.From, s.To, p.f.Run.Last); w != "" || s.To == 0 {
		return w
	}
	times := p.formatTime(s.From, !p.sameDay()) + " to " + p.formatTime(s.To, !p.sameDay())
	if end := in.End; s.From >= in.Start-roundedTo && (end == 0 || s.To <= end+roundedTo) {
		return "in " + formatSeconds(s.To-s.From) + " of it, " + times
	}
	return "from " + times
}

// roundedTo is the precision of the stretches of time of evidence: detection counts by
// seconds.
const roundedTo = int64(time.Second)

// relativeWindow returns a stretch of time as words that need no clock: of the whole of an
// incident, or up to its detection; empty for others, and for none. last is the time of the
// last packet so far.
func relativeWindow(in *flood.Incident, from, to, last int64) string {
	reachesEnd := to == in.End || in.End == 0 && to >= last-roundedTo
	switch {
	case to == 0:
		return ""
	case to == in.Detected && (from != in.Start || to != in.End): // or it was detected with its last second
		return "in the " + formatSeconds(to-from) + " before detection"
	case from == in.Start && reachesEnd:
		return "over the whole " + formatSeconds(to-from)
	}
	return ""
}

func formatSeconds(nanos int64) string {
	d := time.Duration(nanos)
	if d >= 10*time.Second {
		return digits.Span(d.Round(time.Second))
	}
	return digits.Span(d.Round(100 * time.Millisecond))
}

// evidenceText returns the evidence in one line, with the stretch of time after the sentences
// that are of it.
func (p *floodsPage) evidenceText(in *flood.Incident) string {
	var parts []string
	for i := range in.Evidence {
		s := &in.Evidence[i]
		text := s.Text
		if w := p.window(in, s); w != "" && (i == len(in.Evidence)-1 || !sameSpan(s, &in.Evidence[i+1])) {
			text += " (" + w + ")"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}

// firstEvidence returns the first sentences of an event of an incident, which are of one
// stretch of time, and that in words where they need no clock.
func firstEvidence(in *flood.Incident, last int64) string {
	var parts []string
	for i := range in.Evidence {
		if i > 0 && !sameSpan(&in.Evidence[i], &in.Evidence[0]) || i == alertSentences {
			break
		}
		parts = append(parts, in.Evidence[i].Text)
	}
	text := strings.Join(parts, "; ")
	if len(parts) == 0 {
		return ""
	}
	first := &in.Evidence[0]
	if w := relativeWindow(in, first.From, first.To, last); w != "" {
		text += " (" + w + ")"
	} else if first.To != 0 {
		text += " (in " + formatSeconds(first.To-first.From) + ")"
	}
	return text
}

// alertSentences is how many sentences of evidence an alert among messages has at most.
// Chosen: with the headline they are a block that is read at a glance.
const alertSentences = 3

// AppendRules appends all rules with their conditions, all thresholds, and the features
// that are measured.
func AppendRules(dst []byte, r *flood.Explanation, opt Options) []byte {
	p := statsPage{dst: dst, opt: opt.withDefaults()}
	p.writeLine(0, "Each second, the queries to each server that is asked much are measured and held against these rules; the first that fits is the kind of the incident. "+
		"Thresholds are set in a file: qsniff floods --explain -o toml prints one, qsniff floods --thresholds FILE reads it.")
	for i := range r.Rules {
		rule := &r.Rules[i]
		name := rule.Name
		if rule.Kind != 0 {
			name = fmt.Sprintf("%s (%s)", rule.Name, rule.Level)
		}
		p.writeTitle(name, rule.Meaning)
		p.writeTable(needsTable(rule, nil))
		p.writeSigns(rule)
	}
	p.writeThresholds(r.Settings)
	t := table{columns: []column{{"FEATURE", true, 0}}, hasProse: true}
	for _, m := range r.Meanings {
		t.rows = append(t.rows, tableRow{cells: []string{m.Name}, note: m.Text})
	}
	p.writeTitle("Features", "what is measured, by its name in --explain -o json; a window is the last 10 to 20 s, shares are parts of 1")
	p.writeTable(&t)
	return p.dst
}

// writeSigns writes the signs of a rule, whose points are added up.
func (p *statsPage) writeSigns(rule *flood.RuleDoc) {
	if len(rule.Signs) == 0 {
		return
	}
	p.writeLine(tableIndent, "Points:")
	t := table{columns: []column{{"", false, 0}}, hasProse: true}
	for _, s := range rule.Signs {
		t.rows = append(t.rows, tableRow{cells: []string{fmt.Sprintf("%+g", s.Points)}, note: s.Text})
	}
	p.writeTable(&t)
}

// writeThresholds writes the thresholds, with the defaults beside them if any is changed.
func (p *statsPage) writeThresholds(all []flood.Setting) {
	t := table{columns: []column{{"THRESHOLD", true, 0}, {"VALUE", false, 0}, {"DEFAULT", false, 0}}, hasProse: true}
	changed := false
	for _, s := range all {
		row := tableRow{cells: []string{s.Name, s.Value, s.Default}, note: s.Doc}
		if s.Value != s.Default {
			changed, row.style = true, p.opt.Palette.name
		}
		t.rows = append(t.rows, row)
	}
	if !changed {
		t.columns = t.columns[:2]
		for i := range t.rows {
			t.rows[i].cells = t.rows[i].cells[:2]
		}
	}
	p.writeTitle("Thresholds", "rates are per second")
	p.writeTable(&t)
}
