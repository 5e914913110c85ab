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

// maxFloors is how many floors the drawing may have. Chosen: what a reader sees at once.
const maxFloors = 9

// readFloors reads the drawing in ARCHITECTURE.md: the floor of each room, 1 for that on top.
func readFloors(t *testing.T) map[string]int {
	t.Helper()
	_, drawing, _ := strings.Cut(readPage(t, pages[0]), "```levels\n")
	drawing, _, _ = strings.Cut(drawing, "```")
	floors := map[string]int{}
	lines := strings.Split(strings.TrimSpace(drawing), "\n")
	for i, line := range lines {
		for _, name := range strings.Fields(line) {
			floors[name] = i + 1
		}
	}
	if len(floors) < 2 || len(lines) > maxFloors {
		t.Fatalf("the drawing has %d rooms on %d floors, more than %d of these or none", len(floors), len(lines), maxFloors)
	}
	return floors
}

// roomOf returns the room of the drawing that the package in dir is in, the innermost if one room is
// within another, empty if none is.
func roomOf(floors map[string]int, dir string) string {
	for ; dir != "."; dir = path.Dir(dir) {
		if floors[dir] > 0 {
			return dir
		}
	}
	return ""
}

const sharedPieces = "internal/base/"

// goesDown reports whether the arrow from the package in dir to target stays in a room or goes to a lower
// floor. The shared pieces lie below all rooms and import none.
func goesDown(floors map[string]int, dir, target string) bool {
	if strings.HasPrefix(target, sharedPieces) {
		return true
	}
	from, to := roomOf(floors, dir), roomOf(floors, target)
	return from != "" && to != "" && (from == to || floors[to] > floors[from])
}

// TestLevels: packages import those of rooms on lower floors of the drawing in ARCHITECTURE.md, and
// all packages are in it and in the map. One row of the map can stand for the folders of a folder.
func TestLevels(t *testing.T) {
	page, floors := readPage(t, pages[0]), readFloors(t)
	inMap := func(dir string) bool { return strings.Contains(page, "\n| `"+dir+"` |") }
	seen := map[string]bool{}
	eachGoFile(t, func(dir, file string, test bool) {
		if test || strings.HasPrefix(dir, "internal/test/") || strings.HasPrefix(dir, "internal/tools/") || dir == "findings" {
			return
		}
		room := roomOf(floors, dir)
		if !seen[dir] && !inMap(dir) && !inMap(path.Dir(dir)+"/*") {
			t.Errorf("%s is not in the map", dir)
		}
		seen[dir], seen[room] = true, true
		if room == "" && !strings.HasPrefix(dir, sharedPieces) {
			t.Errorf("%s is in no room of the drawing", dir)
			return
		}
		for _, imp := range readImports(t, file) {
			if target, ours := strings.CutPrefix(imp, module+"/"); ours && !goesDown(floors, dir, target) {
				t.Errorf("%s: the arrow from %s to %s does not go down", file, dir, target)
			}
		}
	})
	for name := range floors {
		if !seen[name] {
			t.Errorf("the drawing has %s, which is not there", name)
		}
	}
	if n := strings.Count(page, "\n"); n > 250 {
		t.Errorf("%s has %d lines, more than anybody reads", pages[0], n)
	}
}

// TestGoesDown: what the drawing forbids and allows.
func TestGoesDown(t *testing.T) {
	floors := readFloors(t)
	for _, tc := range []struct {
		dir, target string
		want        bool
	}{
		{"cmd/qsniff", "internal/app/top", true},
		{"internal/app/top", "internal/monitor", true},
		{"internal/fleet/messenger", "internal/monitor/notify", true},
		{"internal/monitor/notify", "internal/fleet/outbox", false},
		{"internal/app/mcp", "internal/fleet", false}, // on the same floor
		{"internal/render/text", "internal/track/diff", true},
		{"internal/render", "internal/app/cli", false},
		{"internal/render", "internal/pipeline", false},
		{"internal/flood/rules/nft", "internal/flood", true},
		{"internal/flood/rules/nft", "internal/render", false},
		{"internal/track", "internal/flood", false},
		{"internal/track/diff", "capture/packet", true},
		{"reassembly/split", "dissect/finding", true},
		{"reassembly/split", "dissect", false},
		{"capture/live", "internal/base/mem", true},
		{"internal/base/lru", "internal/base/mem", true},
		{"internal/base/lru", "capture", false},
	} {
		if got := goesDown(floors, tc.dir, tc.target); got != tc.want {
			t.Errorf("%s imports %s: got %v, want %v", tc.dir, tc.target, got, tc.want)
		}
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
