package text

import (
	"fmt"
	"strings"

	"qsniff/internal/base/digits"
	"qsniff/internal/flood"
	"qsniff/internal/flood/advice"
)

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
