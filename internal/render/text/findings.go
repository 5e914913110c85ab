package text

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"qsniff/dissect/finding"
	"qsniff/internal/base/digits"
	"qsniff/internal/base/display"
	"qsniff/internal/flood/proof"
	"qsniff/internal/render"
	"qsniff/internal/track/stats"
)

// AppendFindings appends findings for people to read, by server and by who causes them, the
// worst first. Of the options, width, colours and the zone of times are used.
func AppendFindings(dst []byte, f *render.Findings, opt Options) []byte {
	p := statsPage{dst: dst, opt: opt.withDefaults(), s: &render.Stats{Run: f.Run}}
	p.writeInterrupted()
	p.writeFindingCounts(f)
	if len(f.Repeats) == 0 {
		return p.dst
	}
	p.writeLine(0, "qsniff explain ID says what a finding means and what to do. FRAME is the packet of FIRST, which decided the finding; of repeats, it and the sentence are those of the first.")
	servers := groupByServer(f.Repeats)
	for _, s := range servers[:min(len(servers), f.Top)] {
		for _, g := range s.groups {
			p.writeFindingGroup(s.server, g)
		}
	}
	if n := len(servers) - f.Top; n > 0 {
		p.dst = append(p.dst, '\n')
		p.writeLine(0, "Not listed: %s with findings (--top).", digits.Counted(uint64(n), "more server", "more servers"))
	}
	return p.dst
}

// severityNouns are findings by severity, in the singular.
var severityNouns = [...]string{finding.Chat: "chat", finding.Note: "note", finding.Warn: "warning", finding.Error: "error"}

// writeFindingCounts writes how many findings there are, of what severity, and in how many
// messages they were looked for.
func (p *statsPage) writeFindingCounts(f *render.Findings) {
	var listed []string
	var milder uint64
	for s := finding.Error; ; s-- {
		switch n := f.Counts[s]; {
		case s < f.Least:
			milder += n
		case n > 0:
			listed = append(listed, digits.Counted(n, severityNouns[s]))
		}
		if s == 0 {
			break
		}
	}
	what := strings.Join(listed, ", ")
	if len(listed) == 0 {
		what = "No findings"
		if f.Least > finding.Chat {
			what += " of severity " + f.Least.String() + " or above"
		}
	}
	where := digits.Counted(f.Messages, "message")
	if f.Run.Packets > 0 {
		where += ", " + p.formatSpan(f.Run.First, f.Run.Last)
	}
	if milder > 0 {
		where += "; " + digits.Counted(milder, "milder one") + " (--severity)"
	}
	p.writeLine(0, "%s in %s", what, where)
}

// serverFindings are the findings of a server, by fault, and its worst.
type serverFindings struct {
	server  string
	groups  []*faultFindings
	byFault map[finding.Fault]*faultFindings
}

// faultFindings are the findings of a server that one party causes.
type faultFindings struct {
	fault finding.Fault
	rows  []*findingRow
	byKey map[rowKey]*findingRow
}

type rowKey struct {
	code     *finding.Code
	severity finding.Severity
}

// findingRow is a finding of a server, with all clients.
type findingRow struct {
	stats.Repeats
	clients map[netip.Addr]struct{}
}

// groupByServer groups repeats, which are ordered worst first. Servers, groups and rows come in
// the order of their first repeat.
func groupByServer(all []stats.Repeats) (servers []*serverFindings) {
	type key struct {
		server  netip.AddrPort
		evicted bool
	}
	byKey := map[key]*serverFindings{}
	for i := range all {
		r := &all[i]
		k := key{evicted: r.Evicted > 0}
		if r.Server.IsValid() {
			k.server = r.Server
		}
		s := byKey[k]
		if s == nil {
			s = &serverFindings{server: serverHeading(r), byFault: map[finding.Fault]*faultFindings{}}
			byKey[k] = s
			servers = append(servers, s)
		}
		fault := r.Expert.Code.Fault
		g := s.byFault[fault]
		if g == nil {
			g = &faultFindings{fault: fault, byKey: map[rowKey]*findingRow{}}
			s.byFault[fault] = g
			s.groups = append(s.groups, g)
		}
		g.add(r)
	}
	return servers
}

func serverHeading(r *stats.Repeats) string {
	switch {
	case r.Evicted > 0:
		return "Evicted"
	case !r.Server.IsValid():
		return "No server"
	}
	return r.Server.String()
}

// add adds r to the row of its code.
func (g *faultFindings) add(r *stats.Repeats) {
	k := rowKey{r.Expert.Code, r.Expert.Severity}
	row := g.byKey[k]
	if row == nil {
		row = &findingRow{Repeats: *r, clients: map[netip.Addr]struct{}{}}
		row.Count = 0
		g.byKey[k] = row
		g.rows = append(g.rows, row)
	}
	count, last := row.Count+r.Count, max(row.Last, r.Last)
	if r.First < row.First {
		row.Repeats = *r
	}
	row.Count, row.Last = count, last
	if r.Client.IsValid() {
		row.clients[r.Client.Addr()] = struct{}{}
	}
}

// formatClients returns the one client of a row, or how many there are.
func (r *findingRow) formatClients() string {
	switch {
	case r.Evicted > 0:
		return "in " + digits.Counted(r.Evicted, "pair of hosts", "pairs of hosts")
	case len(r.clients) == 0:
		return "-"
	case len(r.clients) > 1:
		return digits.Counted(uint64(len(r.clients)), "client")
	case r.Client.Port() == 0:
		return r.Client.Addr().String()
	}
	return r.Client.String()
}

// writeFindingGroup writes the findings of a server that one party causes, with the sentence
// of the first one of each row.
func (p *statsPage) writeFindingGroup(server string, g *faultFindings) {
	t := table{columns: []column{{"SEVERITY", true, 0}, {"ID", true, 0}, {"COUNT", false, 0}, {"FRAME", false, 1},
		{"FIRST", true, 2}, {"LAST", true, 2}, {"CLIENT", true, 1}}}
	slices.SortStableFunc(g.rows, func(a, b *findingRow) int {
		return cmp.Or(-cmp.Compare(a.Expert.Severity, b.Expert.Severity), -cmp.Compare(a.Count, b.Count))
	})
	for _, r := range g.rows {
		frame, sentence := "-", string(display.AppendEscaped(nil, r.AppendText(nil), 0))
		if r.Frame > 0 {
			frame = fmt.Sprint(r.Frame)
		}
		if len(r.Frames) > 0 && r.Frames[0] < r.Frame && !strings.Contains(sentence, "frame") {
			sentence += fmt.Sprintf(" (evidence from frame %d on)", r.Frames[0])
		}
		t.rows = append(t.rows, tableRow{cells: []string{r.Expert.Severity.String(), r.Expert.Code.ID, grouped(r.Count), frame,
			p.formatSecond(r.First), p.formatSecond(r.Last), r.formatClients()},
			note: sentence, style: p.opt.Palette.severity[r.Expert.Severity]})
	}
	p.writeTitle(server, "caused by the "+g.fault.String())
	p.writeTable(&t)
}

// AppendPolls appends what became of polls for people to read, a row for a client at a server.
// Of the options, width, colours and the zone of times are used.
func AppendPolls(dst []byte, x *render.Polls, opt Options) []byte {
	p := statsPage{dst: dst, opt: opt.withDefaults(), s: &render.Stats{Run: x.Run}}
	p.writeInterrupted()
	if len(x.Pollers) == 0 {
		return p.dst
	}
	var polls, missed uint64
	for i := range x.Pollers {
		polls, missed = polls+x.Pollers[i].Polls, missed+x.Pollers[i].Unanswered()
	}
	p.writeLine(0, "%s of %s got no answer in time, of %s, %s", grouped(missed), digits.Counted(polls, "poll", "polls"),
		digits.Counted(uint64(len(x.Pollers)), "client at a server", "clients at servers"), p.formatSpan(x.Run.First, x.Run.Last))
	p.dst = append(p.dst, '\n')
	t := table{columns: []column{{"CLIENT", true, 0}, {"SERVER", true, 0}, {"EVERY", false, 2}, {"POLLS", false, 0}, {"IN TIME", false, 1}, {"LATE", false, 1},
		{"FILTERED", false, 0}, {"LOST", false, 0}, {"UNUSED", false, 0}, {"REJECTED", false, 0}, {"DOWN", false, 0}}}
	for i := range x.Pollers[:min(len(x.Pollers), x.Top)] {
		r := &x.Pollers[i]
		every := "-"
		if r.Every > 0 {
			every = string(digits.AppendElapsed(nil, r.Every.Round(time.Millisecond).Nanoseconds(), " "))
		}
		cells := []string{r.Client.String(), r.Server.String(), every, grouped(r.Polls), grouped(r.Answered), grouped(r.Late)}
		for _, c := range []stats.Cause{stats.Filtered, stats.Lost, stats.Unused, stats.Rejected, stats.Down} {
			cells = append(cells, grouped(r.Causes[c]))
		}
		t.rows = append(t.rows, tableRow{cells: cells})
	}
	p.writeTable(&t)
	if n := len(x.Pollers) - len(t.rows); n > 0 {
		p.writeLine(2, "... %s more: --top lists them", grouped(uint64(n)))
	}
	p.dst = append(p.dst, '\n')
	p.writeLine(0, "filtered: three or more in a row without an answer, while others were answered the same question; lost: fewer. "+
		"unused: the client did not bring the challenge back. rejected: an ICMP error came. down: nobody was answered there meanwhile.")
	p.writePollAdvice(x)
	return p.dst
}

// writePollAdvice writes what to do about each cause that is there.
func (p *statsPage) writePollAdvice(x *render.Polls) {
	for _, a := range [...]struct {
		cause stats.Cause
		do    string
	}{
		{stats.Filtered, "filtered: let the client's address pass the filter or limit; qsniff floods shows whether an attack used the limit up."},
		{stats.Unused, "unused: have the client send the challenge back; qsniff follow shows what it sends in its place."},
		{stats.Down, "down: before a restart, look whether queries are answered at another port of the host: qsniff stats."},
	} {
		for i := range x.Pollers {
			if x.Pollers[i].Causes[a.cause] > 0 {
				p.writeLine(0, "Do, where %s", a.do)
				break
			}
		}
	}
}

// AppendProven appends the proven addresses for people to read. The latest proof is first,
// because it is worth most. Of the options, width, colours and the zone of times are used.
func AppendProven(dst []byte, x *render.Proven, opt Options) []byte {
	p := statsPage{dst: dst, opt: opt.withDefaults(), s: &render.Stats{Run: x.Run}}
	p.writeInterrupted()
	if len(x.Sources) == 0 {
		return p.dst
	}
	p.writeLine(0, "%s proved to be real, %s", digits.Counted(uint64(len(x.Sources)), "address", "addresses"), p.formatSpan(x.Run.First, x.Run.Last))
	p.dst = append(p.dst, '\n')
	list := slices.Clone(x.Sources) // by address
	slices.SortStableFunc(list, func(a, b proof.Source) int { return cmp.Compare(b.Last, a.Last) })
	t := table{columns: []column{{"ADDRESS", true, 0}, {"PROOFS", false, 2}, {"FIRST", true, 1}, {"LAST", true, 0}, {"HOW", true, 3}, {"SERVER", true, 2}}}
	for i := range list {
		s := &list[i]
		t.rows = append(t.rows, tableRow{cells: []string{s.Addr.String(), grouped(s.Proofs), p.formatSecond(s.First), p.formatSecond(s.Last),
			s.Methods.String(), serverOf(s)}})
	}
	p.writeTable(&t)
	p.dst = append(p.dst, '\n')
	p.writeLine(0, "A proof is of its moment: it shows that somebody at the address received what the server sent to it. "+
		"Anybody can forge the address as a sender later, so it earns a higher limit, not trust.")
	return p.dst
}

// serverOf returns the first server to which a source proved its address, and how many
// others there are.
func serverOf(s *proof.Source) string {
	if len(s.Servers) == 0 {
		return "-"
	}
	out := s.Servers[0].End.String()
	switch n := len(s.Servers) - 1; {
	case s.HasMore:
		return out + " and more"
	case n > 0:
		return out + " +" + grouped(uint64(n))
	}
	return out
}

// formatSecond formats a time to the second, with its date where the capture has more than
// one day.
func (p *statsPage) formatSecond(nanos int64) string {
	layout := time.TimeOnly
	if !p.sameDay() {
		layout = time.DateTime
	}
	return time.Unix(0, nanos).In(p.opt.Location).Format(layout)
}

// formatSpan formats the time from first to last.
func (p *statsPage) formatSpan(first, last int64) string {
	from := time.Unix(0, first).In(p.opt.Location).Format(time.DateTime)
	to := p.formatSecond(last)
	if p.opt.UTC {
		to += " UTC"
	}
	return from + " to " + to
}
