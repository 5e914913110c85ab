package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"qsniff/dissect"
	"qsniff/dissect/protocols"
	"qsniff/internal/app/cli"
	"qsniff/internal/app/decode"
	"qsniff/internal/app/payload"
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
		if p.As = reg.ProtoNamed(opts.proto); p.As == nil {
			return unknownProtoError("--as "+opts.proto, opts.proto, reg)
		}
	}
	if len(args) == 0 {
		if isTerminal(in) {
			return cli.Usage(errors.New("decode: no payload given"), "give one as "+payload.Forms+"; name a file that holds it, or pipe it in")
		}
		args = []string{decode.Stdin}
	}
	from := decode.Input{Args: args, Stdin: in, IsRaw: opts.isRaw, Marks: reg.Marks(), Note: func(line string) { fmt.Fprintln(io.err, "qsniff:", line) }}
	payloads, err := from.ReadBefore(ctx, grace)
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
