package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
)

// A mutant is one change of one source file.
type mutant struct {
	file     string // path from the root of the repository
	line     int
	function string // in which it lies; "" outside functions
	from, to int    // byte offsets of what is replaced
	old, new string
	kind     string
	nth      int // of those with the same change in its function, from 1 on
}

// String returns what a person needs to make the change by hand.
func (m *mutant) String() string {
	return fmt.Sprintf("%s:%d: %s: %s", m.file, m.line, m.kind, m.change())
}

// key identifies the mutant, also after lines moved, as long as its function stays as it is.
func (m *mutant) key() string {
	return fmt.Sprintf("%s\t%s\t%s\t%d", m.file, m.function, m.change(), m.nth)
}

// group returns the folder of groups that the mutant is in.
func (m *mutant) group() string {
	return groups[slices.IndexFunc(groups, func(g string) bool { return strings.HasPrefix(m.file, g+"/") })]
}

func (m *mutant) change() string {
	return brief(m.old) + " -> " + brief(m.new)
}

// brief returns the first line of source text without its indentation.
func brief(s string) string {
	s, rest, _ := strings.Cut(strings.TrimSpace(s), "\n")
	if rest != "" {
		s += " ..."
	}
	return s
}

// operators are the changes of binary operators: the boundary first, then the negation.
var operators = map[token.Token][]string{
	token.LSS:  {"<=", ">="},
	token.LEQ:  {"<", ">"},
	token.GTR:  {">=", "<="},
	token.GEQ:  {">", "<"},
	token.EQL:  {"!="},
	token.NEQ:  {"=="},
	token.LAND: {"||"},
	token.LOR:  {"&&"},
	token.ADD:  {"-"},
	token.SUB:  {"+"},
}

// isLimit reports whether doc marks a limit for docgen.
func isLimit(doc *ast.CommentGroup) bool { return strings.HasPrefix(doc.Text(), "limit:") }

// findMutants returns all mutants of a source file.
func findMutants(path string, src []byte) ([]mutant, error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, path, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var all []mutant
	function := ""
	add := func(kind string, from, to token.Pos, text string) {
		p, end := fset.Position(from), fset.Position(to)
		all = append(all, mutant{
			file:     path,
			line:     p.Line,
			function: function,
			from:     p.Offset,
			to:       end.Offset,
			old:      string(src[p.Offset:end.Offset]),
			new:      text,
			kind:     kind,
		})
	}
	source := func(n ast.Node) string {
		return string(src[fset.Position(n.Pos()).Offset:fset.Position(n.End()).Offset])
	}
	visit := func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GenDecl:
			return !isLimit(n.Doc)
		case *ast.ValueSpec:
			return !isLimit(n.Doc)
		case *ast.BinaryExpr:
			for _, op := range operators[n.Op] {
				x, y := source(n.X), source(n.Y)
				add("operator", n.Pos(), n.End(), x+" "+op+" "+y)
			}
		case *ast.IfStmt:
			if _, isBinary := n.Cond.(*ast.BinaryExpr); !isBinary {
				add("condition", n.Cond.Pos(), n.Cond.End(), "!("+source(n.Cond)+")")
			}
		case *ast.BasicLit:
			if v, err := strconv.ParseInt(n.Value, 0, 63); n.Kind == token.INT && err == nil {
				add("constant", n.Pos(), n.End(), strconv.FormatInt(v+1, 10))
				if v > 0 {
					add("constant", n.Pos(), n.End(), strconv.FormatInt(v-1, 10))
				}
			}
		case *ast.ExprStmt, *ast.IncDecStmt, *ast.BranchStmt:
			add("statement", n.Pos(), n.End(), "{}")
		case *ast.AssignStmt:
			if n.Tok != token.DEFINE {
				add("statement", n.Pos(), n.End(), "{}")
			}
		}
		return true
	}
	for _, d := range f.Decls {
		function = ""
		fn, ok := d.(*ast.FuncDecl)
		if !ok {
			ast.Inspect(d, visit)
			continue
		}
		if fn.Body == nil {
			continue
		}
		function = fn.Name.Name
		if fn.Recv != nil && len(fn.Recv.List) == 1 {
			function = source(fn.Recv.List[0].Type) + "." + function
		}
		ast.Inspect(fn.Body, visit)
		if len(fn.Body.List) > 0 {
			first := fn.Body.List[0]
			add("return", first.Pos(), first.Pos(), "return "+zeros(fn.Type.Results, source)+"; ")
		}
	}
	count := map[string]int{}
	for i := range all {
		key := all[i].key()
		count[key]++
		all[i].nth = count[key]
	}
	return all, nil
}

// zeros returns a zero value for each result, as *new(int), which needs no knowledge of types.
func zeros(results *ast.FieldList, source func(ast.Node) string) string {
	var all []string
	if results != nil {
		for _, r := range results.List {
			for range max(len(r.Names), 1) {
				all = append(all, "*new("+source(r.Type)+")")
			}
		}
	}
	return strings.Join(all, ", ")
}
