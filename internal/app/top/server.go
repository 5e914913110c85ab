package top

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"
	"time"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"qsniff/capture/recent"
	"qsniff/dissect"
	"qsniff/dissect/finding"
	"qsniff/internal/app/terminal"
	"qsniff/internal/app/terminal/message"
	"qsniff/internal/base/digits"
	"qsniff/internal/base/hostset"
	"qsniff/internal/monitor"
	"qsniff/internal/pipeline"
	"qsniff/internal/pipeline/filter"
	"qsniff/internal/render"
	"qsniff/internal/render/dialogue"
	"qsniff/internal/render/text"
	"qsniff/internal/track"
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
	r := &row{Server: x, kinds: s.m.history.kindsOf(x), flood: s.m.state.floodAt(s.addr)}
	p := &x.Profile
	first := terminal.Head.Render(s.addr.String())
	if x.HasProfile {
		players, _ := r.players()
		first += "  " + terminal.Clean(string(p.Name.Whole())) + terminal.Dim.Render("  map ") + terminal.Clean(string(p.Map.Whole())) + terminal.Dim.Render("  players ") + players
	}
	asked, _ := r.asked()
	replied, _ := r.replied()
	served, style := r.served()
	p95, _ := r.p95()
	gain, _ := r.amplification()
	second := fmt.Sprintf("%s queries/s, %s any reply, %s of proven clients served, 95 of 100 within %s, %s bytes out for each one in, last answer %s",
		asked, replied, style.Render(served), p95, gain, s.m.clock(x.LastAnswer))
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
		return s.m.say("qsniff explain " + s.look.findings[at].code.ID + ": " + s.look.findings[at].code.Do())
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

// exchangeScreen is the screen of an exchange: its messages, and the selected one as a tree and as
// bytes.
type exchangeScreen struct {
	m       *Model
	of      exchange
	packets recent.Packets // those that were kept of the server
	list    []*render.Event
	table   terminal.Table
	panes   *message.Panes
	pane    message.Pane // NoPane: the list of messages has the keys
}

// openExchange opens an exchange of a server.
func (m *Model) openExchange(s *server, e exchange) tea.Cmd {
	x := &exchangeScreen{m: m, of: e, packets: s.look.packets, panes: message.New(text.Options{UTC: m.opt.UTC, Location: m.location(), Micros: true})}
	x.table = terminal.Table{Row: x.cells, Sorted: -1, Columns: []terminal.Column{
		{Title: "FRAME", Width: 9, Right: true}, {Title: "TIME", Width: 15}, {Title: "AFTER", Width: 8, Right: true}, {Title: "FROM", Width: 7}, {Title: "MESSAGE", Width: 20}, {Title: "BYTES", Width: 6, Right: true}}}
	x.setPane(message.NoPane)
	m.push(x)
	return func() tea.Msg {
		list, err := m.opt.Decoder.messagesOf(context.Background(), x.packets, &x.of)
		return messagesMsg{x, list, err}
	}
}

// messagesMsg is the messages of an exchange.
type messagesMsg struct {
	of   *exchangeScreen
	list []*render.Event
	err  error
}

func (x *exchangeScreen) title() string {
	if x.of.IsStream {
		return "Connection"
	}
	return "Exchange, " + x.of.outcome().Text
}

func (x *exchangeScreen) setPane(p message.Pane) {
	x.pane = p
	x.table.Blur(p != message.NoPane)
	x.panes.SetPane(p)
}

// nextPane gives the keys to the next pane.
func (x *exchangeScreen) nextPane() tea.Cmd {
	x.setPane((x.pane + 1) % (message.Bytes + 1))
	return nil
}

// cells returns the cells of a message.
func (x *exchangeScreen) cells(i int) []terminal.Cell {
	e := x.list[i]
	from, name := "client", "unknown"
	if e.Reply {
		from = "server"
	}
	if e.Msg.Type != nil {
		name = e.Msg.Type.Name
	}
	after := string(digits.AppendElapsed(nil, max(e.Nanos-x.list[0].Nanos, 0), " "))
	return []terminal.Cell{{Text: fmt.Sprint(e.Frame), Style: terminal.Dim}, {Text: x.m.millis(e.Nanos), Style: terminal.Dim}, {Text: after}, {Text: from}, {Text: name, Style: terminal.Name}, {Text: fmt.Sprint(e.Msg.Wire)}}
}

// head is how many lines there are before the tree.
func (x *exchangeScreen) head() int { return 3 + min(len(x.list), listedMessages) }

func (x *exchangeScreen) refresh() {
	m := x.m
	x.table.Y = 1
	x.table.SetSize(m.width, x.head()-2)
	x.table.SetRows(len(x.list))
	width, height, bytesX, bytesY := x.places()
	x.panes.SetSize(width, height, m.width-bytesX, m.room()-x.head()-bytesY)
	x.show()
}

// show shows the selected message.
func (x *exchangeScreen) show() {
	if i := x.table.Selected(); i >= 0 && x.panes.Event() != x.list[i] {
		x.panes.SetEvent(x.list[i])
	}
}

func (x *exchangeScreen) update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case messagesMsg:
		if msg.err != nil {
			return x.m.fail(msg.err)
		}
		if x.list = msg.list; len(x.list) == 0 {
			return x.m.say("its packets are gone: others took their place")
		}
		x.refresh()
		x.table.Select(len(x.list) - 1) // the answer says more than the question
		x.show()
		return nil
	case tea.MouseClickMsg:
		return x.click(msg)
	case tea.MouseWheelMsg:
		if msg.Y >= x.head() {
			x.panes.Update(msg)
			return nil
		}
	case tea.KeyPressMsg:
		if x.pane != message.NoPane {
			x.panes.Update(msg)
			return nil
		}
		if key.Matches(msg, message.KeyRight) {
			return x.nextPane()
		}
	}
	if handled, _ := x.table.Update(msg); handled {
		x.show()
	}
	return nil
}

func (x *exchangeScreen) click(msg tea.MouseClickMsg) tea.Cmd {
	y := msg.Y - x.head()
	_, treeHeight, bytesX, bytesY := x.places()
	switch {
	case y < 0:
		x.setPane(message.NoPane)
		x.table.Update(msg)
		x.show()
	case msg.X >= bytesX && y >= bytesY:
		x.setPane(message.Bytes)
		x.panes.Click(message.Bytes, y-bytesY)
	case y < treeHeight:
		x.setPane(message.Tree)
		x.panes.Click(message.Tree, y)
	}
	return nil
}

// places returns the size of the tree, and where the bytes begin after it.
func (x *exchangeScreen) places() (treeWidth, treeHeight, bytesX, bytesY int) {
	rest := max(x.m.room()-x.head(), 0)
	if x.m.width >= besideFrom {
		return x.m.width - besideFrom/2 - 1, rest, x.m.width - besideFrom/2, 0
	}
	bytes := max(rest/3, min(rest, 3))
	return x.m.width, max(rest-bytes-1, 0), 0, max(rest-bytes, 0)
}

func (x *exchangeScreen) view(width, height int) string {
	e := &x.of
	outcome := e.outcome()
	first := terminal.Head.Render(e.Server.String()) + terminal.Dim.Render("  asked by ") + e.Client.String() + "  " + outcome.Style.Render(outcome.Text)
	if e.RTT >= 0 {
		first += " after " + string(digits.AppendElapsed(nil, e.RTT, " "))
	}
	if e.findings != "" {
		first += "  " + terminal.Warn.Render(e.findings)
	}
	line := terminal.Dim.Render(strings.Repeat("─", width))
	top := terminal.Fit(first, width) + "\n" + x.table.View() + "\n" + line + "\n"
	if len(x.list) == 0 {
		return top
	}
	if width < besideFrom {
		return top + x.panes.TreeView() + "\n" + line + "\n" + x.panes.BytesView()
	}
	left, right := strings.Split(x.panes.TreeView(), "\n"), strings.Split(x.panes.BytesView(), "\n")
	for i := range left {
		left[i] += terminal.Dim.Render("│") + right[min(i, len(right)-1)]
	}
	return top + strings.Join(left, "\n")
}

// Decoder decodes the packets that are kept of a server.
type Decoder struct {
	Registry *dissect.Registry
	DecodeAs []pipeline.DecodeAs
	Filter   func(text string) (*filter.Program, error)
	Store    *recent.Store
}

// lookAt is what the packets that are kept of a server show.
type lookAt struct {
	server    netip.AddrPort
	added     uint64 // packets of the server that were kept before
	packets   recent.Packets
	clients   []client // by requests, most first
	findings  []found  // the worst first
	exchanges []exchange
}

// client is who asked a server.
type client struct {
	addr                        netip.Addr
	requests, replies, unproven uint64 // unproven: requests that brought no challenge back
	last                        int64
}

// found is a kind of finding.
type found struct {
	code     *finding.Code
	severity finding.Severity
	count    uint64
	last     string // the sentence of the last one; it may come from the network
	frame    uint64
}

// exchange is a line of the list of exchanges: it has no turns.
type exchange struct {
	render.Dialogue
	findings string // their ids
	// isCut reports that the request may have come before the packets that are kept.
	isCut bool
}

// decode decodes what is kept of a server, as far as an expression chooses it. It is for any
// goroutine.
func (d *Decoder) decode(ctx context.Context, server netip.AddrPort, expression string) (*lookAt, error) {
	x := &lookAt{server: server, added: d.Store.Added(server), packets: d.Store.Packets(server)}
	ours, err := hostset.Parse(server.String())
	if err != nil {
		return nil, err
	}
	lines := &exchangeList{Headline: render.Headline{Ours: ours}, begin: x.packets.Begin()}
	sums := &counter{server: server, clients: map[netip.Addr]*client{}}
	cfg := d.config(x.packets)
	cfg.Listener, cfg.Dialogues = sums, dialogue.New(dialogue.Options{Renderer: lines, Size: 1. / 16})
	if expression != "" {
		p, err := d.Filter(expression)
		if err != nil {
			return nil, err
		}
		cfg.Filter = &pipeline.Filter{Program: p}
	}
	if _, err := pipeline.Run(ctx, cfg); err != nil {
		return nil, err
	}
	for _, c := range sums.clients {
		x.clients = append(x.clients, *c)
	}
	slices.SortFunc(x.clients, func(a, b client) int {
		return cmp.Or(cmp.Compare(b.requests, a.requests), a.addr.Compare(b.addr))
	})
	x.findings, x.exchanges = sums.findings, lines.list
	slices.SortStableFunc(x.findings, func(a, b found) int { return cmp.Compare(b.severity, a.severity) })
	return x, nil
}

// check returns what is wrong with an expression, nil for nothing.
func (d *Decoder) check(text string) *terminal.Mistake {
	_, err := d.Filter(text)
	var wrong *filter.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &wrong):
		return &terminal.Mistake{From: wrong.From, To: wrong.To, Message: wrong.Error()}
	}
	return &terminal.Mistake{To: len(text), Message: err.Error()}
}

// config returns the configuration of a run that decodes packets.
func (d *Decoder) config(packets recent.Packets) pipeline.Config {
	return pipeline.Config{Source: packets.Source(), Registry: d.Registry, DecodeAs: d.DecodeAs, Out: io.Discard, Jobs: 1, Memory: decodeMemory}
}

// exchangeList keeps dialogues without their messages.
type exchangeList struct {
	render.Headline
	list  []exchange
	begin int64 // of the packets
}

// AppendDialogue adds a dialogue to the list.
func (l *exchangeList) AppendDialogue(dst []byte, d *render.Dialogue) []byte {
	if l.Shows(d) {
		isCut := d.Outcome == render.Unsolicited && d.First < l.begin+longestAnswer
		x := exchange{*d, string(l.AppendFindings(nil, d, " ", "")), isCut}
		x.Turns = nil
		l.list = append(l.list, x)
	}
	return dst
}

// counter counts clients and findings. It is a track.Listener.
type counter struct {
	server   netip.AddrPort
	clients  map[netip.Addr]*client
	findings []found
}

// AddFact counts a message.
func (c *counter) AddFact(f *track.Fact, found []track.Found, _ *track.ServerInfo) {
	if f.Server != c.server {
		return
	}
	for i := range found {
		c.add(&found[i], f.Frame)
	}
	x := c.clients[f.Client.Addr()]
	if x == nil {
		x = &client{addr: f.Client.Addr()}
		c.clients[x.addr] = x
	}
	switch {
	case f.Step == track.Silence:
		return
	case f.Reply:
		x.replies++
	default:
		x.requests++
		if !f.BroughtChallenge {
			x.unproven++
		}
	}
	x.last = f.Nanos
}

// AddFinding counts a finding that belongs to no message.
func (c *counter) AddFinding(frame uint64, _ int64, server, _ netip.AddrPort, x track.Found) {
	if server == c.server && x.Code != &track.CaptureDamaged {
		c.add(&x, frame)
	}
}

func (c *counter) add(x *track.Found, frame uint64) {
	i := slices.IndexFunc(c.findings, func(y found) bool { return y.code == x.Code })
	if i < 0 {
		i = len(c.findings)
		c.findings = append(c.findings, found{code: x.Code})
	}
	y := &c.findings[i]
	y.count++
	y.severity = max(y.severity, x.Severity)
	y.last, y.frame = string(append(x.AppendText(nil), x.Detail...)), frame
}

// messagesOf returns the messages of an exchange, or of a connection, in their order: at most
// mostMessages.
func (d *Decoder) messagesOf(ctx context.Context, packets recent.Packets, x *exchange) ([]*render.Event, error) {
	r := &messages{of: x}
	cfg := d.config(packets)
	cfg.Renderer = r
	_, err := pipeline.Run(ctx, cfg)
	return r.list, err
}

// messages keeps the messages of an exchange.
type messages struct {
	of   *exchange
	list []*render.Event
}

// Append keeps a message if it is of the exchange.
func (m *messages) Append(dst []byte, e *render.Event) []byte {
	isIt := e.Exchange.ID == m.of.ID || e.Exchange.ID == 0 && e.Frame == m.of.ID
	if m.of.IsStream {
		isIt = e.TCP && (e.Src == m.of.Client && e.Dst == m.of.Server || e.Dst == m.of.Client && e.Src == m.of.Server) && e.Nanos >= m.of.First && e.Nanos <= m.of.Last
	}
	if !isIt || len(m.list) == mostMessages {
		return dst
	}
	m.list = append(m.list, e.Clone())
	return dst
}

// AppendRecord does nothing: findings that belong to no message are in the list of exchanges.
func (m *messages) AppendRecord(dst []byte, _ *render.Record) []byte { return dst }

// packetsOf returns the packets that messages came in.
func packetsOf(list []*render.Event, all recent.Packets) recent.Packets {
	return slices.DeleteFunc(slices.Clone(all), func(p recent.Packet) bool {
		return !slices.ContainsFunc(list, func(e *render.Event) bool { return e.Frame == p.No || slices.Contains(e.Frames, p.No) })
	})
}

const (
	// limit: decodeMemory is the budget of the tables of a Decoder. Chosen: a hundredth of what those of a
	// capture have, for thousands of packets, that are gone after milliseconds.
	decodeMemory = pipeline.DefaultMemory / 128

	// limit: longestAnswer is how long after the begin of the packets that are kept of a server a reply
	// may be one to a request before them, in nanoseconds. Chosen: query clients wait 5 s at most.
	longestAnswer = int64(5 * time.Second)

	// limit: mostMessages is how many messages of an exchange are shown. Chosen: an exchange has less than
	// ten; of a connection, more than anybody reads.
	mostMessages = 256

	// limit: listedMessages is how many lines the list of messages has at most. Chosen: an exchange with a
	// challenge has four.
	listedMessages = 5

	// limit: besideFrom is from which width on bytes are beside the tree. Chosen: 16 bytes of a row, and as
	// much for the tree.
	besideFrom = 132
)
