package manual

import (
	"strings"
)

// AppendFields appends sections of fields for a terminal of width cells.
func AppendFields(dst []byte, sections []Section[Field], width int) []byte {
	for i, s := range sections {
		t := table{head: []string{"FIELD", "TYPE", "MEANING"}}
		for _, f := range s.Rows {
			t.add(f.Name, f.Kind, f.Meaning())
		}
		dst = appendSection(dst, i, s.Name, s.Doc, &t, width)
	}
	t, done := table{head: []string{"TYPE", "IN FILTERS", "OPERATORS", "VALUES"}}, map[string]bool{}
	for _, f := range Rows(sections) {
		label := f.Kind
		for _, flag := range f.Flags {
			if flag == "secret" || flag == "size" { // filters see another type
				label += " [" + flag + "]"
			}
		}
		if x := f.Filter; x != nil && !done[label] {
			done[label] = true
			t.add(label, x.Name, strings.Join(x.Operators, " "), x.Example)
		}
	}
	if len(t.rows) == 0 {
		return dst
	}
	return appendSection(dst, len(sections), "in filters", "what -Y compares these with", &t, width)
}

// Meaning returns the field's line of documentation with unit, flags and named values.
func (f *Field) Meaning() string {
	var b strings.Builder
	b.WriteString(f.Doc)
	if f.Unit != "" && !strings.HasSuffix(f.Doc, " "+f.Unit) {
		b.WriteString(", in " + f.Unit)
	}
	if len(f.Flags) > 0 {
		b.WriteString(" [" + strings.Join(f.Flags, ", ") + "]")
	}
	if len(f.Values) > 0 {
		b.WriteString("; " + f.ValueList())
	}
	return b.String()
}

// ValueList returns the named values as "0: public; 1: password". Values with the same name
// are one item. Names alone are "one of request, reply".
func (f *Field) ValueList() string {
	var parts []string
	if f.Values[0].Name == f.Values[0].Value {
		for _, v := range f.Values {
			parts = append(parts, v.Name)
		}
		return "one of " + strings.Join(parts, ", ")
	}
	done := map[string]bool{}
	for _, v := range f.Values {
		if done[v.Name] {
			continue
		}
		done[v.Name] = true
		var same []string
		for _, w := range f.Values {
			if w.Name == v.Name {
				same = append(same, w.Value)
			}
		}
		parts = append(parts, strings.Join(same, ", ")+": "+v.Name)
	}
	return strings.Join(parts, "; ")
}

// AppendMessages appends sections of message types.
func AppendMessages(dst []byte, sections []Section[Message], width int) []byte {
	for i, s := range sections {
		t := table{head: []string{"MESSAGE", "DIRECTION", "MEANING"}}
		for _, m := range s.Rows {
			t.add(m.Name, m.Direction, m.Doc)
		}
		dst = appendSection(dst, i, s.Name, s.Doc, &t, width)
	}
	return dst
}

// AppendFindings appends the table of all findings.
func AppendFindings(dst []byte, fs []Finding, width int) []byte {
	t := table{head: []string{"FINDING", "SEVERITY", "FAULT", "SEEN"}}
	for _, f := range fs {
		t.add(f.ID, f.Severity, f.Fault, f.Seen)
	}
	return t.append(dst, width)
}

// AppendFinding appends all that is declared about one finding.
func AppendFinding(dst []byte, f *Finding, width int) []byte {
	dst = append(dst, f.ID+"  "+f.Severity+", fault: "+f.Fault+"\n"...)
	about := [][2]string{{"seen", f.Seen}, {"means", f.Means}, {"do", f.Do}}
	if f.Reference != "" {
		about = append(about, [2]string{"see", f.Reference})
	}
	return appendAbout(dst, width, about)
}

// appendAbout appends pairs of a word and a text, one under the other.
func appendAbout(dst []byte, width int, pairs [][2]string) []byte {
	t := table{head: []string{"", ""}}
	for _, x := range pairs {
		t.add(x[0], x[1])
	}
	starts, at := t.columns()
	for _, r := range t.rows {
		dst = appendRow(dst, r, starts, at, width)
	}
	return dst
}

// AppendKinds appends the table of all kinds of incidents.
func AppendKinds(dst []byte, ks []Kind, width int) []byte {
	t := table{head: []string{"INCIDENT", "ID", "LEVEL", "WHAT"}}
	for _, k := range ks {
		t.add(k.ID, k.Code, k.Level, k.What)
	}
	return t.append(dst, width)
}

// AppendKind appends all that explains one kind of incidents.
func AppendKind(dst []byte, k *Kind, width int) []byte {
	dst = append(dst, k.ID+"  "+k.Code+"  "+k.Level+", incident of qsniff floods\n"...)
	dst = appendAbout(dst, width, [][2]string{{"what", k.What}, {"apart", k.Apart}, {"do", k.Do}})
	return append(dst, "  rules and thresholds: qsniff floods --explain\n"...)
}

// AppendLimits appends the limits by package.
func AppendLimits(dst []byte, ls []Limit, width int) []byte {
	for i := 0; i < len(ls); {
		t := table{head: []string{"LIMIT", "VALUE", "REASON"}}
		first := i
		for ; i < len(ls) && ls[i].Package == ls[first].Package; i++ {
			t.add(ls[i].Name, ls[i].Value, ls[i].Why)
		}
		dst = appendSection(dst, first, ls[first].Package, "", &t, width)
	}
	return dst
}

// appendSection appends a heading and the table under it, after an empty line unless it is
// the first section.
func appendSection(dst []byte, i int, name, doc string, t *table, width int) []byte {
	if i > 0 {
		dst = append(dst, '\n')
	}
	if doc != "" {
		name += ": " + doc
	}
	for _, line := range wrap(name, min(width, mostProse)) {
		dst = append(append(dst, line...), '\n')
	}
	return t.append(dst, width)
}
