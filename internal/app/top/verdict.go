package top

import (
	"cmp"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strings"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"qsniff/internal/app/terminal"
	"qsniff/internal/base/digits"
	"qsniff/internal/flood"
)

// urgent returns the incidents, those that go on first, of these the most urgent, of equal ones
// the last.
func (m *Model) urgent() []*flood.Incident {
	if m.state == nil {
		return nil
	}
	var all []*flood.Incident
	for i := range m.state.Incidents {
		all = append(all, &m.state.Incidents[i])
	}
	isOver := func(in *flood.Incident) int {
		if in.End != 0 {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(all, func(a, b *flood.Incident) int {
		return cmp.Or(cmp.Compare(isOver(a), isOver(b)), cmp.Compare(b.Level, a.Level), cmp.Compare(b.Start, a.Start))
	})
	return all
}

// isAttacked reports whether an attack on a server goes on.
func (m *Model) isAttacked(a netip.AddrPort) bool {
	for i := range m.state.Incidents {
		in := &m.state.Incidents[i]
		if in.End == 0 && in.Level == flood.Alert && a.IsValid() && (in.Target.End == a || slices.Contains(in.Targets, a)) {
			return true
		}
	}
	return false
}

// levelStyle returns how a level is shown.
func levelStyle(l flood.Level) lipgloss.Style {
	return [...]lipgloss.Style{flood.Info: terminal.Plain, flood.Warn: terminal.Warn, flood.Alert: terminal.Bad}[l]
}

// verdict returns the two lines that answer whether something is wrong: what goes on, and what to
// do about it.
func (m *Model) verdict() (first, second string) {
	switch s := m.state; {
	case s == nil:
		return "Waiting for packets.", ""
	case s.LastPacket == 0 && s.Ended == nil:
		return terminal.Warn.Render("No packets so far."), "If this stays: is it the right interface (qsniff interfaces), and the right filter?"
	case s.IsStuck:
		return terminal.Warn.Render("The capture stands still: nothing comes, not even that time passes."), "The figures are those of before."
	}
	all := m.urgent()
	n := slices.IndexFunc(all, func(in *flood.Incident) bool { return in.End != 0 || in.Level == flood.Info })
	if n < 0 {
		n = len(all)
	}
	if away := m.state.Counters.Live.Away; n == 0 && away > 0 {
		return terminal.Warn.Render(digits.Counted(away, "interface is", "interfaces are") + " down or gone: nothing is captured there."), "It is captured again once it is back."
	}
	if n == 0 {
		return m.calm(all)
	}
	in := all[0]
	first = m.describe(in)
	if n > 1 {
		first += fmt.Sprintf("; and %d more", n-1)
	}
	return levelStyle(in.Level).Render(first), "Do: i has evidence and lines to paste. " + firstSentence(in.Kind.Doc().Do)
}

func firstSentence(text string) string {
	first, _, _ := strings.Cut(text, ". ")
	return strings.TrimSuffix(first, ".") + "."
}

// describe returns an incident in a sentence: who, what, since when.
func (m *Model) describe(in *flood.Incident) string {
	word := [...]string{flood.Info: "Note", flood.Warn: "WARNING", flood.Alert: "ATTACK"}[in.Level]
	d := in.Kind.Doc()
	text := fmt.Sprintf("%s on %s: ", word, strings.TrimPrefix(in.Target.String(), "udp/"))
	if in.Peak > 0 {
		text += fmt.Sprintf("up to %s %s/s %s", rate(in.Peak), cmp.Or(d.Many, "queries"), d.Packets)
	} else {
		text += in.Count() + " " + d.Packets
	}
	if in.Succeeded {
		text += ", WITH SUCCESS"
	}
	return fmt.Sprintf("%s, since %s, for %s (%s)", text, m.clock(in.Start), m.length(in), in.Kind)
}

// length returns how long an incident lasted, or lasts as yet.
func (m *Model) length(in *flood.Incident) string {
	end := in.End
	if end == 0 {
		end = m.state.Nanos
	}
	return digits.Span(max(time.Duration(end-in.Start), time.Second).Round(time.Second))
}

// calm is the verdict where no attack goes on: what there was.
func (m *Model) calm(all []*flood.Incident) (first, second string) {
	first = terminal.Good.Render("No floods.")
	counts := [flood.Alert + 1]uint64{}
	var last *flood.Incident // that was an attack or a warning
	for _, in := range all {
		counts[in.Level]++
		if in.Level > flood.Info && (last == nil || in.End > last.End) {
			last = in
		}
	}
	if last != nil {
		first = terminal.Good.Render("No floods now.") + fmt.Sprintf(" The last one, %s, was over at %s after %s.", last.Kind, m.clock(last.End), m.length(last))
	}
	second = m.silent()
	if n := counts[flood.Info] + counts[flood.Warn] + counts[flood.Alert]; n > 0 {
		second = fmt.Sprintf("i lists %s. ", digits.Counted(n, "incident")) + second
	}
	return first, second
}

// wasAttacked reports whether an attack on a server goes on, or did in the last minute: then most
// of its queries are nobody's.
func (m *Model) wasAttacked(a netip.AddrPort) bool {
	for i := range m.state.Incidents {
		in := &m.state.Incidents[i]
		if in.Level > flood.Info && in.Concerns(a, max(in.Start, m.state.Nanos-int64(m.state.LatelySpan))) {
			return true
		}
	}
	return false
}

// silent returns what else needs a look: servers that do not answer.
func (m *Model) silent() string {
	worst := math.Inf(1)
	var names []string
	for i := range m.state.Servers {
		r := &row{Server: &m.state.Servers[i]}
		if share := r.answeredShare(); share >= 0 && share < 50 && !m.wasAttacked(r.Addr) {
			names = append(names, r.address())
			worst = min(worst, share)
		}
	}
	switch len(names) {
	case 0:
		return ""
	case 1:
		return terminal.Warn.Render(names[0] + " answered " + percent(worst) + " of its queries in the last minute: is it up?")
	}
	return terminal.Warn.Render(fmt.Sprintf("%d servers answered less than half of their queries in the last minute, %s among them: are they up?", len(names), names[0]))
}

// bar is the line of state: what can be done, and where in time this is.
func (m *Model) bar() string {
	right := m.when()
	left := m.message
	switch {
	case m.message != "":
		left = terminal.Clean(left)
		if m.isWrong {
			left = "! " + left
		}
	default:
		left = m.top().title() + "  " + m.hints(m.width-ansi.StringWidth(right)-ansi.StringWidth(m.top().title())-5)
	}
	return terminal.Bar(" "+left, right+" ", m.width)
}

// hints returns as many of the keys that matter most here as there is room for.
func (m *Model) hints(width int) (text string) {
	for i := range keys {
		b := &keys[i]
		if b.hint == "" || !b.isFor(m) {
			continue
		}
		h := b.Help().Key + " " + b.hint + "  "
		if ansi.StringWidth(text)+ansi.StringWidth(h) > width {
			break
		}
		text += h
	}
	return text
}

// when returns where in time the screen is.
func (m *Model) when() string {
	s := m.state
	if s == nil {
		return terminal.Clean(m.opt.Input)
	}
	p := s.Play
	switch {
	case s.Ended != nil:
		return "the capture ended at " + m.clock(s.LastPacket)
	case p == nil:
		return terminal.Clean(m.opt.Input) + "  " + m.clock(s.Nanos)
	case p.Err != nil:
		return "damaged, the end " + m.clock(p.Position)
	case p.IsAtEnd:
		return "the end " + m.clock(p.Position)
	case p.Target != 0:
		return "on the way, " + m.clock(p.Position)
	case p.IsPaused:
		return "paused " + m.clock(p.Position)
	}
	return speedText(p.Speed) + " " + m.clock(p.Position)
}
