package text

import (
	"cmp"
	"slices"
	"time"

	"qsniff/internal/base/digits"
	"qsniff/internal/flood/proof"
	"qsniff/internal/render"
)

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
