package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"qsniff/dissect"
	"qsniff/dissect/protocols"
	"qsniff/internal/payload"
	"qsniff/pipeline"
	"qsniff/render"
	"qsniff/render/jsonl"
)

// decodeOptions are the flags of decode.
type decodeOptions struct {
	readOptions // output, colour, layout, secrets
	proto       string
	dir         string
}

func newDecode(io streams) *cobra.Command {
	opts := &decodeOptions{readOptions: *readDefaults()}
	cmd := &cobra.Command{
		Use:     "decode [flags] [PAYLOAD...|-]",
		GroupID: groupTraffic,
		Short:   "decode payloads without a capture",
		Long: `decode reads payloads as programs print them and people paste them, and decodes
them like captured ones: hexadecimal, base64, strings with \xff escapes as C, Go,
Python, JavaScript and PHP write them, arrays of numbers, and dumps of tcpdump -X,
xxd, hexdump -C, od -tx1 and Wireshark. A dump of whole packets is told, and what
they carry is decoded.

Each argument is a payload; "-", or no argument, reads standard input, where blank
lines stand between payloads. Give all parts of a split reply together, in any
order. A request may stand in front of its reply: it tells what the reply is where
its bytes do not.

Of a message so short that it could be anything, the only reading that there is
counts, and is called weak; --as and --dir choose where there are several.

Exit status: 0 something was decoded, 1 nothing was, 2 wrong usage.`,
		Example: `  qsniff decode ffffffff54536f7572636520456e67696e6520517565727900
  qsniff decode '\xff\xff\xff\xffA\x4b\xa1\xd5\x22' -o tree
  qsniff decode /////0FLodUi                     base64
  qsniff decode '{0xff, 0xff, 0xff, 0xff, 0x69}'
  tcpdump -nXr capture.pcap udp | qsniff decode -o tree
  qsniff decode --as ase '"s"'                   one byte, of one protocol
  xxd part1.bin | qsniff decode - "$(xxd part2.bin)"`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return decode(cmd.Context(), opts, args, cmd.InOrStdin(), io)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.VarP(&choice{&opts.output, []string{"text", "tree", "hex", "json"}}, "output", "o",
		"text: a line a message; tree: annotated fields; hex: annotated bytes; json: an object a line")
	f.StringVar(&opts.proto, "as", "", "decode as `PROTOCOL`: a2s, goldsource, ase, ...")
	f.Var(&choice{&opts.dir, []string{"request", "reply"}}, "dir", "who sent the payloads: a client its requests, a server its replies")
	f.BoolVar(&opts.layout, "layout", false, "json: list every byte with its field")
	f.Var(&choice{&opts.color, []string{"auto", "always", "never"}}, "color", "text, tree, hex: auto colours terminals only")
	f.BoolVar(&opts.secrets, "show-secrets", false, "print passwords and log secrets instead of <redacted>")
	return cmd
}

// decode decodes the payloads in args to io.
func decode(ctx context.Context, opts *decodeOptions, args []string, in io.Reader, io streams) error {
	r, err := opts.bare(io.out)
	if err != nil {
		return err
	}
	all := protocols.All()
	reg, err := dissect.NewRegistry(all...)
	if err != nil {
		return err
	}
	p := plan{reg: reg, all: all, dir: opts.dir}
	if opts.proto != "" {
		if p.as = protoNamed(reg, opts.proto); p.as == nil {
			return unknownProto("--as "+opts.proto, opts.proto, reg)
		}
	}
	payloads, err := readPayloads(args, in, reg.Marks())
	if err != nil {
		return err
	}
	p.make(payloads)
	t := told{Renderer: r, plan: &p}
	_, err = pipeline.Run(ctx, pipeline.Config{Source: &p.source, Registry: reg, Renderer: &t, Out: io.out,
		Jobs: 1, DecodeAs: p.rules})
	if err != nil {
		return err
	}
	t.remark(io.err)
	if t.messages == 0 {
		return errNothing
	}
	return nil
}

// errNothing ends a run that decoded nothing; what was said of each payload is its
// reason.
var errNothing = errors.New("nothing was decoded")

// bare makes the renderer that was asked for, without what only packets tell.
func (o *decodeOptions) bare(out io.Writer) (render.Renderer, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if o.output == "json" {
		return jsonl.New(jsonl.Options{Layout: o.layout, ShowSecrets: o.secrets, Bare: true}), nil
	}
	opt := o.textOptions(out)
	opt.Bare = true
	return o.textual(opt), nil
}

// readPayloads reads the arguments, or standard input where there are none. A line
// that begins with one of marks is a payload of its own.
func readPayloads(args []string, in io.Reader, marks payload.Marks) ([]payload.Payload, error) {
	if len(args) == 0 {
		args = []string{stdin}
		if isTerminal(in) {
			return nil, &usageError{errors.New("decode: no payload given"), "give one as " + payload.Forms + ", or pipe it in"}
		}
	}
	var all []payload.Payload
	for i, arg := range args {
		name := fmt.Sprintf("argument %d", i+1)
		if arg == stdin {
			name = "standard input"
			b, err := io.ReadAll(io.LimitReader(in, payload.MaxText+1))
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			arg = string(b)
		}
		ps, err := payload.Parse(arg, marks)
		if err != nil {
			return nil, unread(name, err)
		}
		if all = append(all, ps...); len(all) > payload.MaxPayloads {
			return nil, &usageError{fmt.Errorf("%s: more than %d payloads in all", name, payload.MaxPayloads),
				"a capture has room for more: qsniff read takes those"}
		}
	}
	return all, nil
}

// unread is the error of a text that holds no payload.
func unread(name string, err error) error {
	hint := ""
	var why *payload.Error
	if errors.As(err, &why) {
		hint = why.Hint
	}
	if hint == "" {
		hint = "give it as " + payload.Forms
	}
	return &usageError{fmt.Errorf("%s: %w", name, err), hint}
}
