package main

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"qsniff/internal/render/manual"
	"qsniff/internal/render/schema"
)

func newSchema(io streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "schema [flags] [RECORD]",
		GroupID: groupReference,
		Short:   "print the JSON Schema of what -o json writes",
		Long: `schema prints the JSON Schema (draft 2020-12) of a line that qsniff writes with
-o json, or of one RECORD: what it has, of which form, and what stays as it is. It is
made of the definitions that the output is made of, and has the version of the output
in its $id. --list lists the records, and which commands write them.

x-stability says what a member promises: "stable", its name, form and meaning stay
as long as the first number of the version does; "experimental", it can change with
any version. x-field is the name of a field in filters, x-unit its unit, x-values
what its values mean; x-secret marks what is "<redacted>" without --show-secrets.

Exit status: 0 fine, 1 there is no such record, 2 wrong usage.`,
		Example: `  qsniff schema > qsniff.schema.json
  qsniff schema incident          one record, with what it refers to
  qsniff schema --list            all records
  qsniff schema message | jq '."$defs"."fields.a2s.reply.S2A_INFO_SRC".properties | keys'`,
		Args: atMostOne("one record at a time, or all: qsniff schema"),
		ValidArgsFunction: func(_ *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
			s, err := outputSchema()
			if err != nil || len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			names := s.Names()
			slices.Sort(names)
			return slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, word) }), cobra.ShellCompDirectiveNoFileComp
		},
	}
	isList := cmd.Flags().Bool("list", false, "list the records")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		s, err := outputSchema()
		if err != nil {
			return err
		}
		if *isList {
			return write(io.out, listRecords(s))
		}
		document := s.Document
		if len(args) > 0 {
			name := strings.ToLower(args[0])
			if !s.Has(name) {
				return unknownNameError("no record is called", args[0], s.Names(), "qsniff schema --list")
			}
			document = func() ([]byte, error) { return s.RecordDocument(name) }
		}
		out, err := document()
		if err != nil {
			return err
		}
		return write(io.out, out)
	}
	return cmd
}

// listRecords returns a line for each record.
func listRecords(s *schema.Schema) (dst []byte) {
	for _, r := range s.Records {
		dst = fmt.Appendf(dst, "%-18s %s\n%19s%s\n", r.Name, r.Doc, "", r.Commands)
	}
	return dst
}

// outputSchema returns the schema of what this program writes.
func outputSchema() (*schema.Schema, error) {
	reg, err := newRegistry()
	if err != nil {
		return nil, err
	}
	return schema.New(reg,
		schema.Row{Name: "field", Doc: "a field of messages", Commands: "fields", Type: reflect.TypeFor[manual.Field]()},
		schema.Row{Name: "message_type", Doc: "a type of message", Commands: "fields --messages", Type: reflect.TypeFor[manual.Message]()},
		schema.Row{Name: "explained_finding", Doc: "what a finding means", Commands: "explain", Type: reflect.TypeFor[manual.Finding]()},
		schema.Row{Name: "explained_kind", Doc: "what a kind of incident is", Commands: "explain", Type: reflect.TypeFor[manual.Kind]()},
		schema.Row{Name: "interface_row", Doc: "an interface", Commands: "interfaces", Type: reflect.TypeFor[interfaceRow]()},
		schema.Row{Name: "version", Doc: "what this build can do", Commands: "version", Type: reflect.TypeFor[build]()},
	), nil
}
