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
		Short:   "tell what a finding means",
		Long: `explain tells what a finding means, by the id that stands with it in the output:
what was seen, what that means for the author of a client or the administrator of a
server, and what to do about it. Without an id it lists all findings.

Severities: "error", the protocol is broken or harm is being done; "warn", it will
hurt somebody; "note", it explains a surprise; "chat", a normal event worth a mark.
The fault is the party to look at: client, server, path, middlebox or capture.

Exit status: 0 fine, 1 no finding has that id, 2 wrong usage.`,
		Example: `  qsniff explain A2S-S07          one finding
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
		if len(args) == 0 {
			return printList(io.out, *output, all, func(dst []byte, width int) []byte {
				return manual.AppendFindings(dst, all, width)
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
		return unknownNameError("no finding has the id", args[0], ids, "qsniff explain")
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
