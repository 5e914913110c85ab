package text

import (
	"strings"

	"qsniff/internal/base/digits"
	"qsniff/internal/base/display"
	"qsniff/internal/render"
)

// comparePage is the page in the making.
type comparePage struct {
	statsPage
	x *render.Comparison
}

// AppendComparison appends what two sides differ in: first the difference that a strict client fails at first, in a
// sentence, then a table of all, then what is equal.
func AppendComparison(dst []byte, x *render.Comparison, opt Options) []byte {
	p := &comparePage{statsPage{dst: dst, opt: opt.withDefaults(), s: &render.Stats{Run: x.Run}}, x}
	p.writeInterrupted()
	p.writeFirst()
	p.writeSides()
	p.writeDifferences()
	p.writeRest()
	return p.dst
}

// shown returns the differences that the table has: values only with -v.
func (p *comparePage) shown() (all []render.Difference, values int) {
	all = p.x.Differences
	for len(all) > 0 && all[len(all)-1].Aspect == render.ValueAspect {
		all = all[:len(all)-1]
	}
	values = len(p.x.Differences) - len(all)
	if p.x.Verbose {
		return p.x.Differences, 0
	}
	return all, values
}

// writeFirst writes the difference that matters most.
func (p *comparePage) writeFirst() {
	all, _ := p.shown()
	if len(all) == 0 || all[0].Aspect == render.ValueAspect {
		p.writeLine(0, "No difference that a client fails at was found between %s and %s.", p.x.Sides[0].Label, p.x.Sides[1].Label)
		return
	}
	if all[0].Aspect > render.TimeAspect {
		p.writeLine(0, "No difference that a client fails at was found between %s and %s. %s", p.x.Sides[0].Label, p.x.Sides[1].Label, display.AppendVisible(nil, []byte(all[0].Text)))
		return
	}
	p.writeLine(0, "%s", display.AppendVisible(nil, []byte(all[0].Text)))
}

// writeSides writes what was compared.
func (p *comparePage) writeSides() {
	for i := range p.x.Sides {
		s := &p.x.Sides[i]
		p.writeLine(tableIndent, "%s: %s, %s, %s", s.Label, display.AppendVisible(nil, []byte(s.Name)), digits.Counted(s.Exchanges, "exchange"), digits.Counted(s.Messages, "message"))
	}
}

// mostRows is how many rows the table has without -v. Chosen: with what is around it, a screen of 24 lines.
const mostRows = 13

// writeDifferences writes the table.
func (p *comparePage) writeDifferences() {
	all, _ := p.shown()
	if len(all) == 0 {
		return
	}
	p.writeTitle("What differs", "what a strict client fails at first comes first")
	t := &table{columns: []column{{"MESSAGE", true, 0}, {"WHAT", true, 0}, {p.heading(0), true, 0}, {p.heading(1), true, 0}}}
	rows := all
	if !p.x.Verbose {
		rows = all[:min(len(all), mostRows)]
	}
	before := ""
	for i := range rows {
		d := &rows[i]
		message := d.Message
		if message == before {
			message = ""
		}
		before = d.Message
		t.rows = append(t.rows, tableRow{cells: []string{message, p.cell(d.What), p.cell(d.Cells[0]), p.cell(d.Cells[1])}})
	}
	p.writeTable(t)
	if n := len(all) - len(rows); n > 0 {
		p.writeLine(tableIndent, "%s: -v lists all.", digits.Counted(uint64(n), "more difference"))
	}
}

// heading returns the heading of a side's column.
func (p *comparePage) heading(i int) string {
	return strings.ToUpper(strings.TrimPrefix(p.x.Sides[i].Label, "the server "))
}

// cell returns a text as a cell that leaves room for the others.
func (p *comparePage) cell(s string) string {
	most := max(12, (p.opt.Width-24)/3) // chosen: four columns fit into 80 cells
	b := display.AppendVisible(nil, []byte(s))
	if n, _ := display.Fit(b, most); n < len(b) {
		n, _ = display.Fit(b, most-1)
		return string(b[:n]) + "…"
	}
	return string(b)
}

// writeRest writes what is equal, what was not compared, and what there was no room for.
func (p *comparePage) writeRest() {
	p.dst = append(p.dst, '\n')
	if len(p.x.Equal) > 0 {
		var names []string
		for _, a := range p.x.Equal {
			names = append(names, strings.ReplaceAll(a.String(), "_", " "))
		}
		p.writeLine(0, "Equal: %s.", strings.Join(names, ", "))
	}
	if _, n := p.shown(); n > 0 {
		p.writeLine(0, "%s, too: -v lists them.", digits.Counted(uint64(n), "value differs", "values differ"))
	}
	if len(p.x.Uncompared) > 0 {
		p.writeLine(0, "Not compared: %s.", display.AppendVisible(nil, []byte(strings.Join(p.x.Uncompared, "; "))))
	}
	if p.x.Unkept > 0 {
		p.writeLine(0, "There was no room for %s.", digits.Counted(p.x.Unkept, "field or name", "fields and names"))
	}
}
