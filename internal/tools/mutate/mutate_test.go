package main

import (
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFindMutants: which changes are made of each kind of syntax, and that each can be parsed.
func TestFindMutants(t *testing.T) {
	const src = `package p

const limit = 10

func (x *T) f(a, b int) (n int, err error) {
	if a < b && x.ok {
		x.n++
		return 0, nil
	}
	if !x.ok {
		x.stop()
	}
	x.n = a + b
	return
}

// limit: most stays as it is.
const most = 10
`
	found, err := findMutants("p.go", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range found {
		got = append(got, m.String())
		changed := src[:m.from] + m.new + src[m.to:]
		if _, err := parser.ParseFile(token.NewFileSet(), "p.go", changed, 0); err != nil {
			t.Errorf("%s: %v", &m, err)
		}
		if m.line > 3 && !strings.HasPrefix(m.key(), "p.go\t*T.f\t") {
			t.Errorf("key %q", m.key())
		}
	}
	want := []string{
		"p.go:3: constant: 10 -> 11",
		"p.go:3: constant: 10 -> 9",
		"p.go:6: operator: a < b && x.ok -> a < b || x.ok",
		"p.go:6: operator: a < b -> a <= b",
		"p.go:6: operator: a < b -> a >= b",
		"p.go:7: statement: x.n++ -> {}",
		"p.go:8: constant: 0 -> 1",
		"p.go:10: condition: !x.ok -> !(!x.ok)",
		"p.go:11: statement: x.stop() -> {}",
		"p.go:13: statement: x.n = a + b -> {}",
		"p.go:13: operator: a + b -> a - b",
		"p.go:6: return:  -> return *new(int), *new(error);",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("mutants (-want +got):\n%s", diff)
	}
}

// TestEquivalent: each line of the list names a mutant that there is.
func TestEquivalent(t *testing.T) {
	t.Chdir("../../..")
	keys := map[string]bool{}
	for _, group := range groups {
		all, err := mutantsOf(group, "")
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range all {
			keys[m.key()] = true
		}
	}
	for key, reason := range equivalents() {
		if !keys[key] || reason == "" {
			t.Errorf("%q: no such mutant, or no reason", key)
		}
	}
}
