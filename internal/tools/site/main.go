// Command site writes the manual as a folder of static pages: what is in docs, README.md and the other
// pages of the repository, with the output of every example, a search that takes no network,
// and the page that decodes captures in the browser. It runs in the root of the repository:
//
//	go run ./internal/tools/site -program ./qsniff -try page site
//
// The pages are written from the Markdown that the repository shows, which is made of the program's own tables
// (internal/tools/docgen). Nothing in the folder refers to anything outside of it but links that
// readers follow, and the same sources give the same bytes.
//
// # Examples
//
// A line of an indented block that runs qsniff is an example, and the site shows what it prints,
// with the files of internal/test/examples. There it must succeed: where it does not, the site is not
// built. No output is shown, and none is missing, of an example that
//
//   - needs root or a network, or runs until somebody ends it: sudo, -i, --follow, and the commands live,
//     monitor (but for --check), replay, top, browse and interfaces;
//   - runs programs that other machines lack or have in other versions: any but qsniff, jq, cat, echo and test;
//   - names a file that is not there, as FILE or /var/log/ring.
//
// Where jq is not installed those that run it have none either, and the command says so.
//
// A block with a language ("console") shows its output already; make docs keeps it true.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"qsniff/internal/base/digits"
)

func main() {
	program := flag.String("program", "", "the qsniff that runs examples; without it they have no output")
	try := flag.String("try", "", "the `folder` that make page wrote, to embed; without it there is no page to try qsniff on")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: site [-program QSNIFF] [-try FOLDER] DIR")
		os.Exit(2)
	}
	if err := run(*program, *try, flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1)
	}
}

// run builds the site and puts it in the place of what is in dir.
func run(program, try, dir string) error {
	in := input{root: "."}
	if program != "" {
		tmp, err := os.MkdirTemp("", "qsniff-site")
		if err != nil {
			return err
		}
		defer os.RemoveAll(tmp)
		r, err := newRunner(program, "pcapfiles", tmp)
		if err != nil {
			return err
		}
		in.run = r.run
	}
	if try != "" {
		in.try = os.DirFS(try)
	}
	s, err := build(in)
	if err != nil {
		return err
	}
	if err := clear(dir); err != nil {
		return err
	}
	size := 0
	for name, b := range s.files {
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(name, b, 0o644); err != nil {
			return err
		}
		size += len(b)
	}
	for name, n := range s.missing {
		fmt.Fprintf(os.Stderr, "site: %s is not installed: %s without output\n", name, digits.Counted(uint64(n), "example"))
	}
	fmt.Printf("%s: %d pages, %s; %d examples with their output, %d that are not run\n",
		dir, len(s.pages), digits.Bytes(float64(size)), s.shown, len(s.examples)-s.shown)
	return nil
}

// clear removes an older site, and nothing else.
func clear(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(dir, searchFile)); err != nil {
		return fmt.Errorf("%s has something else in it than a site: remove it, or name another folder", dir)
	}
	return os.RemoveAll(dir)
}
