package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"qsniff/dissect/protocols"
	"qsniff/internal/app/cli"
	"qsniff/internal/app/top"
	"qsniff/internal/tools/docgen"
)

const module = "../.."

// TestDocs holds the manual up to date: what is made from the program is what is
// in the repository, and nothing else of its kind is. Of the stories it is the
// outputs. make docs writes all of it.
func TestDocs(t *testing.T) {
	t.Setenv("COLUMNS", "")
	reg := protocols.NewRegistry()
	files, err := docgen.Files(docgen.Input{
		Module: module, Root: newRoot(streams{io.Discard, io.Discard}), Flags: flagGroupsOf,
		Protocols: protocols.All(), Registry: reg, Codes: listCodes(reg),
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{storiesPage, "docs/ci.md", "docs/confidence.md", "docs/fleet.md", "docs/floods.md", "docs/install.md", "docs/json.md", "docs/live.md", "docs/mcp.md", "docs/monitor.md", "docs/safety.md"} {
		files[name] = withOutputs(t, page(t, name))
	}
	files[topPage] = withHelp(page(t, topPage))
	upToDate(t, files, "docs/man/*.1", "docs/*.md")
}

// topPage is the page about top: words by hand, and then keys and columns as its help has them.
const topPage = "docs/top.md"

func withHelp(page []byte) []byte {
	const mark = "<!-- What follows is made by make docs. -->\n"
	head, _, _ := bytes.Cut(page, []byte(mark))
	out := append(bytes.Clone(head), mark...)
	for _, p := range top.HelpParts() {
		out = append(out, "\n## "+p.Title+"\n\n"...)
		if p.Text != "" {
			out = append(out, p.Text+"\n"...)
			continue
		}
		row := func(a, b string) { out = append(out, "| "+a+" | "+strings.ReplaceAll(b, "|", "\\|")+" |\n"...) }
		row("", "")
		row("---", "---")
		for _, k := range p.Keys {
			row("`"+k.Help().Key+"`", k.Help().Desc)
		}
		for _, c := range p.Columns {
			row(c.Title, c.Meaning)
		}
	}
	return out
}

func flagGroupsOf(cmd *cobra.Command) []docgen.FlagGroup {
	var groups []docgen.FlagGroup
	for _, g := range cli.GroupFlags(cmd, flagGroups) {
		groups = append(groups, docgen.FlagGroup{Title: g.Title, Flags: g.Flags})
	}
	return groups
}

// upToDate compares files, by their paths below the module, with those in the
// repository, and wants no others that match the patterns. With -update it writes
// and removes.
func upToDate(t *testing.T, files map[string][]byte, patterns ...string) {
	t.Helper()
	for name, want := range files {
		name = filepath.Join(module, name)
		if *update {
			if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, want, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		got, err := os.ReadFile(name)
		if err != nil {
			t.Errorf("%v (make docs writes it)", err)
		} else if !bytes.Equal(got, want) {
			t.Errorf("%s is out of date, make docs writes it: repository -, program +\n%s", name, cmp.Diff(string(got), string(want)))
		}
	}
	for _, pattern := range patterns {
		found, err := filepath.Glob(filepath.Join(module, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range found {
			rel, err := filepath.Rel(module, name)
			if err != nil || files[filepath.ToSlash(rel)] != nil {
				continue
			}
			if !*update {
				t.Errorf("%s belongs to nothing in the program", name)
			} else if err := os.Remove(name); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestBriefHelp: -h prints how a command is called, examples, and each flag in one line, no wider than a
// terminal, a screen or two of it; --help has all.
func TestBriefHelp(t *testing.T) {
	t.Setenv("COLUMNS", "80")
	for _, cmd := range newRoot(streams{io.Discard, io.Discard}).Commands() {
		if !cmd.IsAvailableCommand() || cmd.Name() == "help" {
			continue
		}
		brief, errs, status := output(t, cmd.Name(), "-h")
		all, _, _ := output(t, cmd.Name(), "--help")
		if status != exitOK || errs != "" || !strings.Contains(brief, "\nUsage:\n  qsniff "+cmd.Name()) || strings.Contains(all, brief) || len(all) < len(brief) {
			t.Errorf("%s: exit status %d, %s\n%s", cmd.Name(), status, errs, brief)
		}
		lines := strings.Split(brief, "\n")
		for _, line := range lines {
			if len(line) > 80 {
				t.Errorf("%s: %d characters: %s", cmd.Name(), len(line), line)
			}
		}
		flags := 0
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Hidden {
				return
			}
			flags++
			if strings.Count(brief, "--"+f.Name+" ")+strings.Count(brief, "--"+f.Name+"\n") == 0 {
				t.Errorf("%s: no --%s in the brief help", cmd.Name(), f.Name)
			}
		})
		if most := flags + 18; len(lines) > most {
			t.Errorf("%s: %d lines for %d flags, want at most %d", cmd.Name(), len(lines), flags, most)
		}
	}
	if brief, _, _ := output(t, "-h"); brief != startPage {
		t.Errorf("qsniff -h prints\n%s", brief)
	}
}

// TestHelpListsEveryCommand: help lists commands by group, so that one without a
// group would be listed nowhere.
func TestHelpListsEveryCommand(t *testing.T) {
	out, _, _ := output(t, "--help")
	for _, cmd := range newRoot(streams{io.Discard, io.Discard}).Commands() {
		if cmd.IsAvailableCommand() && !strings.Contains(out, "\n  "+cmd.Name()+" ") {
			t.Errorf("%s is not in the help", cmd.Name())
		}
	}
}
