package top

import (
	"cmp"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"charm.land/lipgloss/v2"

	"qsniff/internal/app/terminal"
	"qsniff/internal/monitor"
	"qsniff/internal/render/manual"
)

// row is a server as the table shows it.
type row struct {
	*monitor.Server
	points int        // how many there are in the last hour
	kinds  []kindRate // most first
	look   *lookAt    // nil: nobody looked yet
	width  int        // of the column that is drawn, for charts
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
