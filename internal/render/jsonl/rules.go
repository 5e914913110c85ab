package jsonl

import "qsniff/internal/flood"

// AppendRules appends all thresholds, rules and features as one object on a line.
func AppendRules(dst []byte, r *flood.Explanation) []byte {
	w := writer{dst: dst}
	w.open('{')
	w.uint("schema", schema)
	w.list("thresholds", len(r.Settings), func(i int) {
		s := &r.Settings[i]
		w.text("name", s.Name)
		w.text("value", unquoteSetting(s.Value))
		w.text("default", unquoteSetting(s.Default))
		w.text("doc", s.Doc)
	})
	w.list("rules", len(r.Rules), func(i int) { w.writeRule(&r.Rules[i]) })
	w.list("features", len(r.Meanings), func(i int) {
		w.text("name", r.Meanings[i].Name)
		w.text("doc", r.Meanings[i].Text)
	})
	w.close('}')
	return append(w.dst, '\n')
}

func (w *writer) writeRule(r *flood.RuleDoc) {
	w.text("name", r.Name)
	if r.Kind != 0 {
		w.text("level", r.Level.String())
	}
	w.text("doc", r.Meaning)
	w.list("needs", len(r.Needs), func(i int) {
		n := &r.Needs[i]
		if n.Feature != "" {
			w.text("feature", n.Feature)
		}
		w.text("is", n.Comparison)
		w.float("value", n.Value)
		if n.Setting != "" {
			w.text("threshold", n.Setting)
		}
		w.text("doc", n.Text)
	})
	w.list("signs", len(r.Signs), func(i int) {
		w.float("points", r.Signs[i].Points)
		w.text("doc", r.Signs[i].Text)
	})
}

// unquoteSetting returns a value without the quotation marks that durations have in files.
func unquoteSetting(s string) string {
	if n := len(s); n > 1 && s[0] == '"' {
		return s[1 : n-1]
	}
	return s
}
