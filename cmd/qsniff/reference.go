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
	"qsniff/internal/render/wireshark"
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

func newWiresharkPlugin(io streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "wireshark-plugin [flags]",
		GroupID: groupReference,
		Short:   "print a plugin that lets Wireshark read these protocols",
		Long: `wireshark-plugin prints dissectors in Lua for Wireshark and tshark, made of the same
definitions as everything else: fields, message types and findings have the names
that "qsniff fields" and "qsniff explain" list, and filters take them.

Messages are found by their bytes, by the ports of the protocols and by what came
before in the flow, over UDP and TCP; "Decode As" works, too. Split messages are
joined unless they are compressed: Wireshark's Lua has no bzip2. The first lines of
the plugin list what it leaves to qsniff.

Passwords are shown as <redacted>; the preference qsniff.show_secrets shows them.
Texts of a console in a TCP connection are hidden from the first byte on that came
again with another value, and in split parts that contradict each other. Without -2,
and without the window, those before the second copy are shown.
The bytes of a packet are shown by Wireshark in any case.

Where a dissector of Wireshark claims a port first: -o udp.try_heuristic_first:TRUE

Exit status: 0 fine, 2 wrong usage.`,
		Example: `  qsniff wireshark-plugin > qsniff.lua
  tshark -X lua_script:qsniff.lua -2 -r capture.pcap -Y 'a2s.info.players > 10'
  tshark -X lua_script:qsniff.lua -2 -r capture.pcap -Y 'qsniff.finding == "A2S-S13"'`,
		Args:              noArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	cmd.RunE = func(*cobra.Command, []string) error {
		reg, err := newRegistry()
		if err != nil {
			return err
		}
		b := readBuild()
		_, err = io.out.Write(wireshark.Append(nil, reg, b.Short()))
		return err
	}
	return cmd
}
