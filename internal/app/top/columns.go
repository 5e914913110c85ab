package top

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"charm.land/lipgloss/v2"

	"qsniff/dissect/finding"
	"qsniff/internal/app/terminal"
	"qsniff/internal/base/digits"
)

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
	{id: "answered", title: "ANSWERED", width: 8, cell: (*row).answered, value: (*row).answeredShare,
		meaning: "Which part of the queries of the last minute was answered. Those that got a challenge, or of which it is not known yet, count as neither. Below 90 % it is yellow, below 50 % red."},
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

// answeredShare returns the share in percent; negative: nothing is known.
func (r *row) answeredShare() float64 {
	n := float64(r.Lately.Answered) + float64(r.Lately.Unanswered)
	if n == 0 {
		return -1
	}
	return 100 * float64(r.Lately.Answered) / n
}

func (r *row) answered() (string, lipgloss.Style) {
	share := r.answeredShare()
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

// countFindings returns how many kinds of findings are warnings at least; negative: nobody looked.
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
