package text

import (
	"fmt"
	"strings"
	"time"

	"qsniff/internal/base/digits"
	"qsniff/internal/base/display"
	"qsniff/internal/render"
	"qsniff/internal/track/vantages"
)

// vantagesPage is the page in the making.
type vantagesPage struct {
	statsPage
	x *render.Vantages
}

// AppendVantages appends how servers answer at several clients: which answer as fast over longer paths, what to
// do, then times by server, kind and capture.
func AppendVantages(dst []byte, x *render.Vantages, opt Options) []byte {
	p := &vantagesPage{statsPage{dst: dst, opt: opt.withDefaults(), s: &render.Stats{}}, x}
	var counts [vantages.NumVerdicts]int
	for i := range x.Servers {
		counts[x.Servers[i].Verdict]++
	}
	p.writeHow()
	p.writeAnswer(&counts)
	p.writeAdvice(&counts)
	for i := range x.Servers[:min(x.Top, len(x.Servers))] {
		p.writeServer(&x.Servers[i])
	}
	if n := len(x.Servers) - x.Top; n > 0 {
		p.dst = append(p.dst, '\n')
		p.writeLine(0, "Not listed: %s (--top).", digits.Counted(uint64(n), "more server"))
	}
	p.writeBasis()
	return p.dst
}

// writeHow writes how far a run came that the user ended.
func (p *vantagesPage) writeHow() {
	for i := range p.x.Captures {
		p.dst = AppendInterrupted(p.dst, &p.x.Captures[i].Run, p.opt)
	}
	if p.x.Unread > 0 {
		p.writeLine(0, "%s read: what follows is about the others.", digits.Counted(uint64(p.x.Unread), "capture was not", "captures were not"))
	}
}

// writeAnswer writes how many servers answer as fast over longer paths, and what the others do.
func (p *vantagesPage) writeAnswer(counts *[vantages.NumVerdicts]int) {
	all := digits.Counted(uint64(len(p.x.Servers)), "server")
	captures := digits.Counted(uint64(len(p.x.Captures)), "capture")
	switch flat := counts[vantages.Flat]; {
	case len(p.x.Servers) == 0:
		p.writeLine(0, "No server was asked in two of %s: nothing can be compared. Do: capture at several clients that ask the same server, each into a file of its own.", captures)
		return
	case flat > 0:
		p.writeLine(0, "%d of %s in %s: answers take the same time near and far, and the paths to the server do not (LIE-02).", flat, all, captures)
	default:
		p.writeLine(0, "No answers that take the same time over paths of different length: %s in %s.", all, captures)
	}
	var others []string
	for v := vantages.Follows; ; v-- {
		if n := counts[v]; n > 0 {
			others = append(others, fmt.Sprintf("%d %s", n, verdictWords[v]))
		}
		if v == 0 {
			break
		}
	}
	if len(others) > 0 {
		p.writeLine(0, "Of the servers: %s.", strings.Join(others, ", "))
	}
}

// verdictWords are what becomes of a number of servers.
var verdictWords = [vantages.NumVerdicts]string{
	vantages.Unanswered: "with answers of one kind in fewer than two captures",
	vantages.TooFew:     "with too few answers",
	vantages.NoPath:     "without enough that shows how long the paths are",
	vantages.Close:      "with paths of about the same length",
	vantages.Unclear:    "unclear",
	vantages.Follows:    "slower where the path is longer",
}

// writeAdvice writes what to do about each verdict that is there.
func (p *vantagesPage) writeAdvice(counts *[vantages.NumVerdicts]int) {
	for _, a := range [...]struct {
		verdict vantages.Verdict
		do      string
	}{
		{vantages.Flat, "Do: take the path's time for the ping, not the answer's. Who runs the server asks the provider what answers in its place, a cache at the edge or a proxy, and for how long it keeps answers. qsniff explain LIE-02 says more."},
		{vantages.Unclear, "Do, where unclear: capture for longer, with clients that are further apart."},
		{vantages.Close, "Do, where paths are as long: capture at a client further away. If all clients are near, the whole host may be at the edge of an anycast network."},
		{vantages.NoPath, "Do, without a path: have each client open a console (five connections over TCP), ping the host five times, or ask for players ten times."},
		{vantages.TooFew, "Do, with too few answers: capture for longer. Ten of a kind are needed at each client."},
		{vantages.Unanswered, "Do, without answers: capture both directions, and ask for the same at each client."},
	} {
		if counts[a.verdict] > 0 {
			p.writeLine(0, "%s", a.do)
		}
	}
}

// name returns what a capture is called, cut to what fits beside figures.
func (p *vantagesPage) name(capture int) string {
	const most = 28 // chosen: kind, name and four figures fit into 80 cells
	name := display.AppendVisible(nil, []byte(p.x.Captures[capture].Name))
	if n, _ := display.Fit(name, most); n < len(name) {
		n, _ = display.Fit(name, most-1)
		return string(name[:n]) + "…"
	}
	return string(name)
}

// writeServer writes how a server answers at each capture.
func (p *vantagesPage) writeServer(s *vantages.Server) {
	p.writeTitle(s.Addr.String(), strings.ReplaceAll(s.Verdict.String(), "_", " "))
	p.writeVerdict(s)
	t := &table{columns: []column{{"TIMES OF", true, 0}, {"CAPTURE", true, 0}, {"COUNT", false, 0}, {"LEAST", false, 0}, {"MEDIAN", false, 0}, {"TTL", false, 1}}}
	for _, kind := range kindsOf(s) {
		for i := range s.Points {
			for j := range s.Points[i].Answers {
				if a := &s.Points[i].Answers[j]; a.Name() == kind && (s.Points[i].Path == nil || *a != *s.Points[i].Path) {
					t.rows = append(t.rows, p.timesRow(kind, s.Points[i].Capture, a))
				}
			}
		}
	}
	for i := range s.Points {
		if path := s.Points[i].Path; path != nil {
			t.rows = append(t.rows, p.timesRow("path: "+path.Name(), s.Points[i].Capture, path))
		}
	}
	for i := len(t.rows) - 1; i > 0; i-- {
		if t.rows[i].cells[0] == t.rows[i-1].cells[0] {
			t.rows[i].cells[0] = ""
		}
	}
	p.writeTable(t)
	for i := range s.Points {
		if q := &s.Points[i]; q.Answered < q.Asked {
			p.writeLine(tableIndent, "%s: %s answered of %s.", p.name(q.Capture), grouped(q.Answered), digits.Counted(q.Asked, "request"))
		}
	}
}

// kindsOf lists the kinds of answers of a server, in the order in which captures have them.
func kindsOf(s *vantages.Server) (kinds []string) {
	seen := map[string]bool{}
	for i := range s.Points {
		for j := range s.Points[i].Answers {
			if name := s.Points[i].Answers[j].Name(); !seen[name] {
				seen[name] = true
				kinds = append(kinds, name)
			}
		}
	}
	return kinds
}

// timesRow returns the row of a series.
func (p *vantagesPage) timesRow(kind string, capture int, s *vantages.Series) tableRow {
	ttl := ""
	if s.TTL > 0 {
		ttl = grouped(uint64(s.TTL))
	}
	return tableRow{cells: []string{kind, p.name(capture), grouped(s.Count), elapsed(s.Least), elapsed(s.Median), ttl}}
}

func elapsed(d time.Duration) string { return string(digits.AppendElapsed(nil, int64(d), " ")) }

// writeVerdict writes what the verdict on a server rests on.
func (p *vantagesPage) writeVerdict(s *vantages.Server) {
	if s.Verdict <= vantages.NoPath {
		return
	}
	path := s.Path[0].Name()
	if port := s.Path[0].End.Port(); port > 0 && port != s.Addr.Port() {
		path += fmt.Sprintf(" at port %d", port)
	}
	p.writeLine(tableIndent, "%s: least and median differ by up to %s between %s and %s, the paths by %s (%s). To be judged the same, paths must differ by %s.", s.Answer[0].Name(),
		elapsed(s.AnswersDiffer), p.name(s.Near), p.name(s.Far), elapsed(s.PathsDiffer), path, elapsed(s.Needed))
	if s.Verdict != vantages.Flat {
		return
	}
	if s.IsSooner {
		p.writeLine(tableIndent, "At %s an answer comes sooner than the path allows.", p.name(s.Far))
	}
	if a, b := s.Answer[1].TTL, s.Path[1].TTL; a > 0 && b > 0 && a != b {
		p.writeLine(tableIndent, "It also comes with another time to live there: %d, and %d by the path. That alone proves nothing.", a, b)
	}
}

// writeBasis writes what each capture came to, and what there was no room for.
func (p *vantagesPage) writeBasis() {
	p.writeTitle("Captures", "")
	for i := range p.x.Captures {
		c := &p.x.Captures[i]
		line := display.AppendVisible(nil, []byte(c.Name))
		line = fmt.Appendf(line, ": %s, %s", digits.Counted(c.Run.Packets, "packet"), digits.Counted(c.Run.Messages, "message"))
		if c.Run.Packets > 0 {
			line = fmt.Appendf(line, ", %s", digits.Span(time.Duration(c.Run.Last-c.Run.First)))
		}
		if c.Run.Dropped > 0 {
			line = fmt.Appendf(line, "; the capturing program lost %s", digits.Counted(c.Run.Dropped, "packet"))
		}
		p.writeLine(tableIndent, "%s", line)
		for _, e := range [...]struct {
			n         uint64
			one, more string
		}{
			{c.Evicted.Servers, "server was", "servers were"}, {c.Evicted.Answers, "series of answers was", "series of answers were"},
			{c.Evicted.Paths, "series of handshakes or echoes was", "series of handshakes or echoes were"},
			{c.Evicted.Trips, "handshake or echo that waited was", "handshakes or echoes that waited were"},
			{c.Evicted.Repeated, "exchange with repeated requests was", "exchanges with repeated requests were"},
		} {
			if e.n > 0 {
				p.writeLine(belowIndent, "%s evicted for others: --memory gives more room.", digits.Counted(e.n, e.one, e.more))
			}
		}
	}
}
