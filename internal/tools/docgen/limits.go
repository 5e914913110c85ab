package docgen

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/constant"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"qsniff/internal/render/manual"
)

// unlisted are folders whose limits are not those of a user's run: shared pieces have the limits of their callers.
var unlisted = []string{"internal/base", "internal/test", "internal/tools"}

// mark begins the comment of a constant, or of a declaration of several, that is a limit.
const mark = "limit:"

// Limits returns the limits of the program with the comments that give the reasons, by package: the constants
// whose comment begins with mark, and those of files limits.go. It fails if one has no reason or no value.
func Limits(module string) ([]manual.Limit, error) {
	var dirs []string
	err := filepath.WalkDir(module, func(p string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(module, p)
		dir := filepath.ToSlash(filepath.Dir(rel))
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "testdata" || slices.Contains(unlisted, filepath.ToSlash(rel))):
			return filepath.SkipDir
		case d.IsDir(), filepath.Ext(p) != ".go", strings.HasSuffix(p, "_test.go"), slices.Contains(dirs, dir):
			return nil
		}
		src, err := os.ReadFile(p)
		if d.Name() == limitsFile || bytes.Contains(src, []byte("// "+mark)) {
			dirs = append(dirs, dir)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	r := &reader{module: module, fset: token.NewFileSet(), seen: map[string]*types.Package{}}
	r.std = importer.ForCompiler(r.fset, "source", nil)
	slices.Sort(dirs)
	var all []manual.Limit
	for _, dir := range dirs {
		ls, err := r.readLimits(dir)
		if err != nil {
			return nil, err
		}
		all = append(all, ls...)
	}
	return all, nil
}

// limitsFile holds nothing but limits, without marks.
const limitsFile = "limits.go"

// reader evaluates constants. It is an importer of this module's packages, and of
// those of the standard library that constants are made of.
type reader struct {
	module string
	fset   *token.FileSet
	std    types.Importer
	seen   map[string]*types.Package
}

func (r *reader) Import(name string) (*types.Package, error) {
	if dir, ours := strings.CutPrefix(name, "qsniff/"); ours {
		if r.seen[dir] == nil {
			if _, err := r.checkPackage(dir); err != nil {
				return nil, err
			}
		}
		return r.seen[dir], nil
	}
	if name == "time" {
		return r.std.Import(name)
	}
	return nil, errors.New("no constant of it is a limit")
}

// checkPackage reads the package in a folder of the module, without the bodies of its
// functions. Imports from other modules stay unresolved.
func (r *reader) checkPackage(dir string) ([]*ast.File, error) {
	at := filepath.Join(r.module, filepath.FromSlash(dir))
	pkg, err := build.ImportDir(at, 0)
	if err != nil {
		return nil, err
	}
	var files []*ast.File
	for _, name := range append(pkg.GoFiles, pkg.CgoFiles...) {
		f, err := parser.ParseFile(r.fset, filepath.Join(at, name), nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	conf := types.Config{Importer: r, IgnoreFuncBodies: true, FakeImportC: true, Error: func(error) {}}
	// Errors are those of the unknown imports; a limit that needs one is reported.
	r.seen[dir], _ = conf.Check("qsniff/"+dir, r.fset, files, nil)
	return files, nil
}

func (r *reader) readLimits(dir string) ([]manual.Limit, error) {
	files, err := r.checkPackage(dir)
	if err != nil {
		return nil, err
	}
	var all []manual.Limit
	for _, f := range files {
		isAll := path.Base(filepath.ToSlash(r.fset.Position(f.Pos()).Filename)) == limitsFile
		for _, decl := range f.Decls {
			if g, ok := decl.(*ast.GenDecl); ok && g.Tok == token.CONST {
				ls, err := r.readGroup(dir, g, isAll)
				if err != nil {
					return nil, err
				}
				all = append(all, ls...)
			}
		}
	}
	return all, nil
}

// readGroup reads the limits of one const declaration, all of it or what is marked. A constant without a comment
// shares the comment of the one above it, or that of the declaration: its reason refers to the first constant that
// has it.
func (r *reader) readGroup(dir string, g *ast.GenDecl, isAll bool) ([]manual.Limit, error) {
	var all []manual.Limit
	why, isGroup := strings.CutPrefix(g.Doc.Text(), mark)
	isMarked := false
	for _, s := range g.Specs {
		spec := s.(*ast.ValueSpec)
		if text := spec.Doc.Text() + spec.Comment.Text(); text != "" {
			why, isMarked = strings.CutPrefix(text, mark)
		}
		if !isAll && !isGroup && !isMarked {
			continue
		}
		why = strings.TrimSpace(why)
		if why == "" {
			return nil, fmt.Errorf("%s: a limit without a reason", r.fset.Position(spec.Pos()))
		}
		for i, name := range spec.Names {
			c, ok := r.seen[dir].Scope().Lookup(name.Name).(*types.Const)
			if !ok || c.Val().Kind() == constant.Unknown {
				return nil, fmt.Errorf("%s: the value of %s is not known", r.fset.Position(name.Pos()), name.Name)
			}
			l := manual.Limit{Package: strings.TrimPrefix(dir, "internal/"), Name: name.Name, Number: json.Number(c.Val().ExactString()), Why: strings.Join(strings.Fields(why), " ")}
			l.Value = formatValue(c, spec.Values[i])
			all = append(all, l)
			if !strings.HasPrefix(why, "see ") {
				why = "see " + name.Name
			}
		}
	}
	return all, nil
}

// formatValue writes a value in the unit of its declaration: one made from package time
// is a duration, one shifted by 10, 20 or 30 bits a number of bytes.
func formatValue(c *types.Const, expr ast.Expr) string {
	n, exact := constant.Int64Val(c.Val())
	text := types.ExprString(expr)
	if strings.Contains(text, "time.") {
		return time.Duration(n).String()
	}
	for _, u := range []struct {
		shift string
		bits  int
		unit  string
	}{{"<< 30", 30, "GiB"}, {"<< 20", 20, "MiB"}, {"<< 10", 10, "KiB"}} {
		if exact && strings.HasSuffix(text, u.shift) {
			return fmt.Sprintf("%d %s", n>>u.bits, u.unit)
		}
	}
	digits := c.Val().ExactString()
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

func limitsPage(ls []manual.Limit) []byte {
	var b bytes.Buffer
	b.WriteString("# Limits\n\n" + notice)
	b.WriteString("What bounds memory, work and lengths, by package, with the reason for each value. Tables of a run scale with\n`--memory`. `qsniff version --limits` lists the same.\n")
	pkg := ""
	for _, l := range ls {
		if l.Package != pkg {
			pkg = l.Package
			fmt.Fprintf(&b, "\n## %s\n\n", pkg)
			writeHead(&b, "limit", "value", "reason")
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", code(l.Name), l.Value, escapeCell(l.Why))
	}
	return b.Bytes()
}

func limitsData(ls []manual.Limit) []byte {
	b := bytes.NewBufferString("[\n")
	for i, l := range ls {
		if i > 0 {
			b.WriteString(",\n")
		}
		enc, err := json.Marshal(l)
		if err != nil {
			panic(err) // strings, and a number that came from one
		}
		b.Write(enc)
	}
	b.WriteString("\n]\n")
	return b.Bytes()
}
