package top

import (
	"cmp"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strings"
	"time"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/viewport"
	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"qsniff/internal/app/terminal"
	"qsniff/internal/base/digits"
	"qsniff/internal/flood"
	"qsniff/internal/flood/rules/loaded"
	"qsniff/internal/render"
	"qsniff/internal/render/tally"
	"qsniff/internal/render/text"
)

// incidents is the screen of incidents: a list, and below it all that is known of the selected
// one, what to do, and the lines to paste.
type incidents struct {
	m      *Model
	table  terminal.Table
	page   viewport.Model
	list   []*flood.Incident
	chosen uint64 // ID of the selected one
	shown  string // what page was made of
}

func newIncidents(m *Model) *incidents {
	x := &incidents{m: m}
	x.table = terminal.Table{Row: x.cells, Sorted: -1, Columns: []terminal.Column{
		{Title: "LEVEL", Width: 5}, {Title: "KIND", Width: 17}, {Title: "TARGET"}, {Title: "SINCE", Width: 9}, {Title: "LASTED", Width: 8, Right: true},
		{Title: "PEAK/S", Width: 7, Right: true}, {Title: "SURE", Width: 6}}}
	x.page = viewport.New()
	return x
}

func (x *incidents) title() string { return "Incidents" }

func (x *incidents) cells(i int) []terminal.Cell {
	in, m := x.list[i], x.m
	lasted := m.length(in)
	if in.End == 0 {
		lasted += "+"
	}
	style := levelStyle(in.Level)
	if in.End != 0 {
		style = terminal.Dim
	}
	var cells []terminal.Cell
	for _, s := range []string{in.Level.String(), in.Kind.String(), in.Target.String(), m.clock(in.Start), lasted, rate(in.Peak), flood.ConfidenceWord(in.Confidence())} {
		cells = append(cells, terminal.Cell{Text: s, Style: style})
	}
	return cells
}

func (x *incidents) refresh() {
	x.list = x.m.urgent()
	at := slices.IndexFunc(x.list, func(in *flood.Incident) bool { return in.ID == x.chosen })
	x.table.SetRows(len(x.list))
	x.table.SetSize(x.m.width, x.tableHeight())
	x.table.Select(at)
	x.fill()
}

// tableHeight returns how many lines the list has.
func (x *incidents) tableHeight() int { return 1 + min(len(x.list), listedIncidents) }

// selected returns the selected incident, nil if there is none.
func (x *incidents) selected() *flood.Incident {
	if i := x.table.Selected(); i >= 0 {
		return x.list[i]
	}
	return nil
}

// fill makes the page of the selected incident, if that changed.
func (x *incidents) fill() {
	m, in := x.m, x.selected()
	x.page.SetWidth(m.width)
	x.page.SetHeight(max(m.room()-x.tableHeight()-1, 0))
	if in == nil {
		x.page.SetContent("No incidents.")
		return
	}
	if x.chosen != in.ID {
		x.chosen = in.ID
		x.page.GotoTop()
	}
	made := fmt.Sprint(in.ID, in.End, in.Kind, in.Peak, m.width, m.state.Nanos/1e9)
	if made == x.shown {
		return
	}
	x.shown = made
	x.page.SetContent(m.explain(in))
}

// explain returns all that is known of an incident, with the lines to paste.
func (m *Model) explain(in *flood.Incident) string {
	s := m.state
	f := &render.Floods{Run: tally.Run{Packets: s.Counters.Run.Packets, First: s.Counters.Run.First, Last: s.Nanos}, Incidents: []flood.Incident{*in},
		Limits: m.opt.Limits, Expiry: m.opt.Expiry, IsLive: s.Play == nil || !s.Play.IsAtEnd, Asked: m.opt.Asked}
	opt := text.Options{Width: m.width, UTC: m.opt.UTC, Palette: text.NewPalette(true)}
	do, rules := "Do: "+in.Kind.Doc().Do, m.rules(in)
	if rules != "" {
		do += " The lines are at the end of this page; y copies them."
	}
	page := terminal.Head.Render(strings.Join(wrap(do, m.width), "\n")) + "\n"
	if text := m.effect(in); text != "" {
		page += terminal.Head.Render(strings.Join(wrap(text, m.width), "\n")) + "\n"
	}
	page += string(text.AppendFloodIncident(nil, f, in, opt))
	if rules != "" {
		page += "\n" + terminal.Head.Render("Lines to paste into a shell of root on the server's machine:") + "\n\n" + rules
	}
	return page
}

// rules returns the lines that load the rules against an incident; empty: there are none.
func (m *Model) rules(in *flood.Incident) string {
	if m.opt.Rules == nil || in.Advice.Rules == nil {
		return ""
	}
	return m.opt.Rules(in)
}

// copyAdvice copies the lines to paste, or where there are none the advice.
func (m *Model) copyAdvice(in *flood.Incident) tea.Cmd {
	what, lines := "The lines", m.rules(in)
	if lines == "" {
		what, lines = "The advice", in.Advice.Text()
	}
	m.say(fmt.Sprintf("%s against %s went to the clipboard of the terminal: %s. W writes a file.", what, in.Name(), digits.Counted(uint64(strings.Count(lines, "\n")), "line")))
	return terminal.Copy(lines)
}

// writeRules writes the rules against all attacks and warnings to a file.
func (m *Model) writeRules() tea.Cmd {
	if m.opt.WriteRules == nil || m.state == nil {
		return nil
	}
	name, err := m.opt.WriteRules(m.state.Incidents)
	if err != nil {
		return m.fail(err)
	}
	return m.say("load: sudo nft -f " + name + "   undo: sudo nft delete table inet qsniff")
}

func (x *incidents) update(msg tea.Msg) tea.Cmd {
	if k, ok := msg.(tea.KeyPressMsg); ok && key.Matches(k, terminal.KeyLast) {
		x.page.GotoBottom()
		return nil
	} else if ok && key.Matches(k, terminal.KeyFirst) {
		x.page.GotoTop()
		return nil
	} else if ok && (len(x.list) < 2 || key.Matches(k, terminal.KeyPageUp, terminal.KeyPageDown)) {
		x.page, _ = x.page.Update(msg)
		return nil
	}
	if w, ok := msg.(tea.MouseWheelMsg); ok && w.Y > x.tableHeight() {
		x.page, _ = x.page.Update(msg)
		return nil
	}
	if handled, _ := x.table.Update(msg); handled {
		x.fill()
	}
	return nil
}

func (x *incidents) view(width, height int) string {
	return x.table.View() + "\n" + terminal.Dim.Render(strings.Repeat("─", width)) + "\n" + x.page.View()
}

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
	if m.hasRules(in) {
		return levelStyle(in.Level).Render(first), "Undo: " + m.state.Loaded.Undo + "   " + m.effect(in)
	}
	if m.opt.Asked.Written != "" && in.Level == flood.Alert && in.Advice.Rules != nil {
		return levelStyle(in.Level).Render(first), "Do: " + m.opt.Asked.LoadNFT() + "   Undo: sudo nft delete table inet qsniff"
	}
	return levelStyle(in.Level).Render(first), "Do: i has evidence and lines to paste. " + firstSentence(in.Kind.Doc().Do)
}

// hasRules reports whether rules are loaded for the target of an incident.
func (m *Model) hasRules(in *flood.Incident) bool {
	s := m.state.Loaded
	return s != nil && in.End == 0 && slices.ContainsFunc(s.Targets, func(t loaded.Target) bool { return t.Target == in.Target.String() })
}

// effect returns what the rules that are loaded do against an incident, and how those fare whom they must
// not hit; empty: no rules are loaded, or that is unknown.
func (m *Model) effect(in *flood.Incident) string {
	if in.End != 0 {
		return ""
	}
	return m.state.Loaded.Describe(in.Target, time.Unix(0, m.state.Nanos))
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
	if in.Paused != 0 {
		return fmt.Sprintf("%s, paused since %s after %s (%s)", text, m.clock(in.Paused), m.length(in), in.Kind)
	}
	return fmt.Sprintf("%s, since %s, for %s (%s)", text, m.clock(in.Start), m.length(in), in.Kind)
}

// length returns how long an incident lasted, or lasts as yet.
func (m *Model) length(in *flood.Incident) string {
	end := in.End
	if end == 0 {
		end = cmp.Or(in.Paused, m.state.Nanos)
	}
	return digits.Span(max(time.Duration(end-in.Start), time.Second).Round(time.Second))
}

// calm is the verdict where no attack goes on: what there was.
func (m *Model) calm(all []*flood.Incident) (first, second string) {
	first = terminal.Good.Render("No floods.")
	if s := m.state; s.Play == nil && s.Ended == nil && s.Nanos-s.Counters.Run.First < int64(flood.SureAfter) {
		first = fmt.Sprintf("Watching since %d s, nothing yet.", (s.Nanos-s.Counters.Run.First)/1e9)
	}
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
	if idle := m.state.Loaded.DescribeIdle(time.Unix(0, m.state.Nanos)); idle != "" {
		second = terminal.Warn.Render(idle) + "   " + second
	}
	return first, second
}

// wasAttacked reports whether an attack on a server goes on, or did in the last minute: then most
// of its queries have forged sources.
func (m *Model) wasAttacked(a netip.AddrPort) bool {
	for i := range m.state.Incidents {
		in := &m.state.Incidents[i]
		if in.Level > flood.Info && in.Concerns(a, max(in.Start, m.state.Nanos-int64(m.state.LatelySpan))) {
			return true
		}
	}
	return false
}

// silent returns what else needs a look: servers that do not answer. Clients that proved their address
// count more than what got any reply, where there are some.
func (m *Model) silent() string {
	worst := math.Inf(1)
	isServed := false // worst is of proven clients
	var names []string
	for i := range m.state.Servers {
		r := &row{Server: &m.state.Servers[i], flood: m.state.floodAt(m.state.Servers[i].Addr)}
		share, isProven := r.servedShare(), true
		if share < 0 && !m.wasAttacked(r.Addr) {
			share, isProven = r.repliedShare(), false
		}
		if share >= 0 && share < 50 {
			names = append(names, r.address())
			if share < worst {
				worst, isServed = share, isProven
			}
		}
	}
	switch {
	case len(names) == 0:
		return ""
	case len(names) > 1:
		return terminal.Warn.Render(fmt.Sprintf("%d servers answered less than half of their queries in the last minute, %s among them: are they up?", len(names), names[0]))
	case isServed:
		return terminal.Warn.Render(names[0] + " answered " + percent(worst) + " of the queries of proven clients in the last minute: is it up?")
	}
	return terminal.Warn.Render(names[0] + " replied to " + percent(worst) + " of its queries in the last minute: is it up?")
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

// limit: listedIncidents is how many lines of the screen the list has at most. Chosen: what goes on at
// once is few, and the evidence needs the room.
const listedIncidents = 6
