package filter

import (
	"slices"
	"strings"

	"qsniff/dissect"
)

// Complete returns the expressions that begin with prefix and go on with one more word: a
// field, or after one an operator, or after that a value. Each begins with prefix, but for
// the case of letters.
func Complete(prefix string, reg *dissect.Registry, o Options) []string {
	s := newScope(reg, o)
	tokens, word := tokensBefore(prefix)
	head := prefix[:len(prefix)-len(word)]
	var all []string
	for _, c := range s.candidates(tokens) {
		if len(c) >= len(word) && strings.EqualFold(c[:len(word)], word) && c != word {
			all = append(all, head+c)
		}
	}
	slices.Sort(all)
	return all
}

// tokensBefore returns the tokens of an unfinished expression, without the word that it ends
// with, which may be a quoted text without its end.
func tokensBefore(prefix string) (all []token, word string) {
	for i := 0; ; {
		t, err := scan(prefix, i)
		switch {
		case err != nil:
			return all, prefix[min(err.From, len(prefix)):]
		case t.kind == endToken:
			return all, ""
		case t.to == len(prefix) && t.kind == wordToken:
			return all, t.text
		}
		all, i = append(all, t), t.to
	}
}

// Words that can follow.
var (
	beforeField = []string{"not", "any", "all", "count(", "len(", "lower(", "upper("}
	afterValue  = []string{"and", "or", "xor"}
)

// candidates returns what can follow tokens.
func (s *scope) candidates(tokens []token) []string {
	n := len(tokens)
	if n == 0 {
		return slices.Concat(s.names, beforeField)
	}
	p := parser{next: tokens[n-1]}
	switch op := p.op(); {
	case op == "in":
		return []string{"{"}
	case comparisons[op], op == "..", op == "{", op == ",":
		return s.valuesAfter(tokens[:n-1])
	case op == "]" || op == ")" && (n < 3 || s.lookup(tokens[n-2].text) == nil):
		return slices.Concat(types[text].Operators, afterValue)
	case op == "}" || op == ")":
		return slices.Concat(afterValue, types[unsigned].Operators)
	case op != "":
		return slices.Concat(s.names, beforeField)
	}
	p.next = token{}
	if n > 1 {
		p.next = tokens[n-2]
	}
	f := s.lookup(tokens[n-1].text)
	if f == nil || comparisons[p.op()] {
		return afterValue
	}
	return slices.Concat(types[f.typ].Operators, afterValue)
}

// valuesAfter returns the values of the field before the last operator in tokens.
func (s *scope) valuesAfter(tokens []token) (all []string) {
	for i := len(tokens) - 1; i >= 0; i-- {
		f := s.lookup(tokens[i].text)
		if tokens[i].kind != wordToken || f == nil || i > 0 && isValuePlace(tokens[i-1]) {
			continue
		}
		if f.typ == boolean {
			return []string{"true", "false"}
		}
		for _, v := range s.valueNames(f) {
			if strings.Trim(v, wordBytes) != "" {
				v = `"` + v + `"`
			}
			all = append(all, v)
		}
		return all
	}
	return nil
}

// isValuePlace reports whether what follows t is a value.
func isValuePlace(t token) bool {
	p := parser{next: t}
	return comparisons[p.op()] || slices.Contains([]string{"{", ",", ".."}, p.op())
}

// wordBytes are those that names of values have where they need no quotes.
const wordBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
