package manual

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"qsniff/dissect/finding"
	"qsniff/internal/flood"
)

// Finding is one kind of finding.
type Finding struct {
	ID        string `json:"id"`
	Severity  string `json:"severity"`
	Fault     string `json:"fault"`
	Seen      string `json:"seen"`
	Means     string `json:"means"`
	Owner     string `json:"owner"`
	Client    string `json:"client"`
	Do        string `json:"do"`
	Reference string `json:"reference,omitempty"`
}

// Findings returns codes in the order of their ids. Each code is listed once, however many
// stages declare that they raise it.
func Findings(codes []*finding.Code) []Finding {
	var fs []Finding
	for _, c := range codes {
		fs = append(fs, Finding{ID: c.ID, Severity: c.Severity.String(), Fault: c.Fault.String(),
			Seen: toSentence(c.Seen), Means: toSentence(c.Means), Owner: toSentence(c.Owner), Client: toSentence(c.Client), Do: c.Do(), Reference: c.Ref})
	}
	slices.SortFunc(fs, func(a, b Finding) int { return strings.Compare(a.ID, b.ID) })
	return slices.CompactFunc(fs, func(a, b Finding) bool { return a.ID == b.ID })
}

// toSentence returns s with a capital at the beginning and a full stop at the end.
func toSentence(s string) string {
	if s == "" {
		return ""
	}
	r, n := utf8.DecodeRuneInString(s)
	s = string(unicode.ToUpper(r)) + s[n:]
	if !strings.HasSuffix(s, ".") {
		s += "."
	}
	return s
}

// Kind is one kind of incident that qsniff floods reports.
type Kind struct {
	ID    string `json:"id"`
	Code  string `json:"code"`
	Level string `json:"level"`
	What  string `json:"what"`
	Apart string `json:"apart"`
	Do    string `json:"do"`
}

// Kinds returns the kinds of incidents, alerts first.
func Kinds() []Kind {
	var all []Kind
	for level := flood.Alert; ; level-- {
		for k := flood.NoKind + 1; k < flood.NumKinds; k++ {
			if d := k.Doc(); k.Level() == level {
				all = append(all, Kind{ID: k.String(), Code: d.Code, Level: level.String(), What: d.What, Apart: d.Apart, Do: d.Do})
			}
		}
		if level == flood.Info {
			return all
		}
	}
}

// Find returns what has an id, the finding first, and the function that writes it for
// people: kinds of incidents can share an id, also with a finding. ids are all that there are.
func Find(all []Finding, kinds []Kind, id string) (rows []any, write func(dst []byte, width int) []byte, ids []string) {
	var parts []func([]byte, int) []byte
	add := func(row any, part func([]byte, int) []byte) {
		rows, parts = append(rows, row), append(parts, part)
	}
	for i := range all {
		if ids = append(ids, all[i].ID); strings.EqualFold(all[i].ID, id) {
			add(all[i], func(dst []byte, width int) []byte { return AppendFinding(dst, &all[i], width) })
		}
	}
	for i := range kinds {
		if ids = append(ids, kinds[i].ID); !slices.Contains(ids, kinds[i].Code) {
			ids = append(ids, kinds[i].Code)
		}
		if strings.EqualFold(kinds[i].ID, id) || strings.EqualFold(kinds[i].Code, id) {
			add(kinds[i], func(dst []byte, width int) []byte { return AppendKind(dst, &kinds[i], width) })
		}
	}
	return rows, func(dst []byte, width int) []byte {
		for i, part := range parts {
			if i > 0 {
				dst = append(dst, '\n')
			}
			dst = part(dst, width)
		}
		return dst
	}, ids
}
