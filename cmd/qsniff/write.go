package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"qsniff/capture"
	"qsniff/capture/file"
	"qsniff/internal/app/anonymize"
	"qsniff/internal/app/cli"
	"qsniff/internal/app/remark"
	"qsniff/internal/base/heap"
	"qsniff/internal/pipeline/subset"
	"qsniff/internal/render"
	"qsniff/internal/render/counters"
	"qsniff/internal/render/dialogue"
	"qsniff/internal/render/tally"
	"qsniff/internal/render/text"
)

// writeOptions are the flags of read about a file of packets.
type writeOptions struct {
	path     string
	format   string
	force    bool
	printing bool           // messages are printed too
	mask     bool           // secrets are overwritten
	only     *subset.Frames // of messages that these frames completed; nil: all

	anonymize anonymizeOptions
}

func (w *writeOptions) register(cmd *cobra.Command) {
	f := cmd.Flags()
	w.registerPath(cmd, "messages")
	f.BoolVarP(&w.printing, "print", "P", false, "with -w: print the messages too")
}

// registerPath adds the flags of a file for the packets of messages or exchanges.
func (w *writeOptions) registerPath(cmd *cobra.Command, of string) {
	f := cmd.Flags()
	f.StringVarP(&w.path, "write", "w", "", "write the packets of the "+of+" to `FILE` in place of printing these: as pcapng, or as pcap if it ends in .pcap; - is standard output")
	w.registerFile(cmd, "with -w: ")
	f.BoolVar(&w.mask, "mask", false, "with -w: overwrite passwords and log secrets in the packets")
	f.BoolVar(&w.anonymize.isOn, "anonymize", false, "with -w: replace addresses, names and texts too; qsniff anonymize --help has more")
	w.anonymize.register(cmd, "with --anonymize: ")
}

// registerFile adds the flags about the file itself. prefix begins their help.
func (w *writeOptions) registerFile(cmd *cobra.Command, prefix string) {
	cmd.Flags().VarP(cli.OneOf(&w.format, "pcapng", "pcap"), "file-format", "F", prefix+"write this format, whatever the name ends in")
	cmd.Flags().BoolVar(&w.force, "force", false, prefix+"overwrite a file that is there")
}

// packers are the programs that compress, by the endings that captures are not written with.
var packers = map[string]string{".gz": "gzip", ".zst": "zstd", ".lz4": "lz4", ".bz2": "bzip2", ".xz": "xz"}

// check reports flags that do not go together.
func (w *writeOptions) check(out io.Writer) error {
	switch {
	case w.path == "" && (w.format != "" || w.printing || w.mask || w.force || w.anonymize != anonymizeOptions{}):
		return cli.Usage(errors.New("-F, -P, --mask, --anonymize and --force go with -w"), "name a file: -w out.pcapng")
	case !w.anonymize.isOn && w.anonymize != anonymizeOptions{}:
		return cli.Usage(errors.New("--key and --shift go with --anonymize"), "add --anonymize")
	case w.path == stdin && w.printing:
		return cli.Usage(errors.New("-P: packets are written to standard output"), "name a file: -w out.pcapng")
	case w.path == stdin && isTerminal(out):
		return cli.Usage(errors.New("-w -: standard output is a terminal"), "pipe it on: qsniff read -w - FILE | tshark -r -")
	case w.path == "" || w.path == stdin:
		return nil
	}
	if _, err := file.FormatOf(w.path); err != nil {
		packer := packers[strings.ToLower(filepath.Ext(w.path))]
		return cli.Usage(err, fmt.Sprintf("name - as the file, and compress what is written: ... | %s > %s", packer, cli.Quote(w.path)))
	}
	return nil
}

// create creates the file, which is none of the inputs. described has the interfaces.
func (w *writeOptions) create(described capture.Describer, inputs []string, out io.Writer, edit func(*capture.Packet, []byte)) (*file.Writer, error) {
	o := file.WriteOptions{Mask: edit, Interfaces: described, Application: "qsniff", Replace: w.force, HasFormat: w.format != ""}
	if w.format == "pcap" {
		o.Format = file.Pcap
	}
	if w.path == stdin {
		return file.NewWriter(out, "standard output", o), nil
	}
	if isSameFile(w.path, inputs) {
		return nil, cli.Usage(fmt.Errorf("-w %s: that is the capture which is read", w.path), "choose another name")
	}
	return file.Create(w.path, o)
}

// isSameFile reports whether a file is one of inputs, whatever their names.
func isSameFile(name string, inputs []string) bool {
	info, err := os.Stat(name)
	return err == nil && slices.ContainsFunc(inputs, func(input string) bool {
		other, err := os.Stat(input)
		return err == nil && os.SameFile(info, other)
	})
}

// writePackets writes the packets of the messages in captures. It reads files twice, see
// package subset. r prints the messages, or is nil.
func (o *readOptions) writePackets(ctx context.Context, r render.Renderer, args []string, io streams) error {
	heap.Tighten() // besides the tables there are the packets that wait to be written
	names, isStream, err := o.listInputs(args)
	if err != nil {
		return err
	}
	j, err := o.openJob(ctx, names, io)
	if err != nil {
		return err
	}
	defer j.release()
	described, _ := j.src.Source.(capture.Describer)
	opt := subset.Options{Comment: text.NewComment(text.Options{}), WithoutDelay: isStream}
	var w *subset.Writer
	var edit func(*capture.Packet, []byte)
	switch {
	case o.write.anonymize.isOn:
		a := o.write.anonymize.anonymizer()
		opt.Edits, opt.Change, opt.Shift, opt.Comment, described = a, a.Change, o.write.anonymize.shift, nil, nil
	case o.write.mask:
		opt.Edits = subset.Mask{}
	}
	if opt.Edits != nil {
		edit = func(p *capture.Packet, b []byte) { w.Edit(p, b) }
	}
	out, err := o.write.create(described, names, io.out, edit)
	if err != nil {
		return err
	}
	opt.Out = out
	if !isStream {
		if opt.Plan, err = o.planPackets(ctx, names, io, &opt); err != nil {
			_ = out.Close() // there is nothing in it
			return err
		}
	}
	w = subset.NewWriter(opt)
	j.cfg.Packets = o.write.only.Restrict(w)
	err = o.printJob(j, r)
	if e := cmp.Or(w.Close(), out.Close()); err == nil {
		err = e
	}
	o.write.printWritten(io.err, w.Stats())
	return err
}

// takeExchanges reads captures once, and restricts what is written of them to the exchanges that the filters choose,
// or to the one that has a frame, if that is not 0.
func (o *readOptions) takeExchanges(ctx context.Context, names []string, frame uint64) (*dialogue.Collector, error) {
	j, err := o.openJob(ctx, names, streams{out: io.Discard, err: io.Discard})
	if err != nil {
		return nil, err
	}
	defer j.release()
	o.write.only, o.display = new(subset.Frames), displayOptions{}
	chosen := dialogue.New(dialogue.Options{Renderer: o.write.only, Frame: frame, Size: o.scale()})
	j.cfg.Dialogues = chosen
	if _, err := j.run(); isInterrupted(j.ctx) {
		return nil, j.exitError(err)
	}
	_ = j.src.Close() // the second run reports the error
	return chosen, nil
}

// listInputs returns the captures that args name, and whether they can be read only once.
func (o *readOptions) listInputs(args []string) (names []string, isStream bool, err error) {
	if o.follow {
		return args, true, nil
	}
	if names, err = file.Expand(args); err != nil {
		return nil, false, err
	}
	return names, slices.ContainsFunc(names, func(name string) bool {
		info, err := os.Stat(name)
		return name == stdin || err == nil && !info.Mode().IsRegular()
	}), nil
}

// planPackets reads captures for the first time. The second run reports what is wrong with them.
func (o *readOptions) planPackets(ctx context.Context, names []string, io streams, opt *subset.Options) (*subset.Plan, error) {
	j, err := o.openJob(ctx, names, io)
	if err != nil {
		return nil, err
	}
	defer j.release()
	plan := subset.NewPlan()
	j.cfg.Packets = o.write.only.Restrict(plan.Collector(opt))
	if _, err := j.run(); isInterrupted(j.ctx) {
		return nil, j.exitError(err)
	}
	if o.count == 0 { // else a read may still be in progress; it ends with the program
		_ = j.src.Close() // the second run reports the error
	}
	return plan, nil
}

// printWritten prints how many packets were written, and what is missing.
func (w *writeOptions) printWritten(out io.Writer, s tally.Subset) {
	name := w.path
	if name == stdin {
		name = "standard output"
	}
	how := "as captured, passwords included (--mask overwrites them)"
	switch {
	case w.anonymize.isOn:
		how = "anonymised"
	case w.mask:
		how = "passwords and log secrets overwritten"
	}
	fmt.Fprintf(out, "qsniff: wrote %s of %s to %s, %s\n", count(s.Packets, "packet"), count(s.Messages, "message"), name, how)
	if w.anonymize.isOn {
		printNotHidden(out)
	}
	remark.PrintHints(out, &counters.Result{Subset: s}, counters.Subset)
}

// anonymizeOptions are the flags about anonymised packets.
type anonymizeOptions struct {
	isOn  bool
	key   string
	shift time.Duration
}

func (a *anonymizeOptions) register(cmd *cobra.Command, prefix string) {
	f := cmd.Flags()
	f.StringVar(&a.key, "key", "", prefix+"replace the same by the same in all runs with this `TEXT` (default: a new key each run); keep it to yourself")
	f.DurationVar(&a.shift, "shift", 0, prefix+"add this `TIME` to all times, as in -8760h")
	propose(cmd, "key", cobra.NoFileCompletions)
	propose(cmd, "shift", cobra.NoFileCompletions)
}

// anonymizer returns an Anonymizer with the key. Without one it draws one first, which stays.
func (a *anonymizeOptions) anonymizer() *anonymize.Anonymizer {
	if a.key == "" {
		key := make([]byte, 32)
		_, _ = rand.Read(key) // it never fails
		a.key = string(key)
	}
	return anonymize.New([]byte(a.key))
}

// printNotHidden prints what an anonymised capture still shows.
func printNotHidden(w io.Writer) {
	fmt.Fprintln(w, "qsniff: names, texts, addresses and passwords are replaced; what still shows:")
	for _, s := range anonymize.NotHidden {
		fmt.Fprintln(w, "  -", s)
	}
}

func newAnonymize(io streams) *cobra.Command {
	opts := readDefaults()
	opts.output, opts.write.anonymize.isOn = "none", true
	cmd := &cobra.Command{
		Use:     "anonymize [flags] IN OUT",
		GroupID: groupTraffic,
		Short:   "make a capture that can be shared",
		Long: `anonymize writes a capture that can be shared, in a bug report or with a provider:
"qsniff read --anonymize -w OUT IN" is the same. It decodes to the same messages as IN.

Replaced, by others of the same length and the same by the same: addresses, in headers
and in messages, names of servers and players, texts (settings, commands, console
output, lines of logs), passwords, SteamIDs and challenges. Left out: packets that are
no part of a message, but for TCP without data, ICMP, comments, names of interfaces,
bytes after the end of a datagram. A reply that came compressed is packed again into as
many bytes; where names vary too much for that, with fewer letters. One that still does
not fit, or of which a part is missing, is overwritten, decodes no more, and is counted.

What still shows:
  - ` + strings.Join(anonymize.NotHidden[:], "\n  - ") + `
Look at the result before you share it: qsniff -o tree OUT.`,
		Example: `  qsniff anonymize capture.pcap shared.pcapng
  qsniff anonymize --shift -8760h capture.pcap older.pcapng   a year earlier`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return cli.Usage(errors.New("anonymize: name a capture and the file that is to be written"), "qsniff anonymize IN OUT")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.write.path = args[1]
			return readCaptures(cmd.Context(), opts, args[:1], io)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	opts.write.anonymize.register(cmd, "")
	opts.write.registerFile(cmd, "")
	opts.registerServersFilter(cmd)
	opts.registerInput(cmd)
	cmd.ValidArgsFunction = completeCaptures
	return cmd
}
