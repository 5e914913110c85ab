package text

import (
	"fmt"

	"qsniff/internal/flood"
)

// AppendRules appends all rules with their conditions, all thresholds, and the features
// that are measured.
func AppendRules(dst []byte, r *flood.Explanation, opt Options) []byte {
	p := statsPage{dst: dst, opt: opt.withDefaults()}
	p.writeLine(0, "Each second, the queries to each server that is asked much are measured and held against these rules; the first that fits is the kind of the incident. "+
		"Thresholds are set in a file: qsniff floods --explain -o toml prints one, qsniff floods --thresholds FILE reads it.")
	for i := range r.Rules {
		rule := &r.Rules[i]
		name := rule.Name
		if rule.Kind != 0 {
			name = fmt.Sprintf("%s (%s)", rule.Name, rule.Level)
		}
		p.writeTitle(name, rule.Meaning)
		p.writeTable(needsTable(rule, nil))
		p.writeSigns(rule)
	}
	p.writeThresholds(r.Settings)
	t := table{columns: []column{{"FEATURE", true, 0}}, hasProse: true}
	for _, m := range r.Meanings {
		t.rows = append(t.rows, tableRow{cells: []string{m.Name}, note: m.Text})
	}
	p.writeTitle("Features", "what is measured, by its name in --explain -o json; a window is the last 10 to 20 s, shares are parts of 1")
	p.writeTable(&t)
	return p.dst
}

// writeSigns writes the signs of a rule, whose points are added up.
func (p *statsPage) writeSigns(rule *flood.RuleDoc) {
	if len(rule.Signs) == 0 {
		return
	}
	p.writeLine(tableIndent, "Points:")
	t := table{columns: []column{{"", false, 0}}, hasProse: true}
	for _, s := range rule.Signs {
		t.rows = append(t.rows, tableRow{cells: []string{fmt.Sprintf("%+g", s.Points)}, note: s.Text})
	}
	p.writeTable(&t)
}

// writeThresholds writes the thresholds, with the defaults beside them if any is changed.
func (p *statsPage) writeThresholds(all []flood.Setting) {
	t := table{columns: []column{{"THRESHOLD", true, 0}, {"VALUE", false, 0}, {"DEFAULT", false, 0}}, hasProse: true}
	changed := false
	for _, s := range all {
		row := tableRow{cells: []string{s.Name, s.Value, s.Default}, note: s.Doc}
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
	p.writeTitle("Thresholds", "rates are per second")
	p.writeTable(&t)
}
