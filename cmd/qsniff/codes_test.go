package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"qsniff/dissect/protocols"
)

// TestCodes: every finding that is declared anywhere can be explained, and is
// declared once.
func TestCodes(t *testing.T) {
	reg := protocols.NewRegistry()
	listed := map[string]bool{}
	for _, c := range listCodes(reg) {
		listed[c.ID] = true
		if c.Seen == "" || c.Means == "" {
			t.Errorf("%s: seen or means is empty", c.ID)
		}
	}
	declared := declaredCodes(t)
	if len(declared) < 20 {
		t.Errorf("only %d findings found in the sources", len(declared))
	}
	for id, places := range declared {
		if !listed[id] {
			t.Errorf("%s, declared at %s, is not in the list of codes", id, places[0])
		}
		if len(places) > 1 {
			t.Errorf("%s is declared at %v", id, places)
		}
	}
	for id := range listed {
		if declared[id] == nil {
			t.Errorf("%s is listed, and declared nowhere", id)
		}
	}
}

// TestAdvice: each finding says what the server's owner does and what a tolerant client does, in words of
// its own; where one of them has nothing to do it says why, or when.
func TestAdvice(t *testing.T) {
	says := map[string]string{}
	for _, c := range listCodes(protocols.NewRegistry()) {
		for who, advice := range map[string]string{"owner": c.Owner, "client": c.Client} {
			place, text := c.ID+", "+who, strings.ToLower(advice)
			if n := len(strings.Fields(text)); n < 4 || strings.HasPrefix(text, "nothing") && n < 5 {
				t.Errorf("%s: %q is no advice, and no reason why there is none", place, advice)
			}
			if other := says[text]; other != "" && other != place {
				t.Errorf("%s: %q is what %s says", place, advice, other)
			}
			says[text] = place
		}
	}
}

// declaredCodes reads the ids of all finding.Code literals of the program.
func declaredCodes(t *testing.T) map[string][]token.Position {
	t.Helper()
	found := map[string][]token.Position{}
	fset := token.NewFileSet()
	err := filepath.WalkDir(module, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && p == filepath.Join(module, "dissect", "example") {
			return filepath.SkipDir // a template, and no part of the program
		}
		if err != nil || d.IsDir() || !strings.HasSuffix(p, ".go") || strings.HasSuffix(p, "_test.go") {
			return err
		}
		f, err := parser.ParseFile(fset, p, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if lit, ok := n.(*ast.CompositeLit); ok && isCode(lit.Type) {
				id := idOf(lit)
				if id == "" {
					t.Errorf("%s: a finding without an id", fset.Position(lit.Pos()))
				}
				found[id] = append(found[id], fset.Position(lit.Pos()))
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func isCode(e ast.Expr) bool {
	sel, ok := e.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != "Code" {
		return false
	}
	pkg, ok := sel.X.(*ast.Ident)
	return ok && pkg.Name == "finding"
}

func idOf(lit *ast.CompositeLit) string {
	for _, e := range lit.Elts {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		key, ok := kv.Key.(*ast.Ident)
		value, isText := kv.Value.(*ast.BasicLit)
		if ok && isText && key.Name == "ID" {
			id, _ := strconv.Unquote(value.Value)
			return id
		}
	}
	return ""
}
