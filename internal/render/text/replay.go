package text

import (
	"fmt"
	"strconv"
	"strings"

	"qsniff/dissect/finding"
	"qsniff/internal/base/digits"
	"qsniff/internal/flood/limiter"
	"qsniff/internal/render"
)

// AppendLimits appends whom an engine's limiter would have refused, for people to
// read. Of the options, width, colours and the zone of times are used.
func AppendLimits(dst []byte, x *render.Limits, opt Options) []byte {
	p := limitsPage{statsPage{dst: dst, opt: opt.withDefaults(), s: &render.Stats{Run: x.Run}}, x}
	p.writeInterrupted()
	if len(x.Servers) == 0 {
		return p.dst
	}
	p.writeLine(0, "%s", p.headline())
	p.writeLine(0, "Replayed over %s", p.formatSpan(x.Run.First, x.Run.Last))
	p.writeLine(0, "%s", p.verdict())
	p.writeRefusals()
	p.dst = append(p.dst, '\n')
	p.writeLine(0, "Clients are addresses that proved themselves somewhere in the capture (qsniff proven). "+
		"The replay begins with the capture; what the server did itself can differ by a window.")
	return p.dst
}

// limitsPage is the page of AppendLimits.
type limitsPage struct {
	statsPage
	x *render.Limits
}

func (p *limitsPage) headline() string {
	m := &p.x.Model
	number := func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
	of := ""
	if m.Name != "" {
		of = " of " + m.Name
	}
	return fmt.Sprintf("Limits%s: %s/s from one source, %s/s from all, averaged over %d s", of, number(m.Per), number(m.Global), m.Window)
}

// verdict returns whether players would have been refused, as a sentence.
func (p *limitsPage) verdict() string {
	all, refused, out := p.x.Clients, p.x.ClientsRefused, p.x.ShutOut
	var packets uint64
	for i := range p.x.Servers {
		packets += p.x.Servers[i].Refused()
	}
	switch {
	case packets == 0:
		return "Nobody would have been refused."
	case all == 0:
		return "No client proved its address, so the capture does not tell players from others."
	case refused == 0:
		return fmt.Sprintf("All of %s would have got through.", digits.Counted(all, "proven client"))
	case out == 0:
		return fmt.Sprintf("%s of %s would have been refused at times, none of them each time.", grouped(refused), digits.Counted(all, "proven client"))
	}
	return fmt.Sprintf("%s of %s would have been refused, %s each time.", grouped(refused), digits.Counted(all, "proven client"), grouped(out))
}

// writeRefusals writes the servers that would have refused somebody, as a table and then
// with the particulars of each.
func (p *limitsPage) writeRefusals() {
	t := table{columns: []column{{"SERVER", true, 0}, {"REQUESTS", false, 2}, {"REFUSED", false, 0}, {"PER SOURCE", false, 1}, {"OF ALL", false, 1},
		{"CLIENTS REFUSED", false, 0}}}
	for i := range p.x.Servers {
		s := &p.x.Servers[i]
		if s.Refused() == 0 {
			continue
		}
		row := tableRow{cells: []string{s.Addr.String(), grouped(s.Requests), percent(s.Refused(), s.Requests), grouped(s.ByRate), grouped(s.ByAll),
			grouped(s.ClientsRefused) + " of " + grouped(s.Clients)}}
		if s.ClientsRefused > 0 {
			row.style = p.opt.Palette.severity[finding.Error]
		}
		t.rows = append(t.rows, row)
	}
	if others := len(p.x.Servers) - len(t.rows); others > 0 && len(t.rows) > 0 {
		p.writeLine(0, "%s would have refused nobody.", digits.Counted(uint64(others), "other server"))
	}
	if len(t.rows) == 0 {
		return
	}
	p.dst = append(p.dst, '\n')
	p.writeTable(&t)
	for i := range p.x.Servers {
		if s := &p.x.Servers[i]; s.Refused() > 0 {
			p.writeServer(s)
		}
	}
}

// writeServer writes when a server was at its limits, and who was refused most.
func (p *limitsPage) writeServer(s *limiter.Server) {
	p.writeTitle(s.Addr.String(), "")
	if s.ByAll > 0 {
		p.writeLine(tableIndent, "at the limit of all: %s to %s, in %s", p.formatSecond(s.First), p.formatSecond(s.Last), digits.Counted(s.Seconds, "second"))
	}
	if s.Overruns > 0 {
		p.writeLine(tableIndent, "refused everybody for a window: %s, more than %s sources had one",
			digits.Counted(s.Overruns, "time"), grouped(uint64(p.x.Model.MaxTracked)))
	}
	if s.ClientsRefused > 0 {
		out := ""
		if s.ShutOut > 0 {
			out = fmt.Sprintf("; %s refused each time", grouped(s.ShutOut))
		}
		p.writeLine(tableIndent, "of clients: %s of %s refused%s", grouped(s.ClientRefusals), digits.Counted(s.ClientRequests, "request"), out)
	}
	p.writeRefused("clients refused most", s.TopClients, s.ClientsRefused)
	p.writeRefused("others refused most", s.TopSources, 0)
}

// shownSources is how many sources of a list are named. Chosen: JSON has the rest.
const shownSources = 3

// writeRefused writes the first sources of list, and how many more of all there are.

func (p *limitsPage) writeRefused(what string, list []limiter.Source, all uint64) {
	if len(list) == 0 {
		return
	}
	var named []string
	for i := range list[:min(len(list), shownSources)] {
		s := &list[i]
		named = append(named, fmt.Sprintf("%s (%s of %s, %s to %s)", s.Addr, grouped(s.Refused()), grouped(s.Requests), p.formatSecond(s.First), p.formatSecond(s.Last)))
	}
	text := what + ": " + strings.Join(named, "; ")
	if more := int(all) - len(named); more > 0 {
		text += fmt.Sprintf("; and %s more", grouped(uint64(more)))
	}
	p.writeLine(tableIndent, "%s", text)
}
