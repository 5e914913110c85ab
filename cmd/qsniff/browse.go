//go:build !js

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"qsniff/internal/app/browse"
	"qsniff/internal/app/cli"
	"qsniff/internal/app/terminal"
	"qsniff/internal/pipeline"
	"qsniff/internal/pipeline/filter"
)

// screenCommands returns the commands that take the whole screen.
func screenCommands(io streams) []*cobra.Command { return []*cobra.Command{newTop(io), newBrowse()} }

func newBrowse() *cobra.Command {
	opts := readDefaults()
	cmd := &cobra.Command{
		Use:     "browse [flags] FILE",
		GroupID: groupTraffic,
		Short:   "look through a capture on a terminal",
		Long: `browse shows the messages of a capture as a list, a line each as read prints it, and of
the selected one every field as a tree, and its bytes. Tab goes from part to part, /
filters, : goes to a frame, f follows an exchange, w writes the packets of what is
listed, ? explains all keys and columns.

The list is there at once and grows while the capture is read. Nothing of a message is
kept but its place: rows are read again from the capture when they come onto the
screen, so that memory is 16 bytes a message. A capture that is compressed, or
comes through a pipe, is put into a temporary file for that (TMPDIR chooses where).
Floods and incidents are not listed: qsniff floods has them.

-Y begins with a filter. ` + "docs/filters.md has the language.\n\n" +
			`Exit status: 0 fine, 1 the capture cannot be read or is damaged (what precedes the
damage is shown), 2 wrong usage, such as no terminal.`,
		Example: `  qsniff browse evening.pcap
  qsniff browse -Y 'finding.severity >= warn' evening.pcap.zst
  qsniff browse --follow /var/log/now.pcap   a capture that grows`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return cli.Usage(errors.New("browse takes one capture"), "qsniff read -w all.pcapng FILE... makes one of several")
			}
			return requireCapture(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return onScreen(cmd.Context(), func() error { return opts.browse(cmd.Context(), args[0]) })
		},
	}
	cmd.ValidArgsFunction = completeCaptures
	f := cmd.Flags()
	f.SortFlags = false
	f.VarP(timesOf(&opts.clock), "time", "t", "times: a time of day, r seconds since the first packet, d since the line above, e since 1970")
	f.BoolVar(&opts.utc, "utc", false, "times in UTC instead of local time")
	f.BoolVar(&opts.showsSecrets, "show-secrets", false, "show passwords and log secrets instead of <redacted>")
	f.BoolVar(&opts.follow, "follow", false, "go on as the capture grows")
	opts.registerPackets(cmd)
	opts.registerServersFilter(cmd)
	opts.registerFilter(cmd)
	addHabits(cmd, opts)
	return cmd
}

// browse shows a capture on the terminal.
func (o *readOptions) browse(ctx context.Context, name string) error {
	keys, stdinOf := os.Stdin, (*os.File)(nil)
	if name == stdin {
		tty, err := os.Open("/dev/tty")
		if err != nil || isTerminal(os.Stdin) {
			return cli.Usage(errors.New("browse: standard input is no capture, or there is no terminal for keys"), "name a file, or qsniff read - prints its messages")
		}
		keys, stdinOf = tty, os.Stdin
	}
	if !terminal.Check(keys, os.Stdout) {
		return cli.Usage(errors.New("browse needs a terminal for its screen and keys"), "qsniff read "+name+" prints the same messages")
	}
	reg := o.registry()
	as, err := parseDecodeAs(o.as, reg)
	if err != nil {
		return err
	}
	if err := o.checkFilter(); err != nil {
		return err
	}
	b := browse.Options{Name: name, Stdin: stdinOf, Follow: o.follow, Text: o.textOptions(nil),
		Config:  pipeline.Config{Registry: reg, DecodeAs: as, Dedup: dedups[o.dedup], Jobs: o.jobs, Memory: int64(o.memory), Seed: rand.Uint64() | 1},
		Compile: func(text string) (*filter.Program, error) { return o.compile(text) },
		Complete: func(text string) []string {
			return filter.Complete(text, reg, filter.Options{ShowSecrets: o.showsSecrets, UTC: o.utc, Codes: listCodes(reg)})
		},
	}
	b.Text.Micros = true
	if name != stdin {
		b.Write = func(ctx context.Context, path, text string) (string, error) {
			return o.writeListed(ctx, name, path, text)
		}
	}
	m, err := browse.New(ctx, b, o.display.expression(), terminal.LookOf(os.Getenv))
	if err != nil {
		return err
	}
	if err := terminal.Run(ctx, m, keys); err != nil {
		return err
	}
	return m.Damage()
}

// writeListed writes the packets of the messages of a capture that a filter chooses, as
// read -w does, and returns what that would print.
func (o *readOptions) writeListed(ctx context.Context, name, path, text string) (string, error) {
	w := *o
	w.follow, w.write.path, w.display = false, path, displayOptions{text: text}
	if err := w.write.check(io.Discard); err != nil {
		return "", err
	}
	var said strings.Builder
	err := w.writePackets(ctx, nil, []string{name}, streams{io.Discard, &said})
	first, _, _ := strings.Cut(strings.TrimPrefix(said.String(), "qsniff: "), "\n")
	if err != nil {
		return "", fmt.Errorf("not written: %w", err)
	}
	return first, nil
}
