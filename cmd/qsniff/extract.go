package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"qsniff/dissect/protocols"
	"qsniff/internal/app/cli"
	"qsniff/internal/app/extract"
	"qsniff/internal/render/dialogue"
	"qsniff/internal/render/jsonl"
)

// extractOptions are the flags of extract.
type extractOptions struct {
	readOptions
	dir        string
	asCaptured bool
}

func newExtract(s streams) *cobra.Command {
	opts := &extractOptions{readOptions: *readDefaults()}
	opts.count = 100
	cmd := &cobra.Command{
		Use:     "extract [flags] --fixtures DIR FILE...",
		GroupID: groupTraffic,
		Short:   "make test vectors of exchanges",
		Long: `extract makes test vectors for authors of query libraries: of each answered exchange
over UDP a folder with the payloads of the request and of all parts of the reply, as
they were on the wire (.bin, .hex), and what the joined reply says (expected.json).
DIR/README.md explains the files and lists the folders. DIR must be new or empty.

Exchanges with the same request and the same reply are written once. Left out are those
without an answer in time, those of which the capture lacks a part, and those whose reply
only earlier messages explain: expected.json is what the payloads alone say.

Addresses, names, texts and passwords are replaced as qsniff anonymize replaces them, by
others of the same length. --as-captured writes what was on the wire: names of servers and
players and, in remote consoles of GoldSource, passwords.

With -Y an exchange is taken as a whole if one of its messages matches, by what is in the
capture. ` + filterHelp + `

FILE is as in qsniff read, but read more than once: no pipe.`,
		Example: `  qsniff extract --fixtures fixtures capture.pcap
  qsniff extract --fixtures few -Y 'players > 2' capture.pcap`,
		Args: requireCapture,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runExtract(cmd.Context(), opts, args, s)
		},
	}
	cmd.ValidArgsFunction = completeCaptures
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&opts.dir, "fixtures", "", "write a folder for each exchange into `DIR`, which is new or empty")
	f.BoolVar(&opts.asCaptured, "as-captured", false, "write names, texts and passwords as they are in the capture")
	f.IntVarP(&opts.count, "count", "c", opts.count, fmt.Sprintf("stop after `N` exchanges (at most %d)", extract.MaxExchanges))
	opts.registerServersFilter(cmd)
	opts.registerFilter(cmd)
	opts.registerInput(cmd)
	_ = cmd.MarkFlagDirname("fixtures")
	addHabits(cmd, &opts.readOptions)
	return cmd
}

// bareLines renders messages for expected.json.
var bareLines = jsonl.New(jsonl.Options{Bare: true})

// check returns an error for flags that are missing or out of range.
func (o *extractOptions) check() error {
	switch {
	case o.dir == "":
		return cli.Usage(errors.New("extract: --fixtures is missing"), "--fixtures DIR says where to write")
	case o.count < 1 || o.count > extract.MaxExchanges:
		return cli.Usage(fmt.Errorf("-c %d: from 1 to %d", o.count, extract.MaxExchanges), "leave it out for 100")
	}
	return o.readOptions.check()
}

// runExtract writes fixtures of the exchanges in captures.
func runExtract(ctx context.Context, opts *extractOptions, args []string, s streams) error {
	if err := opts.check(); err != nil {
		return err
	}
	names, isStream, err := opts.listInputs(args)
	if err != nil {
		return err
	}
	if err := opts.checkFilter(); err != nil {
		return err
	}
	if isStream {
		return cli.Usage(errors.New("extract reads a capture twice, and a pipe can be read once"), "write it to a file first")
	}
	if err := makeEmpty(opts.dir); err != nil {
		return err
	}
	chosen := extract.NewChooser(opts.count, bareLines)
	opts.count = 0 // the messages are not counted
	var damage error
	if !opts.asCaptured {
		var remove func()
		if names, remove, damage = opts.anonymizeInputs(ctx, names); remove != nil {
			defer remove()
		}
	}
	if len(names) > 0 {
		damage = cmp.Or(damage, opts.chooseExchanges(ctx, chosen, names, s))
	}
	if damage != nil && len(chosen.Exchanges()) == 0 || errors.Is(damage, context.Canceled) {
		return damage
	}
	in, err := opts.open(ctx, names)
	if err != nil {
		return err
	}
	payloads, err := extract.ReadPayloads(in.Source, chosen.Exchanges())
	if e := in.Close(); err == nil {
		err = e
	}
	if err != nil && damage == nil {
		return err
	}
	made, err := extract.Write(opts.dir, chosen.Exchanges(), payloads, extract.NewDecoder(protocols.All, bareLines))
	if err != nil {
		return err
	}
	opts.printMade(s.err, made, chosen, payloads)
	return damage
}

// anonymizeInputs makes an anonymised copy of captures, which the caller removes. What is wrong
// with the captures is an error, and the copy has what comes before it.
func (o *extractOptions) anonymizeInputs(ctx context.Context, names []string) (copies []string, remove func(), err error) {
	dir, err := os.MkdirTemp("", "qsniff-extract-")
	if err != nil {
		return nil, nil, err
	}
	remove = func() { _ = os.RemoveAll(dir) }
	o.write = writeOptions{path: filepath.Join(dir, "anonymised.pcapng"), anonymize: anonymizeOptions{isOn: true}}
	if o.display.expression() != "" || o.display.byServers { // what they ask for is not in the copy any more
		if _, err := o.takeExchanges(ctx, names, 0); err != nil {
			return nil, remove, err
		}
	}
	err = o.writePackets(ctx, nil, names, streams{out: io.Discard, err: io.Discard})
	if _, e := os.Stat(o.write.path); e != nil {
		return nil, remove, cmp.Or(err, e)
	}
	return []string{o.write.path}, remove, err
}

// makeEmpty makes a folder, or checks that it is empty.
func makeEmpty(dir string) error {
	err := os.MkdirAll(dir, 0o700)
	var list []os.DirEntry
	if err == nil {
		list, err = os.ReadDir(dir)
	}
	switch {
	case err != nil:
		return cli.Hinted(fmt.Errorf("--fixtures %s: %w", dir, cli.Reason(err)), "choose a folder that can be made")
	case len(list) > 0:
		return cli.Usage(fmt.Errorf("--fixtures %s: the folder is not empty", dir), "choose a new one")
	}
	return nil
}

// chooseExchanges reads captures for the first time.
func (o *extractOptions) chooseExchanges(ctx context.Context, chosen *extract.Chooser, names []string, s streams) error {
	j, err := o.openJob(ctx, names, s)
	if err != nil {
		return err
	}
	defer j.release()
	j.cfg.Dialogues = dialogue.New(dialogue.Options{Renderer: chosen, Size: o.scale()})
	_, err = j.run()
	if err == nil {
		err = j.src.Close()
	}
	return j.exitError(err)
}

// printMade prints how many fixtures were made, and how many exchanges became none, by reason.
func (o *extractOptions) printMade(w io.Writer, made int, c *extract.Chooser, p *extract.Payloads) {
	how := "anonymised (qsniff anonymize --help says what still shows)"
	if o.asCaptured {
		how = "as captured, names and passwords included"
	}
	fmt.Fprintf(w, "qsniff: wrote %s to %s, %s\n", count(uint64(made), "exchange"), o.dir, how)
	for _, line := range c.Omitted(made, p) {
		fmt.Fprintln(w, "qsniff:", line)
	}
}
