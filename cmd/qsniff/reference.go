package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"qsniff/dissect"
	"qsniff/dissect/finding"
	"qsniff/dissect/protocols"
	"qsniff/internal/app/vantages"
	"qsniff/internal/base/cli"
	"qsniff/internal/render/manual"
	"qsniff/internal/track"
	"qsniff/internal/track/contradict"
	"qsniff/reassembly/split"
	"qsniff/reassembly/tcpstream"
)

// The groups of commands.
const (
	groupTraffic   = "traffic"
	groupReference = "reference"
)

// newRegistry returns a registry of all protocols.
func newRegistry() (*dissect.Registry, error) {
	reg, err := dissect.NewRegistry(protocols.All()...)
	if err == nil {
		reg.KnowForeign(protocols.Foreign())
		reg.KnowForeignStreams(protocols.ForeignStreams())
	}
	return reg, err
}

// listCodes returns the code of every finding that a run can raise, by the stages that
// declare them.
func listCodes(reg *dissect.Registry) []*finding.Code {
	all := slices.Concat(dissect.Codes, split.Codes, tcpstream.Codes, track.Codes, contradict.Codes, vantages.Codes)
	for _, p := range reg.Protos() {
		all = append(all, p.Codes...)
	}
	return all
}

// addOutputFlag adds -o text|json.
func addOutputFlag(cmd *cobra.Command) *string {
	output := "text"
	cmd.Flags().VarP(cli.OneOf(&output, "text", "json"), "output", "o", "text: for people; json: an object a line")
	return &output
}

// printList prints rows as JSON, or what text appends of them for a terminal.
func printList[T any](w io.Writer, output string, rows []T, text func(dst []byte, width int) []byte) error {
	var out []byte
	var err error
	if output == "json" {
		out, err = manual.AppendJSON(nil, rows)
	} else {
		out = text(nil, width(w))
	}
	if err == nil {
		_, err = w.Write(out)
	}
	return err
}

// unknownNameError is the error that nothing is called word. Its hint has the names that are
// most like it, or the command that lists all names.
func unknownNameError(what, word string, names []string, lister string) error {
	hint := lister + " lists all"
	if near := manual.Nearest(word, names); len(near) > 0 {
		hint = "did you mean " + strings.Join(near, ", ") + "?"
	}
	return &hintedError{fmt.Errorf("%s %q", what, word), hint}
}
