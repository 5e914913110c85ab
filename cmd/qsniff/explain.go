package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"qsniff/internal/render/manual"
)

func newExplain(io streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "explain [flags] [ID]",
		GroupID: groupReference,
		Short:   "explain a finding, or a kind of incident",
		Long: `explain prints what a finding means, by the id that stands with it in the output:
what was seen, what that means for the author of a client or the administrator of a
server, and what to do about it. For a kind of incident, such as flood_spoofed or
DOS-F01, its id, it prints what that is, how it differs from legitimate load, and what
to do. Without an id it lists all findings, and then all kinds of incidents.

Severities: "error", the protocol is broken or harm is being done; "warn", it will
hurt somebody; "note", it explains a surprise; "chat", a normal event worth a mark.
The fault is the party to look at: client, server, path, middlebox or capture.

Exit status: 0 fine, 1 no finding and no kind of incident has that id, 2 wrong usage.`,
		Example: `  qsniff explain A2S-S07          one finding
  qsniff explain flood_spoofed    a kind of incident
  qsniff explain                  all of them
  qsniff explain -o json          for programs`,
		Args:              atMostOne("explain one finding at a time, or all: qsniff explain"),
		ValidArgsFunction: completeFindings,
	}
	output := addOutputFlag(cmd)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		all, err := listFindings()
		if err != nil {
			return err
		}
		kinds := manual.Kinds()
		if len(args) == 0 {
			var rows []any
			for _, f := range all {
				rows = append(rows, f)
			}
			for _, k := range kinds {
				rows = append(rows, k)
			}
			return printList(io.out, *output, rows, func(dst []byte, width int) []byte {
				return manual.AppendKinds(append(manual.AppendFindings(dst, all, width), '\n'), kinds, width)
			})
		}
		rows, write, ids := findExplained(all, kinds, args[0])
		if len(rows) == 0 {
			return unknownNameError("no finding and no kind of incident has the id", args[0], ids, "qsniff explain")
		}
		return printList(io.out, *output, rows, write)
	}
	return cmd
}

// findExplained returns what has an id, the finding first, and the function that writes it for
// people: kinds of incidents can share an id, also with a finding. ids are all that there are.
func findExplained(all []manual.Finding, kinds []manual.Kind, id string) (rows []any, write func([]byte, int) []byte, ids []string) {
	var parts []func([]byte, int) []byte
	add := func(row any, part func([]byte, int) []byte) {
		rows, parts = append(rows, row), append(parts, part)
	}
	for i := range all {
		if ids = append(ids, all[i].ID); strings.EqualFold(all[i].ID, id) {
			add(all[i], func(dst []byte, width int) []byte { return manual.AppendFinding(dst, &all[i], width) })
		}
	}
	for i := range kinds {
		if ids = append(ids, kinds[i].ID); !slices.Contains(ids, kinds[i].Code) {
			ids = append(ids, kinds[i].Code)
		}
		if strings.EqualFold(kinds[i].ID, id) || strings.EqualFold(kinds[i].Code, id) {
			add(kinds[i], func(dst []byte, width int) []byte { return manual.AppendKind(dst, &kinds[i], width) })
		}
	}
	return rows, func(dst []byte, width int) []byte {
		for i, part := range parts {
			if i > 0 {
				dst = append(dst, '\n')
			}
			dst = part(dst, width)
		}
		return dst
	}, ids
}

// listFindings returns every finding that a run can raise.
func listFindings() ([]manual.Finding, error) {
	reg, err := newRegistry()
	if err != nil {
		return nil, err
	}
	return manual.Findings(listCodes(reg)), nil
}
