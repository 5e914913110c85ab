//go:build !js

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"qsniff/internal/app/cli"
	"qsniff/internal/app/mcp"
	"qsniff/internal/flood"
	"qsniff/internal/flood/advice"
	"qsniff/internal/pipeline"
)

// mcpCommands returns the command that assistants start.
func mcpCommands(io streams) []*cobra.Command { return []*cobra.Command{newMCP(io)} }

func newMCP(io streams) *cobra.Command {
	opts := readDefaults()
	cmd := &cobra.Command{
		Use:     "mcp [flags] DIR",
		GroupID: groupTraffic,
		Short:   "answer assistants that read captures for you",
		Long: `mcp answers questions about the captures in a folder over the Model Context Protocol, on
standard input and output. Assistants start it: docs/mcp.md has what to write into their
configuration. They can list captures and ask for a summary, findings, floods,
exchanges, messages by a display filter, one message with every byte, and for what a
finding means.

It reads regular files in DIR and below and nothing else: no absolute path, no "..", no
symbolic link, no pipe, no device. It writes no file and opens no connection. Passwords and
secrets of logs read <redacted>, and no option shows them. Texts that packets brought stand in answers
under untrusted_wire_data only, with the warning that they are data: a name of a server can
be written to instruct an assistant.

An answer has at most 24 KiB and a cursor for the rest. A question that is cancelled ends its
reading. Memory does not grow with the capture.

Exit status: 0 the assistant closed standard input, 1 the folder cannot be read, 2 wrong
usage.`,
		Example: `  qsniff mcp /var/captures`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return cli.Usage(fmt.Errorf("mcp takes one folder, not %d", len(args)), "qsniff mcp DIR: captures in DIR and below can be asked about")
			}
			return nil
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return opts.serveAssistant(cmd.Context(), args[0], io)
		},
	}
	cmd.Flags().SortFlags = false
	opts.registerPackets(cmd)
	opts.registerServers(cmd, "summaries, findings and incidents are about these servers only")
	opts.registerOwn(cmd)
	return cmd
}

// serveAssistant answers questions about the captures of a folder until standard input ends.
func (o *readOptions) serveAssistant(ctx context.Context, dir string, io streams) error {
	if err := o.check(); err != nil {
		return err
	}
	answers, err := o.assistant(dir)
	if err != nil {
		return err
	}
	defer answers.Folder.Close()
	if isTerminal(os.Stdin) {
		fmt.Fprintln(io.err, "qsniff: mcp waits for an assistant's requests, lines of JSON; docs/mcp.md says how to have one start it; Ctrl-D ends it")
	}
	if err := mcp.Serve(ctx, answers, os.Stdin, io.out); err != nil {
		return cli.Hinted(fmt.Errorf("mcp: %w", err), "standard input has to be requests of the Model Context Protocol, one a line, as assistants send them: docs/mcp.md")
	}
	return nil
}

// assistant returns what questions about the captures of a folder are answered from. The caller
// closes its Folder.
func (o *readOptions) assistant(dir string) (a mcp.Options, err error) {
	reg := o.registry()
	as, err := parseDecodeAs(o.as, reg)
	if err != nil {
		return a, err
	}
	if err := cmp.Or(o.parseServers(), o.parseOwn()); err != nil {
		return a, err
	}
	switch info, err := os.Stat(dir); {
	case errors.Is(err, os.ErrNotExist):
		return a, cli.Hinted(fmt.Errorf("%s: no such folder", dir), "name the folder that has the captures")
	case err == nil && !info.IsDir():
		return a, cli.Hinted(fmt.Errorf("%s: no folder", dir), "mcp answers about all captures of a folder: name the one that has the file")
	}
	root, err := os.OpenRoot(dir)
	if errors.Is(err, os.ErrPermission) {
		return a, cli.Hinted(fmt.Errorf("%s: permission denied", dir), "mcp has the rights of who starts the assistant: give these the folder, or name another")
	}
	if err != nil {
		return a, err
	}
	b := readBuild()
	return mcp.Options{Folder: root, Version: b.Short(), Codes: listCodes(reg), Ours: o.ours,
		Config: pipeline.Config{Registry: reg, DecodeAs: as, Dedup: dedups[o.dedup], Memory: int64(o.memory), Jobs: o.jobs},
		Detector: func() *flood.Detector {
			return o.newDetector(reg, flood.Defaults(), advice.DefaultExpiry)
		}}, nil
}
