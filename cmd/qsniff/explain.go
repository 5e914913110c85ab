package main

import (
	"strings"

	"github.com/spf13/cobra"

	"qsniff/render/manual"
)

func newExplain(io streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "explain [flags] [ID]",
		GroupID: groupReference,
		Short:   "explain a finding, or a kind of incident",
		Long: `explain prints what a finding means, by the id that stands with it in the output:
what was seen, what that means for the author of a client or the administrator of a
server, and what to do about it. For a kind of incident, such as flood_spoofed, it
prints what that is, how it differs from legitimate load, and what to do. Without an id
it lists all findings, and then all kinds of incidents.

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
		var ids []string
		for i, f := range all {
			if strings.EqualFold(f.ID, args[0]) {
				return printList(io.out, *output, all[i:i+1], func(dst []byte, width int) []byte {
					return manual.AppendFinding(dst, &all[i], width)
				})
			}
			ids = append(ids, f.ID)
		}
		for i, k := range kinds {
			if strings.EqualFold(k.ID, args[0]) {
				return printList(io.out, *output, kinds[i:i+1], func(dst []byte, width int) []byte {
					return manual.AppendKind(dst, &kinds[i], width)
				})
			}
			ids = append(ids, k.ID)
		}
		return unknownNameError("no finding and no kind of incident has the id", args[0], ids, "qsniff explain")
	}
	return cmd
}

// listFindings returns every finding that a run can raise.
func listFindings() ([]manual.Finding, error) {
	reg, err := newRegistry()
	if err != nil {
		return nil, err
	}
	return manual.Findings(listCodes(reg)), nil
}
