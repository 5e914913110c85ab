package text

import (
	"cmp"
	"slices"
	"time"

	"qsniff/internal/base/digits"
	"qsniff/internal/flood/proof"
	"qsniff/internal/render"
	"qsniff/internal/track/stats"
)

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
