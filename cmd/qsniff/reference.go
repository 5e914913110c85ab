package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"qsniff/dissect"
	"qsniff/dissect/protocols"
	"qsniff/finding"
	"qsniff/reassembly/split"
	"qsniff/reassembly/tcpstream"
	"qsniff/render/manual"
	"qsniff/track"
)

// The groups of commands.
const (
	groupTraffic   = "traffic"
	groupReference = "reference"
)

// registry makes the set of all protocols.
func registry() (*dissect.Registry, error) {
	reg, err := dissect.NewRegistry(protocols.All()...)
	if err == nil {
		reg.KnowForeign(protocols.Foreign())
	}
	return reg, err
}

// codes lists every finding that a run can raise, by the stages that declare them.
func codes(reg *dissect.Registry) []*finding.Code {
	all := slices.Concat(dissect.Codes, split.Codes, tcpstream.Codes, track.Codes)
	for _, p := range reg.Protos() {
		all = append(all, p.Codes...)
	}
	return all
}

// outputFlag adds -o text|json.
func outputFlag(cmd *cobra.Command) *string {
	output := "text"
	cmd.Flags().VarP(&choice{&output, []string{"text", "json"}}, "output", "o", "text: for people; json: an object a line")
	return &output
}

// list prints rows as JSON, or what text makes of them for the terminal.
func list[T any](w io.Writer, output string, rows []T, text func(dst []byte, width int) []byte) error {
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

// unknown is the error that nothing is called word, with the names that are near,
// or else with what lists them.
func unknown(what, word string, names []string, lister string) error {
	hint := lister + " lists all"
	if near := manual.Near(word, names); len(near) > 0 {
		hint = "did you mean " + strings.Join(near, ", ") + "?"
	}
	return &hintedError{fmt.Errorf("%s %q", what, word), hint}
}
