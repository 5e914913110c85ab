// Package docgen makes the files of the manual from the program: man pages and a
// reference from the tree of commands, a page for each protocol from its
// definitions and its package comment, the rows of the protocols in README.md, the limits from the comments of their
// constants. A test calls it and compares its files with those of the repository; it
// is not linked into qsniff. Cobra's own generator is not used, because it brings
// a Markdown parser and has no groups of flags.
package docgen

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"qsniff/dissect"
	"qsniff/dissect/finding"
)

// Input is the source of the manual.
type Input struct {
	Module    string // path of the module's folder
	Root      *cobra.Command
	Flags     func(*cobra.Command) []FlagGroup
	Protocols []dissect.Protocol
	Registry  *dissect.Registry // of Protocols
	Codes     []*finding.Code
}

// FlagGroup is the flags of a command under one heading.
type FlagGroup struct {
	Title string
	Flags *pflag.FlagSet
}

// Files returns the contents of all files by their paths below the module.
func Files(in Input) (map[string][]byte, error) {
	limits, err := Limits(in.Module)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{
		"docs/README.md":                     indexPage(&in),
		"docs/clients.md":                    clientsPage(),
		"docs/commands.md":                   commandsPage(&in),
		"docs/counters.md":                   countersPage(),
		"docs/fields.md":                     fieldsPage(&in),
		"docs/filters.md":                    filtersPage(&in),
		"docs/findings.md":                   findingsPage(in.Codes),
		"docs/limits.md":                     limitsPage(limits),
		"internal/render/manual/limits.json": limitsData(limits),
	}
	if files["README.md"], err = withProtocolRows(in.Module, in.Registry); err != nil {
		return nil, err
	}
	for _, p := range in.Protocols {
		page, err := protocolPage(&in, p)
		if err != nil {
			return nil, err
		}
		files["docs/"+p.Proto().Name+".md"] = page
	}
	for name, page := range ManPages(in.Root, in.Flags) {
		files["docs/man/"+name] = page
	}
	return files, nil
}

// documented lists a command and those below it that users see.
func documented(cmd *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{cmd}
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() && sub.Name() != "help" {
			all = append(all, documented(sub)...)
		}
	}
	return all
}
