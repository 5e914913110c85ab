package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"

	"qsniff/capture/file"
	"qsniff/dissect"
	"qsniff/dissect/protocols"
	"qsniff/internal/app/cli"
	"qsniff/internal/app/decode"
	"qsniff/internal/app/payload"
	"qsniff/internal/base/display"
	"qsniff/internal/pipeline"
	"qsniff/internal/render"
	"qsniff/internal/render/jsonl"
)

// decodeOptions are the flags of decode.
type decodeOptions struct {
	readOptions         // output, colour, layout, secrets
	isOutputChosen bool // -o is on the command line
	isRaw          bool
	proto          string
	dir            string
}

func newDecode(io streams) *cobra.Command {
	opts := &decodeOptions{readOptions: *readDefaults()}
	cmd := &cobra.Command{
		Use:     "decode [flags] [PAYLOAD|FILE|-]...",
		GroupID: groupTraffic,
		Short:   "decode payloads without a capture",
		Long:    decodeHelp,
		Example: `  qsniff decode ffffffff54536f7572636520456e67696e6520517565727900
  qsniff decode '\xff\xff\xff\xffA\x4b\xa1\xd5\x22' -o json
  qsniff decode /////0FLodUi                     base64
  qsniff decode '{0xff, 0xff, 0xff, 0xff, 0x69}'
  qsniff decode part1.bin part2.bin              files of bytes, or of any form
  cat part1.bin | qsniff decode                  the same from a program
  tcpdump -nXr capture.pcap udp | qsniff decode
  qsniff decode --as ase '"s"'                   one byte, of one protocol
  xxd -p part1.bin | qsniff decode - part2.bin`,
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.isOutputChosen = cmd.Flags().Changed("output")
			return runDecode(cmd.Context(), opts, args, cmd.InOrStdin(), io)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.VarP(cli.OneOf(&opts.output, "text", "tree", "hex", "json"), "output", "o",
		"text: a line a message; tree: annotated fields; hex: annotated bytes; json: an object a line")
	f.Lookup("output").DefValue = "tree of one payload, text of several"
	f.BoolVar(&opts.isRaw, "raw", false, "files and standard input hold the bytes of one payload each, even where they look like text")
	f.StringVar(&opts.proto, "as", "", "decode as `PROTOCOL`: a2s, goldsource, ase, ...")
	f.Var(cli.OneOf(&opts.dir, "request", "reply"), "dir", "who sent the payloads: a client its requests, a server its replies")
	f.BoolVar(&opts.layout, "layout", false, "json: list every byte with its field")
	f.Var(cli.OneOf(&opts.color, "auto", "always", "never"), "color", "text, tree, hex: auto colours terminals only")
	f.BoolVar(&opts.showsSecrets, "show-secrets", false, "print passwords and log secrets instead of <redacted>")
	return cmd
}

// decodeHelp is the long description in the help of qsniff decode.
const decodeHelp = `decode reads payloads as programs print them and people paste them, and decodes
them like captured ones: hexadecimal, base64, strings with \xff escapes as C, Go, Rust,
Python, JavaScript and PHP write them, with <FF> or \ff for a byte, arrays of numbers,
and dumps: rows of bytes with offsets, text beside them, or both. tcpdump -X, xxd,
hexdump -C, od -tx1, Wireshark (bytes, Follow Stream), FortiGate, Cisco ASA, qstat -d,
gamedig --debug and wikis print such. Dumps of whole packets are recognised, and what
they carry is decoded.

Lines around the bytes are skipped, and counted. A dump that leaves bytes out (... or
<4 byte challenge>) is decoded up to there. Where text and bytes of a row differ, the
bytes count, with a warning. A row that cannot be read is an error.

An argument is a file if one of that name exists, and a payload otherwise; "-", or
no argument, is standard input. Files and standard input hold payloads in these
forms, with blank lines between them, or the bytes of one payload: what is no text
is taken as it is, and with --raw everything is. Captures are for qsniff read.

Give all parts of a split reply together, in any order. A request may precede its
reply: it decides what the reply is where its bytes do not. One payload is shown as a
tree, several as a line a message.

Of a message so short that it could be anything, the only reading that there is
counts, and is called weak; --as and --dir choose where there are several.

Exit status: 0 something was decoded, 1 nothing was, 2 wrong usage, 130 interrupted.`

// runDecode decodes the payloads in args, or those of in, and prints their messages to io.
func runDecode(ctx context.Context, opts *decodeOptions, args []string, in io.Reader, io streams) error {
	if err := opts.check(); err != nil {
		return err
	}
	all := protocols.All()
	reg, err := dissect.NewRegistry(all...)
	if err != nil {
		return err
	}
	p := decode.Plan{Options: decode.Options{Registry: reg, Protocols: all, Dir: opts.dir}}
	if opts.proto != "" {
		if p.As = protoNamed(reg, opts.proto); p.As == nil {
			return unknownProtoError("--as "+opts.proto, opts.proto, reg)
		}
	}
	from := payloadInput{args: args, stdin: in, isRaw: opts.isRaw, marks: reg.Marks(), err: io.err}
	payloads, err := from.readBefore(ctx)
	if err != nil {
		return err
	}
	p.AddPayloads(payloads)
	t := p.NewRenderer(opts.newBareRenderer(io.out, len(payloads)))
	_, err = pipeline.Run(context.WithoutCancel(ctx), pipeline.Config{Source: &p.Source, Registry: reg, Renderer: t, Out: io.out,
		Jobs: 1, DecodeAs: p.Rules})
	if err != nil {
		return err
	}
	for _, x := range t.Remarks() {
		printError(io.err, errors.New(x.Text), x.Hint)
	}
	if t.Messages == 0 {
		return errNothing
	}
	return ctx.Err()
}

// errNothing ends a run that decoded nothing. The reason was printed for each payload.
var errNothing = errors.New("nothing was decoded")

// newBareRenderer returns the renderer for n payloads: without time and ends, which only
// packets have.
func (o *decodeOptions) newBareRenderer(out io.Writer, n int) render.Renderer {
	form := *o
	if n == 1 && !o.isOutputChosen {
		form.output = "tree"
	}
	if form.output == "json" {
		return jsonl.New(jsonl.Options{Layout: o.layout, ShowSecrets: o.showsSecrets, Bare: true})
	}
	opt := form.textOptions(out)
	opt.Bare = true
	return form.newTextRenderer(opt)
}

// payloadInput is what decode reads its payloads from.
type payloadInput struct {
	args  []string // none: standard input
	stdin io.Reader
	marks payload.Marks // first bytes of messages: a line that begins with one is a payload of its own
	isRaw bool          // files and standard input hold bytes, whatever they look like
	err   io.Writer
}

// readBefore reads the payloads unless ctx ends first. Standard input that ends soon
// after ctx counts as read: Ctrl-C reaches the program that writes it too.
func (in *payloadInput) readBefore(ctx context.Context) ([]payload.Payload, error) {
	var ps []payload.Payload
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		ps, err = in.read()
	}()
	select {
	case <-done:
		return ps, err
	case <-ctx.Done():
	}
	select {
	case <-done:
		return ps, err
	case <-time.After(grace):
		return nil, ctx.Err()
	}
}

// read reads the arguments, or standard input where there are none.
func (in *payloadInput) read() ([]payload.Payload, error) {
	args := in.args
	if len(args) == 0 {
		args = []string{stdin}
		if isTerminal(in.stdin) {
			return nil, &usageError{errors.New("decode: no payload given"), "give one as " + payload.Forms + "; name a file that holds it, or pipe it in"}
		}
	}
	var all []payload.Payload
	for i, arg := range args {
		ps, err := in.readArg(i+1, arg)
		if err != nil {
			return nil, err
		}
		if all = append(all, ps...); len(all) > payload.MaxPayloads {
			return nil, &usageError{fmt.Errorf("argument %d: more than %d payloads in all", i+1, payload.MaxPayloads),
				"a capture has room for more: qsniff read takes those"}
		}
	}
	return all, nil
}

// readArg reads one argument: standard input, a file if there is one of that name, or a
// payload. An argument that is no file is never quoted: it may hold a password.
func (in *payloadInput) readArg(no int, arg string) ([]payload.Payload, error) {
	if arg == stdin {
		return in.readContent("standard input", in.stdin)
	}
	info, err := os.Stat(arg)
	switch {
	case err == nil && (in.isRaw || !info.IsDir()):
		return in.readFile(arg)
	case in.isRaw:
		return nil, &usageError{fmt.Errorf("argument %d: %w", no, systemReason(err)), "--raw takes files, and standard input as -; leave it out to give a payload itself"}
	}
	ps, err := payload.Read([]byte(arg), in.marks)
	if err != nil {
		return nil, unreadError(fmt.Sprintf("argument %d", no), "no file has that name either; ", err)
	}
	return ps, nil
}

// readFile reads a file, and prints a remark where its name could be a payload.
func (in *payloadInput) readFile(arg string) ([]payload.Payload, error) {
	name := string(display.AppendEscaped(nil, []byte(arg), 0))
	f, err := os.Open(arg)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, systemReason(err))
	}
	defer f.Close()
	if _, err := payload.Parse(arg, in.marks); err == nil && !in.isRaw {
		fmt.Fprintf(in.err, "qsniff: %s is read as a file; to decode the name: echo %s | qsniff decode\n", name, name)
	}
	return in.readContent(name, f)
}

// readContent reads the payloads in r, which errors call name.
func (in *payloadInput) readContent(name string, r io.Reader) ([]payload.Payload, error) {
	b, err := io.ReadAll(io.LimitReader(r, payload.MaxText+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, systemReason(err))
	}
	read := func(b []byte) ([]payload.Payload, error) { return payload.Read(b, in.marks) }
	if in.isRaw {
		read = payload.AsIs
	} else if !payload.IsText(b) {
		if err := file.NotPayload(name, b); err != nil {
			return nil, &usageError{err, err.Hint + "; --raw takes its bytes as a payload"}
		}
	}
	ps, err := read(b)
	if err != nil {
		return nil, unreadError(name, "", err)
	}
	return ps, nil
}

// unreadError is the error of an input that holds no payload. Its hint begins with also if
// err has none.
func unreadError(name, also string, err error) error {
	hint := also + "give it as " + payload.Forms
	if why := (*payload.Error)(nil); errors.As(err, &why) && why.Hint != "" {
		hint = why.Hint
	}
	return &usageError{fmt.Errorf("%s: %w", name, err), hint}
}

// systemReason returns the system's error about a file without operation and name.
func systemReason(err error) error {
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		return path.Err
	}
	return err
}
