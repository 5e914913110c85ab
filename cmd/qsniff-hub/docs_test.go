package main

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"qsniff/internal/app/cli"
	"qsniff/internal/tools/docgen"
)

var update = flag.Bool("update", false, "write the man pages")

// TestDocs holds the man pages up to date: those of the commands that there are, and no others. make docs
// writes them.
func TestDocs(t *testing.T) {
	const folder = "../../docs/man/hub"
	pages := docgen.ManPages(newRoot(streams{io.Discard, io.Discard}), func(cmd *cobra.Command) (groups []docgen.FlagGroup) {
		for _, g := range cli.GroupFlags(cmd, flagGroups) {
			groups = append(groups, docgen.FlagGroup{Title: g.Title, Flags: g.Flags})
		}
		return groups
	})
	there, err := filepath.Glob(folder + "/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range there {
		if pages[filepath.Base(name)] != nil {
			continue
		}
		if !*update {
			t.Errorf("%s belongs to nothing in the program", name)
		} else if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range pages {
		name = filepath.Join(folder, name)
		if *update {
			if err := os.WriteFile(name, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(name); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is out of date, make docs writes it: %v\n%s", name, err, cmp.Diff(string(got), string(want)))
		}
	}
}
