package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// addLong adds to the arguments of go test what runs the tests that do less with -short, and no others: -run with
// their names, and their packages, which are below root. A name that two packages have is run in both.
func addLong(args []string, root string) ([]string, error) {
	long, err := findLong(root)
	if err != nil {
		return nil, err
	}
	if len(long) == 0 {
		return nil, fmt.Errorf("no test in %s asks for testing.Short", root)
	}
	args = append(args, "-run", "^("+strings.Join(slices.Sorted(maps.Keys(namesIn(long))), "|")+")$")
	for _, dir := range slices.Sorted(maps.Keys(long)) {
		args = append(args, "./"+filepath.ToSlash(dir))
	}
	return args, nil
}

// longNames returns the names of the tests that do less with -short.
func longNames(root string) (map[string]bool, error) {
	long, err := findLong(root)
	return namesIn(long), err
}

func namesIn(long map[string][]string) map[string]bool {
	names := map[string]bool{}
	for _, tests := range long {
		for _, name := range tests {
			names[name] = true
		}
	}
	return names
}

// findLong returns by folder below root which tests do less with -short.
func findLong(root string) (map[string][]string, error) {
	uses := map[string]map[string]map[string]bool{}
	fset := token.NewFileSet()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "node_modules"):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		if uses[dir] == nil {
			uses[dir] = map[string]map[string]bool{}
		}
		addUses(uses[dir], file)
		return nil
	})
	if err != nil {
		return nil, err
	}
	long := map[string][]string{}
	for dir, byName := range uses {
		for _, name := range slices.Sorted(maps.Keys(byName)) {
			isTest := strings.HasPrefix(name, "Test") && name != "TestMain" || strings.HasPrefix(name, "Fuzz")
			if isTest && reaches(byName, name, map[string]bool{}) {
				long[dir] = append(long[dir], name)
			}
		}
	}
	return long, nil
}

// short is the name for a call of testing.Short among what a function uses. It is no identifier.
const short = "testing.Short"

// addUses adds what the functions of a file use, by their names, and what types use: all that their methods do. A local
// name that is a function's, too, counts as that: a test too many is run, and none is missed.
func addUses(byName map[string]map[string]bool, file *ast.File) {
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Body == nil {
			continue
		}
		name := f.Name.Name
		if f.Recv != nil {
			name = receiver(f.Recv.List[0].Type)
		}
		if byName[name] == nil {
			byName[name] = map[string]bool{}
		}
		addNames(byName[name], f.Type)
		addNames(byName[name], f.Body)
	}
}

// receiver returns the name of the type of a method.
func receiver(e ast.Expr) string {
	for {
		switch x := e.(type) {
		case *ast.StarExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.IndexListExpr:
			e = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}

// addNames adds the names in a node that can be of a function or a type, those of other packages among them: export_test.go
// is another package to the tests beside it.
func addNames(used map[string]bool, node ast.Node) {
	ast.Inspect(node, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok {
				used[short] = used[short] || x.Name == "testing" && n.Sel.Name == "Short"
				used[n.Sel.Name] = used[n.Sel.Name] || n.Sel.IsExported()
			}
			addNames(used, n.X)
			return false
		case *ast.KeyValueExpr:
			if _, ok := n.Key.(*ast.Ident); ok { // a member of a struct
				addNames(used, n.Value)
				return false
			}
		case *ast.Ident:
			used[n.Name] = true
		}
		return true
	})
}

// reaches reports whether a function, or one that it uses, calls testing.Short.
func reaches(byName map[string]map[string]bool, name string, seen map[string]bool) bool {
	if byName[name][short] {
		return true
	}
	seen[name] = true
	for used, is := range byName[name] {
		if is && byName[used] != nil && !seen[used] && reaches(byName, used, seen) {
			return true
		}
	}
	return false
}
