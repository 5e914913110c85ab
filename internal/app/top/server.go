package top

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"qsniff/dissect/finding"
	"qsniff/internal/app/terminal"
	"qsniff/internal/base/digits"
	"qsniff/internal/monitor"
	"qsniff/internal/render"
)

// server is the screen of one server: what it says of itself, its figures, and one of several
// lists that are made of the packets that are kept of it.
type server struct {
	m         *Model
	addr      netip.AddrPort
	look      *lookAt // nil: not decoded yet
	isLooking bool
	list      int // of lists
	tables    [numLists]terminal.Table
	only      netip.Addr // exchanges of this client only, if it is valid
	filter    string     // of exchanges, an expression
	follows   bool       // the newest exchange stays selected
	shown     []exchange // the exchanges that are listed
}

// serverList is one of the lists of the screen of a server, which shows one at a time.
type serverList struct {
	name    string
	columns []terminal.Column
	count   func(*server) int
	row     func(*server, int) []terminal.Cell
}

const numLists = 4

// lists are all there are. It is filled in by init, because rows are made of it.
var lists [numLists]serverList

func init() {
	lists = [...]serverList{
		{"Exchanges", []terminal.Column{
			{Title: "TIME", Width: 13, Meaning: "When the first request came."},
			{Title: "CLIENT", Width: 21, Meaning: "Who asked; a forged source is nobody's."},
			{Title: "ASKED FOR", Width: 15, Meaning: "The first message of the exchange."},
			{Title: "OUTCOME", Width: 11, Meaning: "What came of it: answered, challenged (and the client did not come back), unanswered for 5 s, late after 3 s, undecided where the answer may still come, incomplete where the request may have come before the last packets."},
			{Title: "TOOK", Width: 7, Right: true, Meaning: "From the request to the first packet of its answer."},
			{Title: "FINDINGS", Meaning: "What is wrong with it: qsniff explain ID says more."}},
			func(s *server) int { return len(s.shown) }, (*server).exchangeRow},
		{"Clients", []terminal.Column{
			{Title: "CLIENT", Width: 39, Meaning: "Who asked, among the last packets."},
			{Title: "REQUESTS", Width: 8, Right: true, Meaning: "How many requests it sent."},
			{Title: "UNPROVEN", Width: 8, Right: true, Meaning: "Requests that brought no challenge back: these may be somebody else's."},
			{Title: "REPLIES", Width: 7, Right: true, Meaning: "What it was sent, challenges included."},
			{Title: "LAST", Width: 9, Meaning: "When it was last seen."}},
			func(s *server) int { return len(s.look.clients) }, (*server).clientRow},
		{"Asked for", []terminal.Column{
			{Title: "MESSAGE", Width: 24, Meaning: "What the server was asked for, and what it sent."},
			{Title: "IN ALL", Width: 10, Right: true, Meaning: "How many there were since the begin."},
			{Title: "ANSWERED", Width: 9, Right: true, Meaning: "Of requests: how many were answered."},
			{Title: "CHALLENGED", Width: 10, Right: true, Meaning: "Of requests: how many got a challenge in place of an answer."},
			{Title: "UNANSWERED", Width: 10, Right: true, Meaning: "Of requests: how many got nothing for 5 s."}},
			func(s *server) int { return len(s.messages()) }, (*server).messageRow},
		{"Findings", []terminal.Column{
			{Title: "SEVERITY", Width: 8, Meaning: "From chat to error."},
			{Title: "ID", Width: 8, Meaning: "qsniff explain ID says what it means and what to do."},
			{Title: "TIMES", Width: 6, Right: true, Meaning: "How often it was found in the last packets."},
			{Title: "THE LAST ONE", Meaning: "In words."}},
			func(s *server) int { return len(s.look.findings) }, (*server).findingRow},
	}
}

// openServer opens the screen of a server.
func (m *Model) openServer(a netip.AddrPort) tea.Cmd {
	s := &server{m: m, addr: a, follows: true}
	for i := range lists {
		i := i
		s.tables[i] = terminal.Table{Columns: lists[i].columns, Sorted: -1, Row: func(at int) []terminal.Cell { return lists[i].row(s, at) }}
	}
	m.opt.Source.Open(a)
	m.push(s)
	return s.decode()
}

func (s *server) title() string {
	if s.filter != "" {
		return "Exchanges with " + terminal.Clean(s.filter)
	}
	return "Server"
}

// decodedMsg is what the packets of a server show, or why they could not be decoded.
type decodedMsg struct {
	of   *server
	look *lookAt
	err  error
}

// decode has the packets of the server decoded beside the screen.
func (s *server) decode() tea.Cmd {
	d, filter := s.m.opt.Decoder, s.filter
	if s.isLooking || d == nil {
		return nil
	}
	s.isLooking = true
	return func() tea.Msg {
		look, err := d.decode(context.Background(), s.addr, filter)
		return decodedMsg{s, look, err}
	}
}

func (s *server) update(msg tea.Msg) tea.Cmd {
	t := &s.tables[s.list]
	switch msg := msg.(type) {
	case decodedMsg:
		s.isLooking = false
		if msg.err != nil {
			return s.m.fail(msg.err)
		}
		s.look = msg.look
		s.refresh()
		return nil
	case tea.MouseClickMsg:
		if msg.Y == serverHead-1 {
			s.list = s.listAt(msg.X)
			s.refresh()
			return nil
		}
		before := t.Selected()
		if handled, _ := t.Update(msg); handled && t.Selected() == before {
			return s.open()
		}
		s.follows = false
		return nil
	}
	if handled, _ := t.Update(msg); handled && s.list == 0 {
		s.follows = t.Selected() == len(s.shown)-1
	}
	return nil
}

// serverHead is how many lines there are before the list.
const serverHead = 4

func (s *server) refresh() {
	if s.look == nil {
		return
	}
	s.shown = s.look.exchanges
	if s.only.IsValid() {
		s.shown = slices.DeleteFunc(slices.Clone(s.shown), func(e exchange) bool { return e.Client.Addr() != s.only })
	}
	for i := range s.tables {
		t := &s.tables[i]
		t.Y = serverHead
		t.SetSize(s.m.width, s.m.room()-serverHead)
		if i == 0 { // of types and IPv6 as much as there is room for
			t.Columns = slices.Clone(lists[i].columns)
			more := max(s.m.width-90, 0)
			t.Columns[2].Width += min(more, 11)
			t.Columns[1].Width += min(max(more-11, 0), 26)
		}
		t.SetRows(lists[i].count(s))
	}
	if s.follows {
		s.tables[0].Select(len(s.shown) - 1)
	}
}

// decodeAgain has the packets decoded if there are others, and exchanges are followed.
func (s *server) decodeAgain() tea.Cmd {
	if d := s.m.opt.Decoder; d == nil || s.look != nil && (s.list == 0 && !s.follows || s.look.added == d.Store.Added(s.addr)) {
		return nil
	}
	return s.decode()
}

// figures returns what is counted of the server.
func (s *server) figures() *monitor.Server {
	for i := range s.m.state.Servers {
		if x := &s.m.state.Servers[i]; x.Addr == s.addr {
			return x
		}
	}
	return &monitor.Server{Addr: s.addr}
}

func (s *server) view(width, height int) string {
	x := s.figures()
	r := &row{Server: x, kinds: s.m.history.kindsOf(x)}
	p := &x.Profile
	first := terminal.Head.Render(s.addr.String())
	if x.HasProfile {
		players, _ := r.players()
		first += "  " + terminal.Clean(string(p.Name.Whole())) + terminal.Dim.Render("  map ") + terminal.Clean(string(p.Map.Whole())) + terminal.Dim.Render("  players ") + players
	}
	asked, _ := r.asked()
	answered, style := r.answered()
	p95, _ := r.p95()
	gain, _ := r.amplification()
	second := fmt.Sprintf("%s queries/s, %s answered, 95 of 100 within %s, %s bytes out for each one in, last answer %s",
		asked, style.Render(answered), p95, gain, s.m.clock(x.LastAnswer))
	third := r.kindsText()
	if x.HasProfile {
		third = strings.TrimPrefix(third+selfText(x), "; ")
	}
	list := "Decoding."
	if s.look != nil {
		list = s.tables[s.list].View()
	}
	return strings.Join([]string{terminal.Fit(first, width), terminal.Fit(second, width), terminal.Fit(third, width), terminal.Fit(s.tabs(), width), list}, "\n")
}

// selfText is what a server says of itself besides its name, map and players.
func selfText(x *monitor.Server) (text string) {
	p := &x.Profile
	for _, f := range []struct {
		name  string
		value string
	}{{"version", string(p.Version.Whole())}, {"tags", string(p.Tags.Whole())}} {
		if f.value != "" {
			text += "; " + f.name + " " + terminal.Clean(f.value)
		}
	}
	if p.Bots > 0 {
		text += "; " + digits.Counted(uint64(p.Bots), "bot")
	}
	if p.Queue > 0 {
		text += fmt.Sprintf("; %d waiting", p.Queue)
	}
	return text
}

// tabs is the line with the names of the lists.
func (s *server) tabs() (text string) {
	for i := range lists {
		style := terminal.Dim
		if i == s.list {
			style = terminal.Selected
		}
		text += style.Render(s.tab(i)) + " "
	}
	if s.only.IsValid() {
		text += terminal.Warn.Render("of " + s.only.String() + " only; Esc: of all")
	} else if s.look != nil {
		text += terminal.Dim.Render("of the last " + digits.Counted(uint64(len(s.look.packets)), "packet"))
	}
	return text
}

func (s *server) tab(i int) string {
	if s.look == nil {
		return " " + lists[i].name + " "
	}
	return fmt.Sprintf(" %s %d ", lists[i].name, lists[i].count(s))
}

// listAt returns the list whose name is in a column of the line of names.
func (s *server) listAt(x int) int {
	for i := range lists {
		if x -= len(s.tab(i)) + 1; x < 0 {
			return i
		}
	}
	return s.list
}

// open opens what is selected: an exchange, or the exchanges of a client.
func (s *server) open() tea.Cmd {
	at := s.tables[s.list].Selected()
	switch {
	case s.look == nil || at < 0:
		return nil
	case s.list == 0:
		return s.m.openExchange(s, s.shown[at])
	case s.list == 1:
		s.only, s.list, s.follows = s.look.clients[at].addr, 0, true
		s.refresh()
	case s.list == 3:
		return s.m.say("qsniff explain " + s.look.findings[at].code.ID + ": " + s.look.findings[at].code.Do)
	}
	return nil
}

func (s *server) exchangeRow(i int) []terminal.Cell {
	e := &s.shown[i]
	name, took := "", ""
	switch {
	case e.IsStream:
		name = "connection"
	case e.Type != nil:
		name = e.Type.Name
	}
	if e.RTT >= 0 {
		took = string(digits.AppendElapsed(nil, e.RTT, " "))
	}
	return []terminal.Cell{{Text: s.m.millis(e.First), Style: terminal.Dim}, {Text: e.Client.String()}, {Text: name, Style: terminal.Name},
		e.outcome(), {Text: took}, {Text: e.findings, Style: terminal.Warn}}
}

// outcome returns what came of an exchange, in words and in its colour.
func (e *exchange) outcome() terminal.Cell {
	x := terminal.Cell{Text: e.Outcome.String(), Style: terminal.Plain}
	switch {
	case e.isCut:
		x = terminal.Cell{Text: "incomplete", Style: terminal.Dim}
	case e.Outcome == render.Answered:
		x.Style = terminal.Good
	case e.Outcome == render.Unanswered, e.Outcome == render.LateAnswer, e.Outcome == render.Unsolicited:
		x.Style = terminal.Bad
	}
	return x
}

func (s *server) clientRow(i int) []terminal.Cell {
	c := &s.look.clients[i]
	return []terminal.Cell{{Text: c.addr.String()}, {Text: digits.Grouped(int64(c.requests))}, {Text: digits.Grouped(int64(c.unproven))},
		{Text: digits.Grouped(int64(c.replies))}, {Text: s.m.clock(c.last), Style: terminal.Dim}}
}

// messages are the kinds of messages of the server, requests first, of these the most frequent.
func (s *server) messages() []monitor.Message {
	all := slices.Clone(s.figures().Messages)
	slices.SortStableFunc(all, func(a, b monitor.Message) int {
		if a.IsReply != b.IsReply {
			if a.IsReply {
				return 1
			}
			return -1
		}
		return int(min(b.Count, 1<<60)) - int(min(a.Count, 1<<60))
	})
	return all
}

func (s *server) messageRow(i int) []terminal.Cell {
	m := s.messages()[i]
	n := func(o ...monitor.Outcome) string {
		sum := uint64(0)
		for _, x := range o {
			sum += m.Outcomes[x]
		}
		if !m.HasOutcomes {
			return ""
		}
		return digits.Grouped(int64(sum))
	}
	style := terminal.Name
	if m.IsReply {
		style = terminal.Plain
	}
	return []terminal.Cell{{Text: m.Name, Style: style}, {Text: digits.Grouped(int64(m.Count))}, {Text: n(monitor.Answered, monitor.Late, monitor.Refused)},
		{Text: n(monitor.Challenged)}, {Text: n(monitor.Unanswered, monitor.Unreachable)}}
}

func (s *server) findingRow(i int) []terminal.Cell {
	f := &s.look.findings[i]
	style := terminal.Plain
	switch {
	case f.severity >= finding.Error:
		style = terminal.Bad
	case f.severity >= finding.Warn:
		style = terminal.Warn
	}
	return []terminal.Cell{{Text: f.severity.String(), Style: style}, {Text: f.code.ID}, {Text: digits.Grouped(int64(f.count))}, {Text: f.last}}
}
