package top

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"qsniff/dissect/finding"
	"qsniff/internal/app/terminal"
	"qsniff/internal/base/digits"
	"qsniff/internal/flood"
	"qsniff/internal/monitor"
	"qsniff/internal/render/manual"
)

// servers is the screen that the program begins with: the verdict, and a table of servers.
type servers struct {
	m      *Model
	head   []string // the lines before the table
	table  terminal.Table
	shown  []*column // of the table
	rows   []*row    // those that the filter chooses, in order
	hidden int       // rows that it does not
	made   []terminal.Cell
	filter rowFilter
	search string
	chosen netip.AddrPort // the server that is selected
	moved  bool           // a server was selected: it stays so wherever its row goes
}

func newServers(m *Model) *servers {
	s := &servers{m: m}
	s.table.Row = s.cells
	s.refresh()
	return s
}

func (s *servers) title() string {
	if s.filter.text == "" {
		return "Servers"
	}
	return fmt.Sprintf("Servers with %s: %d of %d", s.filter.text, len(s.rows), len(s.rows)+s.hidden)
}

// refresh makes the rows anew.
func (s *servers) refresh() {
	m := s.m
	s.layOut()
	if m.state == nil {
		return
	}
	s.rows, s.hidden = s.rows[:0], 0
	for i := range m.state.Servers {
		s.add(&m.state.Servers[i])
	}
	by := columnOf(m.opt.Settings.Sort)
	slices.SortStableFunc(s.rows, func(a, b *row) int {
		if m.opt.Settings.Rising {
			return by.compare(a, b)
		}
		return by.compare(b, a)
	})
	if o := &m.state.Other; o.In.Packets+o.Out.Packets+o.Junk.Packets > 0 {
		s.add(o)
	}
	s.table.SetRows(len(s.rows))
	if at := slices.IndexFunc(s.rows, func(r *row) bool { return r.Addr == s.chosen }); s.moved && at >= 0 {
		s.table.Select(at)
	}
}

func (s *servers) add(x *monitor.Server) {
	m := s.m
	r := &row{Server: x, points: m.state.Points, kinds: m.history.kindsOf(x), look: m.looks[x.Addr], flood: m.state.floodAt(x.Addr)}
	if !s.filter.matches(r) {
		s.hidden++
		return
	}
	s.rows = append(s.rows, r)
}

// layOut makes the columns for the width of the screen.
func (s *servers) layOut() {
	m := s.m
	var chosen []*column
	for _, id := range m.opt.Settings.Columns {
		chosen = append(chosen, columnOf(id))
	}
	s.table.Columns = fit(chosen, m.width)
	s.shown = s.shown[:0]
	s.table.Sorted, s.table.Falling = -1, !m.opt.Settings.Rising
	for i := range s.table.Columns {
		c := columnOfTitle(s.table.Columns[i].Title)
		s.shown = append(s.shown, c)
		if c.id == m.opt.Settings.Sort {
			s.table.Sorted = i
		}
	}
	s.head = s.head[:0]
	first, second := m.verdict()
	for _, text := range []string{first, second, s.totals()} {
		lines := wrap(text, m.width)
		s.head = append(s.head, lines[:min(len(lines), headLines)]...)
	}
	s.table.Y = len(s.head)
	s.table.SetSize(m.width, m.room()-len(s.head))
}

func columnOfTitle(title string) *column {
	return &columns[slices.IndexFunc(columns, func(c column) bool { return c.title == title })]
}

// cells returns the cells of a row.
func (s *servers) cells(i int) []terminal.Cell {
	r, cells := s.rows[i], s.made[:0] // drawn before the next row is made
	for j, c := range s.shown {
		r.width = s.table.Columns[j].Width
		text, style := c.show(r)
		if m := s.m; c.id == "server" && m.isAttacked(r.Addr) {
			style = terminal.Bad
		}
		cells = append(cells, terminal.Cell{Text: text, Style: style})
	}
	s.made = cells
	return cells
}

// selected returns the selected row, nil if there is none.
func (s *servers) selected() *row {
	if i := s.table.Selected(); i >= 0 {
		return s.rows[i]
	}
	return nil
}

func (s *servers) update(msg tea.Msg) tea.Cmd {
	handled, head := s.table.Update(msg)
	if head >= 0 {
		s.sortBy(s.shown[head].id)
		return nil
	}
	if r := s.selected(); handled && r != nil {
		_, isClick := msg.(tea.MouseClickMsg)
		isOpened := isClick && s.moved && s.chosen == r.Addr // a second click on the same row
		s.chosen, s.moved = r.Addr, true
		if isOpened {
			return s.open()
		}
	}
	return nil
}

// open opens the selected server.
func (s *servers) open() tea.Cmd {
	r := s.selected()
	switch {
	case r == nil:
		return nil
	case !r.Addr.IsValid():
		return s.m.say("all others never answered, or were too many: --servers ADDR:PORT,... gives rows to those that it names")
	}
	s.chosen, s.moved = r.Addr, true
	return s.m.openServer(r.Addr)
}

// sortBy sorts by a column; by the same one again the other way round.
func (s *servers) sortBy(id string) {
	x := &s.m.opt.Settings
	x.Rising = x.Sort == id && !x.Rising
	x.Sort = id
	s.refresh()
}

// sortNext sorts by a column right or left of the one at hand.
func (s *servers) sortNext(step int) {
	n := len(s.shown)
	at := slices.IndexFunc(s.shown, func(c *column) bool { return c.id == s.m.opt.Settings.Sort })
	s.m.opt.Settings.Rising = false
	s.m.opt.Settings.Sort = s.shown[((at+step)%n+n)%n].id
	s.refresh()
}

// find selects the next row with the text that is searched for.
func (s *servers) find() tea.Cmd {
	if s.search == "" {
		return s.m.say("nothing to search for: s")
	}
	from := s.table.Selected()
	for i := range s.rows {
		at := (from + 1 + i) % len(s.rows)
		if s.rows[at].contains(s.search) {
			s.table.Select(at)
			s.chosen, s.moved = s.rows[at].Addr, true
			return nil
		}
	}
	return s.m.say(fmt.Sprintf("no server with %q", s.search))
}

func (s *servers) view(width, height int) string {
	return strings.Join(s.head, "\n") + "\n" + s.table.View()
}

// wrap returns a text in lines, in its style each. Words are never broken at hyphens, as flags have
// these.
func wrap(text string, width int) (lines []string) {
	for _, line := range strings.Split(ansi.Wordwrap(strings.ReplaceAll(text, "-", hyphen), max(width, 1), ""), "\n") {
		lines = append(lines, strings.ReplaceAll(line, hyphen, "-"))
	}
	return lines
}

const hyphen = "\u2011" // one at which no line ends

// totals is the line of totals: what all servers are asked, and what the capture missed.
func (s *servers) totals() string {
	x := s.m.state
	if x == nil {
		return ""
	}
	asked, silent, all := x.Other.Rates.Requests, x.Other.Lately.Unanswered, x.Other.Lately.Fates
	clients, served, isFlooded := 0, 0, false
	for i := range x.Servers {
		o := &x.Servers[i]
		if in := x.floodAt(o.Addr); in != nil {
			clients, served, isFlooded = clients+in.Answers.Clients, served+in.Answers.ClientsServed, true
		}
		asked += o.Rates.Requests
		silent += o.Lately.Unanswered
		all.Add(&o.Lately.Fates)
	}
	text := fmt.Sprintf("%s, %s queries/s", digits.Counted(uint64(len(x.Servers)), "server"), rate(asked))
	if all.Replied+silent > 0 {
		text += fmt.Sprintf(", %s any reply", percent(100*float64(all.Replied)/float64(all.Replied+silent)))
		switch {
		case clients > 0: // of floods: of the others, that is in their rows
			text += fmt.Sprintf(", %d of %s served", served, digits.Counted(uint64(clients), "proven client"))
		case isFlooded:
			text += ", of proven clients unknown,"
		case all.Proven > 0:
			text += fmt.Sprintf(", %s of proven clients served", percent(100*all.Share()))
		}
		text += " in the last " + digits.Span(max(x.LatelySpan.Round(time.Second), time.Second))
	}
	text += "; " + digits.Counted(x.Counters.Run.Packets, "packet")
	if n := x.Counters.Live.Kernel + x.Counters.Live.Card + x.Counters.Run.Dropped; n > 0 {
		text += terminal.Warn.Render("; " + digits.Counted(n, "packet was", "packets were") + " missed: figures are too low")
	}
	remarks, wrong := x.Counters.Run.InBrief()
	for i, words := range remarks {
		if words = "; " + words; i < wrong {
			words = terminal.Warn.Render(words)
		}
		text += words
	}
	return text
}

// lookedMsg is what the packets of a server show; nil: nothing new.
type lookedMsg struct{ look *lookAt }

// lookOn has the packets of the next server on the screen decoded, beside the screen, if they
// changed.
func (m *Model) lookOn() tea.Cmd {
	s := m.servers
	first, n := s.table.Window()
	if len(m.looks) > 2*len(m.state.Servers) { // of servers that gave their counters to others
		clear(m.looks)
	}
	if m.isLooking || m.opt.Decoder == nil || len(s.rows) == 0 {
		return nil
	}
	for range min(n, len(s.rows)) {
		at := first + m.nextLook%max(n, 1)
		m.nextLook++
		if at >= len(s.rows) || !s.rows[at].Addr.IsValid() {
			continue
		}
		a := s.rows[at].Addr
		if old := m.looks[a]; old != nil && old.added == m.opt.Decoder.Store.Added(a) {
			continue
		}
		m.isLooking = true
		return func() tea.Msg {
			look, err := m.opt.Decoder.decode(context.Background(), a, "")
			if err != nil {
				return lookedMsg{}
			}
			return lookedMsg{&lookAt{server: a, added: look.added, findings: look.findings}}
		}
	}
	return nil
}

// row is a server as the table shows it.
type row struct {
	*monitor.Server
	points int             // how many there are in the last hour
	kinds  []kindRate      // most first
	look   *lookAt         // nil: its screen was not opened yet
	width  int             // of the column that is drawn, for charts
	flood  *flood.Incident // that goes on there, and shows how clients fare; nil: there is none
}

// floodAt returns an incident at a server that goes on and shows how clients fare; nil: there is none.
func (s *State) floodAt(a netip.AddrPort) *flood.Incident {
	for i := range s.Incidents {
		if in := &s.Incidents[i]; in.End == 0 && in.Target.End == a && in.Answers != (flood.Answers{}) {
			return in
		}
	}
	return nil
}

// kindRate is how often a server is asked for something.
type kindRate struct {
	name      string
	perSecond float64
}

// history is what servers were asked until moments of the last seconds, and now.
type history struct{ list []moment }

// moment is the counters of messages until a time, by server: snapshots as a whole would take
// megabytes each.
type moment struct {
	nanos    int64
	messages map[netip.AddrPort][]monitor.Message
}

// add adds a snapshot, and drops those that are too old to be compared with. One for each quarter
// of rateSpan is enough.
func (h *history) add(s *monitor.Snapshot) {
	n := len(h.list)
	switch {
	case n > 0 && s.Nanos == h.list[n-1].nanos:
		return
	case n > 0 && s.Nanos < h.list[n-1].nanos: // another run
		h.list, n = h.list[:0], 0
	}
	if n > 1 && s.Nanos-h.list[n-2].nanos < int64(rateSpan)/4 {
		n--
	}
	x := moment{s.Nanos, make(map[netip.AddrPort][]monitor.Message, len(s.Servers)+1)}
	for i := range s.Servers {
		x.messages[s.Servers[i].Addr] = s.Servers[i].Messages
	}
	x.messages[s.Other.Addr] = s.Other.Messages
	h.list = append(h.list[:n], x)
	for len(h.list) > 2 && s.Nanos-h.list[1].nanos >= int64(rateSpan) {
		h.list = slices.Delete(h.list, 0, 1)
	}
}

// kindsOf returns how often each kind of request came to a server lately.
func (h *history) kindsOf(s *monitor.Server) (all []kindRate) {
	first, last := &h.list[0], &h.list[len(h.list)-1]
	span := float64(last.nanos-first.nanos) / 1e9
	if span <= 0 {
		return nil
	}
	before := first.messages[s.Addr]
	for i := range s.Messages {
		m := &s.Messages[i]
		if m.IsReply {
			continue
		}
		n := m.Count
		at := slices.IndexFunc(before, func(x monitor.Message) bool { return !x.IsReply && x.Protocol == m.Protocol && x.Name == m.Name })
		if at >= 0 {
			n -= min(n, before[at].Count)
		}
		if n > 0 {
			all = append(all, kindRate{m.Name, float64(n) / span})
		}
	}
	slices.SortStableFunc(all, func(a, b kindRate) int { return cmp.Compare(b.perSecond, a.perSecond) })
	return all
}

// course draws the last hour of a server.
func (r *row) course() (string, lipgloss.Style) {
	values := make([]float64, max(r.points, len(r.Lately.Points)))
	for i, n := range r.Lately.Points {
		values[i] = float64(n)
	}
	for len(values) > r.width && r.width > 0 { // two points become one; of an odd number the oldest goes
		var half []float64
		for i := len(values) % 2; i < len(values); i += 2 {
			half = append(half, max(values[i], values[i+1]))
		}
		values = half
	}
	return terminal.Sparkline(values, max(r.width, len(values))), terminal.Name
}

// rowFilter chooses rows: by words that are in a text of the row, and by comparisons of columns
// with numbers. All of them must hold.
type rowFilter struct {
	text  string
	words []string
	tests []func(*row) bool
}

// comparison is a word of a filter that compares.
var comparison = regexp.MustCompile(`^([a-z0-9]+)(<=|>=|<|>|==?|!=)(-?[0-9.]+)$`)

// parseRowFilter parses what was entered.
func parseRowFilter(text string) (f rowFilter, wrong *terminal.Mistake) {
	f.text = strings.TrimSpace(text)
	at := 0
	for _, word := range strings.Fields(text) {
		from := at + strings.Index(text[at:], word)
		at = from + len(word)
		m := comparison.FindStringSubmatch(strings.ToLower(word))
		if m == nil {
			if strings.ContainsAny(word, "<>=") {
				return f, &terminal.Mistake{From: from, To: at, Message: "write COLUMN>NUMBER, as in players>10 or answered<90"}
			}
			f.words = append(f.words, strings.ToLower(word))
			continue
		}
		c := columnOf(m[1])
		value, err := strconv.ParseFloat(m[3], 64)
		switch {
		case c == nil || c.isText:
			return f, &terminal.Mistake{From: from, To: from + len(m[1]), Message: noColumn(m[1], func(c *column) bool { return !c.isText })}
		case err != nil:
			return f, &terminal.Mistake{From: at - len(m[3]), To: at, Message: "not a number"}
		}
		f.tests = append(f.tests, func(r *row) bool {
			v := c.value(r)
			return v >= 0 && map[string]bool{"<": v < value, "<=": v <= value, ">": v > value, ">=": v >= value, "=": v == value, "==": v == value, "!=": v != value}[m[2]]
		})
	}
	return f, nil
}

// noColumn returns the message that there is no column of a name, and which one may be meant.
func noColumn(name string, isMeant func(*column) bool) string {
	var ids []string
	for i := range columns {
		if isMeant(&columns[i]) {
			ids = append(ids, columns[i].id)
		}
	}
	if near := manual.Nearest(name, ids); len(near) > 0 {
		ids = near
	}
	return fmt.Sprintf("no column %q: %s", name, strings.Join(ids, ", "))
}

// matches reports whether a row is chosen.
func (f *rowFilter) matches(r *row) bool {
	for _, test := range f.tests {
		if !test(r) {
			return false
		}
	}
	return r.contains(f.words...)
}

// contains reports whether each of the words, in small letters, is in a text of the row.
func (r *row) contains(words ...string) bool {
	for _, w := range words {
		if !slices.ContainsFunc(columns, func(c column) bool { return c.isText && strings.Contains(strings.ToLower(c.text(r)), w) }) {
			return false
		}
	}
	return true
}

// column is a column of the table of servers. columns is the one list of them: help, the file of
// settings, filters and the manual are made of it.
type column struct {
	id, title string
	meaning   string
	width     int // cells; of one that is flexible the least
	most      int // cells that a flexible one can take; 0: it has its width
	leaves    int // the greater, the sooner it is hidden where the screen is narrow
	isText    bool
	cell      func(r *row) (string, lipgloss.Style)
	value     func(r *row) float64 // of a number; negative: it has none
	text      func(r *row) string  // of a text
}

// columns are all there are, in the order in which they are shown.
var columns = []column{
	{id: "server", title: "SERVER", width: 21, most: 47, isText: true, text: (*row).address,
		meaning: "Address and port. A server has a row once it has answered somebody, or if --servers names it; all others are one row, the last."},
	{id: "name", title: "NAME", width: 10, most: 40, leaves: 1, isText: true, text: func(r *row) string { return string(r.Profile.Name.Whole()) },
		meaning: "What the server calls itself, in its last reply that says it."},
	{id: "map", title: "MAP", width: 12, leaves: 6, isText: true, text: func(r *row) string { return string(r.Profile.Map.Whole()) },
		meaning: "The map that is played, as the server reports it."},
	{id: "players", title: "PLAYERS", width: 7, leaves: 2, cell: (*row).players, value: func(r *row) float64 { return float64(r.Profile.Players) },
		meaning: "Players and places for them, as the server reports them."},
	{id: "asked", title: "ASKED/S", width: 7, cell: (*row).asked, value: func(r *row) float64 { return r.Rates.Requests },
		meaning: "Queries a second to the server, over the last 10 seconds."},
	{id: "answered", title: "REPLIED", width: 7, leaves: 5, cell: (*row).replied, value: (*row).repliedShare,
		meaning: "Which part of the queries of the last minute got any reply, a challenge included. Those of which it is not known yet do not count. A flood of forged addresses lowers it where the server refuses some."},
	{id: "served", title: "SERVED", width: 6, cell: (*row).served, value: (*row).servedShare,
		meaning: "Which part of the queries of the last minute that brought back a challenge of this server got what they asked for: real clients. Below 90 % it is yellow, below 50 % red. A server that gives no challenge has none. In a flood: which part of the clients of the last minute that had proved their address got a reply to their last query."},
	{id: "p95", title: "P95", width: 7, leaves: 3, cell: (*row).p95, value: (*row).p95Millis,
		meaning: "95 of 100 answers of the last minute came faster than this, as measured where the capture is. Filters compare milliseconds."},
	{id: "amplification", title: "OUT/IN", width: 6, leaves: 4, cell: (*row).amplification, value: (*row).gain,
		meaning: "Bytes that the server sent for each byte it got in the last minute, headers included: what somebody gains who forges addresses. From 10 on it is yellow."},
	{id: "findings", title: "FINDINGS", width: 8, leaves: 5, cell: (*row).findings, value: func(r *row) float64 { return float64(r.countFindings()) },
		meaning: "How many kinds of mistakes the last packets of this server show, errors and warnings; Enter lists them. A server's packets are looked at every few seconds while its row is on the screen."},
	{id: "course", title: "LAST HOUR", width: 12, most: 30, leaves: 5, cell: (*row).course, value: func(r *row) float64 { return float64(r.Lately.Requests) },
		meaning: "Queries over the last hour, or since the begin: the highest bar is the server's own most. Order and filters go by the queries of the last minute."},
	{id: "kinds", title: "ASKED FOR, A SECOND", width: 24, most: 48, leaves: 7, isText: true, text: (*row).kindsText,
		meaning: "What the server is asked for, the most frequent first, each with queries a second over the last 10 seconds."},
}

// columnIDs returns the names of all columns.
func columnIDs() (ids []string) {
	for i := range columns {
		ids = append(ids, columns[i].id)
	}
	return ids
}

// columnOf returns the column of a name; nil: there is none.
func columnOf(id string) *column {
	for i := range columns {
		if columns[i].id == id {
			return &columns[i]
		}
	}
	return nil
}

// show returns the text of a column for a row, and its style.
func (c *column) show(r *row) (string, lipgloss.Style) {
	if c.cell != nil {
		return c.cell(r)
	}
	return c.text(r), terminal.Plain
}

// compare compares two rows by a column, numbers from the least, of texts the last first: so that
// an order from the greatest begins with what is looked for.
func (c *column) compare(a, b *row) int {
	if c.isText {
		return strings.Compare(strings.ToLower(c.text(b)), strings.ToLower(c.text(a)))
	}
	return cmp.Compare(c.value(a), c.value(b))
}

// cells returns the least width: that of the head, too, with the mark of the order.
func (c *column) cells() int { return max(c.width, len(c.title)+1) }

// fit returns those of the chosen columns for which there is room, with their widths.
func fit(chosen []*column, width int) []terminal.Column {
	list := append([]*column(nil), chosen...)
	used := func() (n int) {
		for _, c := range list {
			n += c.cells() + 1
		}
		return n - 1
	}
	for len(list) > 1 && used() > width {
		last := 0
		for i, c := range list {
			if c.leaves >= list[last].leaves {
				last = i
			}
		}
		list = append(list[:last], list[last+1:]...)
	}
	spare := width - used()
	var out []terminal.Column
	for _, c := range list {
		out = append(out, terminal.Column{Title: c.title, Meaning: c.meaning, Width: c.cells(), Right: !c.isText && c.most == 0})
	}
	for spare > 0 { // to each of the flexible ones in turn
		grew := false
		for i, c := range list {
			if spare > 0 && out[i].Width < c.most {
				out[i].Width++
				spare--
				grew = true
			}
		}
		if !grew {
			break
		}
	}
	return out
}

func (r *row) address() string {
	if !r.Addr.IsValid() {
		return "all others"
	}
	return r.Addr.String()
}

func (r *row) players() (string, lipgloss.Style) {
	p := &r.Profile
	switch {
	case !r.HasProfile || p.Players < 0:
		return "-", terminal.Dim
	case p.Max < 0:
		return fmt.Sprint(p.Players), terminal.Plain
	}
	return fmt.Sprintf("%d/%d", p.Players, p.Max), terminal.Plain
}

func (r *row) asked() (string, lipgloss.Style) {
	if r.Rates.Requests == 0 {
		return "-", terminal.Dim
	}
	return rate(r.Rates.Requests), terminal.Plain
}

// repliedShare returns the share of the requests that got any reply, in percent; negative: nothing is
// known.
func (r *row) repliedShare() float64 {
	n := float64(r.Lately.Replied) + float64(r.Lately.Unanswered)
	if n == 0 {
		return -1
	}
	return 100 * float64(r.Lately.Replied) / n
}

// replied has no color: what a flood of forged addresses asks in vain is no fault of the server.
func (r *row) replied() (string, lipgloss.Style) {
	if share := r.repliedShare(); share >= 0 {
		return percent(share), terminal.Plain
	}
	return "-", terminal.Dim
}

// servedShare returns the share in percent in which clients that proved their address got what they asked
// for; negative: none proved it. In a flood it is the share of these clients whose last query got a reply: one
// whose first query is lost brings no challenge back.
func (r *row) servedShare() float64 {
	if r.flood == nil {
		return 100 * r.Lately.Share()
	}
	if a := &r.flood.Answers; a.Clients > 0 {
		return 100 * float64(a.ClientsServed) / float64(a.Clients)
	}
	return -1
}

func (r *row) served() (string, lipgloss.Style) {
	share := r.servedShare()
	switch {
	case share < 0:
		return "-", terminal.Dim
	case share < 50:
		return percent(share), terminal.Bad
	case share < 90:
		return percent(share), terminal.Warn
	}
	return percent(share), terminal.Plain
}

// percent writes a share; what is not all does not become 100 %.
func percent(share float64) string {
	if share > 99 && share < 100 {
		return "99.9 %"
	}
	return fmt.Sprintf("%.0f %%", share)
}

func (r *row) p95Millis() float64 {
	if r.Lately.Response.Count == 0 {
		return -1
	}
	return float64(r.Lately.Response.P95) / float64(time.Millisecond)
}

func (r *row) p95() (string, lipgloss.Style) {
	t := &r.Lately.Response
	switch {
	case t.Count == 0:
		return "-", terminal.Dim
	case t.P95 >= time.Second:
		return digits.Short(t.P95.Seconds()) + " s", terminal.Warn
	}
	return fmt.Sprintf("%.0f ms", max(r.p95Millis(), 1)), terminal.Plain
}

func (r *row) gain() float64 {
	if r.Lately.WireIn == 0 {
		return -1
	}
	return float64(r.Lately.WireOut) / float64(r.Lately.WireIn)
}

func (r *row) amplification() (string, lipgloss.Style) {
	g := r.gain()
	switch {
	case g < 0:
		return "-", terminal.Dim
	case g >= 10:
		return digits.Short(g), terminal.Warn
	}
	return fmt.Sprintf("%.1f", g), terminal.Plain
}

// countFindings returns how many kinds of findings are warnings at least; negative: its screen was not opened.
func (r *row) countFindings() (n int) {
	if r.look == nil {
		return -1
	}
	for i := range r.look.findings {
		if r.look.findings[i].severity >= finding.Warn {
			n++
		}
	}
	return n
}

func (r *row) findings() (string, lipgloss.Style) {
	switch n := r.countFindings(); {
	case n < 0:
		return "", terminal.Dim
	case n == 0:
		return "none", terminal.Dim
	case r.look.findings[0].severity >= finding.Error:
		return digits.Counted(uint64(n), "kind"), terminal.Bad
	default:
		return digits.Counted(uint64(n), "kind"), terminal.Warn
	}
}

func (r *row) kindsText() string {
	var parts []string
	for _, k := range r.kinds {
		parts = append(parts, k.name+" "+rate(k.perSecond))
	}
	return strings.Join(parts, ", ")
}

// rate writes a rate in at most seven cells.
func rate(v float64) string {
	switch {
	case v >= 1e6:
		return digits.Short(v/1e6) + "M"
	case v >= 10:
		return digits.Grouped(int64(v + .5))
	}
	return fmt.Sprintf("%.1f", v)
}

const (
	// limit: headLines is how many lines each of the two parts of the verdict has at most. Chosen: a screen
	// of 80 columns has room for the whole sentence.
	headLines = 2

	// limit: rateSpan is over how much packet time the rates of kinds are measured. Chosen: as Rates.
	rateSpan = 10 * time.Second
)
