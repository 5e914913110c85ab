package main

import (
	"github.com/spf13/cobra"

	"qsniff/internal/render/wireshark"
)

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
