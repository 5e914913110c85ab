package text

import (
	"fmt"

	"qsniff/flood"
)

// AppendRules appends when what kind of flood is found, all thresholds, and what is
// measured.
func AppendRules(dst []byte, r *flood.Explanation, opt Options) []byte {
	p := statsPage{dst: dst, opt: opt.normal()}
	p.line(0, "Each second, the queries to each server that is asked much are measured and held against these rules; the first that fits is the kind of the incident. "+
		"Thresholds are set in a file: qsniff floods --explain -o toml prints one, qsniff floods --thresholds FILE reads it.")
	for i := range r.Rules {
		rule := &r.Rules[i]
		name := rule.Name
		if rule.Kind != 0 {
			name = fmt.Sprintf("%s (%s)", rule.Name, rule.Level)
		}
		p.title(name, rule.Meaning)
		p.table(needsTable(rule, nil))
		p.signs(rule)
	}
	p.settings(r.Settings)
	t := table{columns: []column{{"FEATURE", true, 0}}, prose: true}
	for _, m := range r.Meanings {
		t.rows = append(t.rows, tableRow{cells: []string{m.Name}, says: m.Text})
	}
	p.title("Features", "what is measured; a window is the last 10 to 20 s, shares are parts of 1")
	p.table(&t)
	return p.dst
}

// signs lists evidence that adds up.
func (p *statsPage) signs(rule *flood.RuleDoc) {
	if len(rule.Signs) == 0 {
		return
	}
	p.line(tableIndent, "Points:")
	t := table{columns: []column{{"", false, 0}}, prose: true}
	for _, s := range rule.Signs {
		t.rows = append(t.rows, tableRow{cells: []string{fmt.Sprintf("%+g", s.Points)}, says: s.Text})
	}
	p.table(&t)
}

// settings lists the thresholds.
func (p *statsPage) settings(all []flood.Setting) {
	t := table{columns: []column{{"THRESHOLD", true, 0}, {"VALUE", false, 0}, {"DEFAULT", false, 0}}, prose: true}
	changed := false
	for _, s := range all {
		row := tableRow{cells: []string{s.Name, s.Value, s.Default}, says: s.Doc}
		if s.Value != s.Default {
			changed, row.style = true, p.opt.Palette.name
		}
		t.rows = append(t.rows, row)
	}
	if !changed {
		t.columns = t.columns[:2]
		for i := range t.rows {
			t.rows[i].cells = t.rows[i].cells[:2]
		}
	}
	p.title("Thresholds", "rates are per second")
	p.table(&t)
}
