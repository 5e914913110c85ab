// Command typecheck reports what would not compile on other platforms: it parses packages and what they import, and checks
// types. Nothing is compiled: a platform takes ten seconds of CPU, and make cross two minutes, which finds what the
// compiler and the linker alone refuse. The package is not part of the program.
//
//	typecheck OS/ARCH[:programs]...
//
// checks all packages of this module and their tests, or the two programs with what they import.
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: typecheck OS/ARCH[:programs]...")
		os.Exit(2)
	}
	wrong := 0
	for _, platform := range os.Args[1:] {
		n, err := check(".", platform, os.Stdout)
		if err != nil {
			fmt.Fprintf(os.Stderr, "typecheck: %s: %v\n", platform, err)
			os.Exit(1)
		}
		wrong += n
	}
	if wrong > 0 {
		os.Exit(1)
	}
}

// check prints what would not compile on a platform, in the module at dir, and returns how much that is.
func check(dir, platform string, out io.Writer) (wrong int, err error) {
	system, arch, found := strings.Cut(platform, "/")
	if !found {
		return 0, fmt.Errorf("a platform is OS/ARCH")
	}
	arch, what, programs := strings.Cut(arch, ":")
	pattern := "./..."
	if programs {
		if what != "programs" {
			return 0, fmt.Errorf("%s: not programs", what)
		}
		pattern = "./cmd/..."
	}
	dir, err = filepath.Abs(dir)
	if err != nil {
		return 0, err
	}
	// armv7 is how a release calls GOARCH=arm.
	env := append(os.Environ(), "GOOS="+system, "GOARCH="+strings.TrimSuffix(arch, "v7"), "CGO_ENABLED=0")
	pkgs, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedDeps |
			packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesInfo | packages.NeedTypesSizes,
		Dir: dir, Env: env, Tests: !programs,
		ParseFile: func(fset *token.FileSet, name string, src []byte) (*ast.File, error) {
			return parse(fset, name, src, dir)
		},
	}, pattern)
	if err != nil {
		return 0, err
	}
	if len(pkgs) == 0 {
		return 0, fmt.Errorf("no packages in %s", dir)
	}
	var seen []string // a file is in a package and in the one with its tests
	packages.Visit(pkgs, nil, func(p *packages.Package) {
		if strings.HasSuffix(p.ID, ".test") { // the program that go test makes of tests
			return
		}
		for _, e := range p.Errors {
			// Without what functions do, imports of other modules are unused.
			if e.Kind != packages.ListError && !strings.HasPrefix(e.Pos, dir+string(filepath.Separator)) {
				continue
			}
			if text := e.Error(); !slices.Contains(seen, text) {
				seen = append(seen, text)
				fmt.Fprintf(out, "%s: %s\n", platform, text)
			}
		}
	})
	return len(seen), nil
}

// parse parses a file. Of those of other modules, which compile elsewhere, it leaves out what functions do.
func parse(fset *token.FileSet, name string, src []byte, dir string) (*ast.File, error) {
	if strings.HasPrefix(name, dir+string(filepath.Separator)) {
		return parser.ParseFile(fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
	}
	f, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution)
	if f == nil {
		return nil, err
	}
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok {
			fn.Body = nil
		}
	}
	return f, err
}
