package text

import (
	"strings"
	"time"

	"qsniff/internal/base/digits"
	"qsniff/internal/flood"
)

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
