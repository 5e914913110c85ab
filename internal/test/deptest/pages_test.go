package deptest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// pages are those for who works on the code: what they name must exist.
var pages = []string{"ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md"}

func readPage(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(path.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestLevels: packages import those on lower lines of the drawing in ARCHITECTURE.md, and
// all packages are in it and in the map. One row of either can stand for the folders of a
// folder.
func TestLevels(t *testing.T) {
	page := readPage(t, pages[0])
	_, drawing, _ := strings.Cut(page, "```levels\n")
	drawing, _, _ = strings.Cut(drawing, "```")
	levels := map[string]int{}
	for i, line := range strings.Split(drawing, "\n") {
		for _, name := range strings.Fields(line) {
			levels[name] = i + 1
		}
	}
	level := func(dir string) int {
		if n := levels[dir]; n > 0 {
			return n
		}
		return levels[path.Dir(dir)+"/*"]
	}
	inMap := func(dir string) bool { return strings.Contains(page, "\n| `"+dir+"` |") }
	seen := map[string]bool{}
	eachGoFile(t, func(dir, file string, test bool) {
		if test {
			return
		}
		shared := path.Dir(dir) == "internal"
		if !seen[dir] && (shared || !strings.HasPrefix(dir, "internal/")) && !inMap(dir) && !inMap(path.Dir(dir)+"/*") {
			t.Errorf("%s is not in the map", dir)
		}
		seen[dir] = true
		if strings.HasPrefix(dir, "internal/") {
			return
		}
		if level(dir) == 0 {
			t.Errorf("%s is not in the drawing", dir)
		}
		for _, imp := range readImports(t, file) {
			target, ours := strings.CutPrefix(imp, module+"/")
			if ours && !strings.HasPrefix(target, "internal/") && level(target) <= level(dir) {
				t.Errorf("%s: the arrow from %s to %s does not go down", file, dir, target)
			}
		}
	})
	for name := range levels {
		if !seen[name] && path.Base(name) != "*" {
			t.Errorf("the drawing has %s, which is not there", name)
		}
	}
	if n := strings.Count(page, "\n"); n > 250 {
		t.Errorf("%s has %d lines, more than anybody reads", pages[0], n)
	}
}

var (
	span       = regexp.MustCompile("`([^`\n]+)`")
	ofTest     = regexp.MustCompile(`\b(?:Test|Fuzz|Benchmark)[A-Z]\w*`)
	target     = regexp.MustCompile("(?m)(?:`|^ {4})make ([a-z][a-z-]*)")
	member     = regexp.MustCompile(`\b[A-Za-z]\w*\.[A-Z]\w*`) // in drawings
	identifier = regexp.MustCompile(`^(?:[a-z0-9]+\.)?[A-Za-z]\w*(?:\.[A-Z]\w*)*$`)
)

// TestPages: the folders, files, identifiers, tests and targets that the pages name exist.
func TestPages(t *testing.T) {
	declared, files := listNames(t)
	makefile := readPage(t, "Makefile")
	names := 0
	for _, name := range pages {
		page := readPage(t, name)
		for _, test := range ofTest.FindAllString(page, -1) {
			if !declared[test] {
				t.Errorf("%s names the test %s", name, test)
			}
		}
		for _, m := range target.FindAllStringSubmatch(page, -1) {
			if !strings.Contains(makefile, "\n"+m[1]+":") {
				t.Errorf("%s names the target %s", name, m[1])
			}
		}
		var words []string
		for _, m := range span.FindAllStringSubmatch(page, -1) {
			words = append(words, m[1])
		}
		for _, word := range append(words, member.FindAllString(page, -1)...) {
			switch {
			case strings.ContainsAny(word, " <*=$"), strings.HasPrefix(word, "NAME."), strings.HasPrefix(word, "."): // commands and patterns
				continue
			case strings.Contains(word, "/") || filesOf.MatchString(word):
				if !files[strings.TrimSuffix(word, "/")] {
					t.Errorf("%s names %s, which is not there", name, word)
				}
			case identifier.MatchString(word) && strings.ToLower(word) != word:
				for part := range strings.SplitSeq(word, ".") {
					if !declared[part] && !files[part] {
						t.Errorf("%s names %s: nothing is called %s", name, word, part)
					}
				}
			default:
				continue
			}
			names++
		}
	}
	if names < 100 {
		t.Errorf("only %d names were found", names)
	}
}

var filesOf = regexp.MustCompile(`\.(?:go|md|txt|txtar|hex|json)$`)

// listNames lists all names that Go files declare, and all files and folders: by their paths,
// and by their last elements.
func listNames(t *testing.T) (declared, files map[string]bool) {
	t.Helper()
	declared, files = map[string]bool{}, map[string]bool{}
	eachGoFile(t, func(_, file string, _ bool) {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			var names []*ast.Ident
			switch n := n.(type) {
			case *ast.FuncDecl:
				names = []*ast.Ident{n.Name}
			case *ast.TypeSpec:
				names = []*ast.Ident{n.Name}
			case *ast.ValueSpec:
				names = n.Names
			case *ast.Field:
				names = n.Names
			}
			for _, id := range names {
				declared[id.Name] = true
			}
			return true
		})
	})
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == ".git" {
			err = fs.SkipDir
		}
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		files[filepath.ToSlash(rel)], files[d.Name()] = true, true
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return declared, files
}
