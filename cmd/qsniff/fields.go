package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"qsniff/internal/pipeline/filter"
	"qsniff/internal/render/manual"
)

func newFields(io streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "fields [flags] [PATTERN]",
		GroupID: groupReference,
		Short:   "list fields and message types",
		Long: `fields lists every field that a message can have: its name, its type and what it
means. First come the members that all messages have, then the fields that only
filters have, then those of each protocol. The last part of a name is the key in JSON.

What a field is compared with after -Y follows the fields: by their types what filters
see, with operators and values. A field alone holds where a message has it. "later" is
known when an exchange is over.

PATTERN chooses by name: a part of it, or with * ? [ a pattern for all of it.

Flags of a field: "secret" is shown only with --show-secrets; "framing" is in the
tree and in --layout, not in "fields" of JSON; "hex" is shown in hexadecimal too;
"string" is a string in JSON, because numbers there have 53 bits; "size" is given
as its length.

Exit status: 0 fine, 1 no name matches, 2 wrong usage.`,
		Example: `  qsniff fields                    all fields
  qsniff fields 'a2s.info.*'       of one message
  qsniff fields name               with "name" in their name
  qsniff fields --messages         the message types
  qsniff fields -o json secret     for programs`,
		Args:              atMostOne("one pattern is enough; quote it, so that the shell leaves it alone"),
		ValidArgsFunction: completeFields,
	}
	output := addOutputFlag(cmd)
	messages := cmd.Flags().Bool("messages", false, "list message types in place of fields")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		pattern := ""
		if len(args) > 0 {
			pattern = args[0]
		}
		if err := manual.CheckPattern(pattern); err != nil {
			return &usageError{fmt.Errorf("fields: %q is no pattern: %w", pattern, err), "a [ needs its ]"}
		}
		if *messages {
			return listMessages(io, *output, pattern)
		}
		return listFields(io, *output, pattern)
	}
	return cmd
}

func listFields(io streams, output, pattern string) error {
	reg, err := newRegistry()
	if err != nil {
		return err
	}
	all := filter.Fields(reg, filter.Options{Codes: listCodes(reg)})
	found := manual.Filter(all, pattern, func(f manual.Field) string { return f.Name })
	if len(found) == 0 {
		return unknownNameError("no field matches", pattern, manual.Names(all), "qsniff fields")
	}
	return printList(io.out, output, manual.Rows(found), func(dst []byte, width int) []byte {
		return manual.AppendFields(dst, found, width)
	})
}

func listMessages(io streams, output, pattern string) error {
	reg, err := newRegistry()
	if err != nil {
		return err
	}
	name := func(m manual.Message) string { return m.Name }
	all := manual.Messages(reg)
	found := manual.Filter(all, pattern, name)
	if len(found) == 0 {
		var names []string
		for _, m := range manual.Rows(all) {
			names = append(names, m.Name)
		}
		return unknownNameError("no message matches", pattern, names, "qsniff fields --messages")
	}
	return printList(io.out, output, manual.Rows(found), func(dst []byte, width int) []byte {
		return manual.AppendMessages(dst, found, width)
	})
}

// atMostOne returns the check of arguments for commands with one optional argument.
func atMostOne(hint string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 {
			return &usageError{fmt.Errorf("%s: %d arguments, at most 1 is taken", cmd.Name(), len(args)), hint}
		}
		return nil
	}
}
