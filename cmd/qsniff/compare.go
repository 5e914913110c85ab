package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"qsniff/internal/app/cli"
	"qsniff/internal/app/compare"
	"qsniff/internal/pipeline/filter"
	"qsniff/internal/render/dialogue"
	"qsniff/internal/render/jsonl"
	"qsniff/internal/render/tally"
	"qsniff/internal/render/text"
)

// compareOptions are the flags of compare.
type compareOptions struct {
	readOptions
	at        string // time that splits one server's traffic
	isClients bool
	isVerbose bool

	sides *compare.Sides // set by parseSides
}

func newCompare() *analysis {
	o := &compareOptions{readOptions: *readDefaults()}
	return &analysis{
		use:   "compare [flags] SERVER_A SERVER_B FILE...",
		short: "compare two servers, of which a client works with one",
		long: `compare says what one of two servers does otherwise than the other, field by field: whether it
answers, at once or after a challenge, in which messages and in which order, whole, in parts
or compressed, which fields it has, how long it takes, what was found, and which names are in
its lists of rules. The first line is the difference that a client which reads strictly fails
at first. Differences are listed in that order:

  answers, challenges, requests (of clients), parts, completeness, faults of the server that a
  client has to deal with, types of replies, fields, fields and lists that are not always there,
  order of replies, sizes, other findings, times from 0.4 s on, notes, names in lists, lengths

The server that works with the client is best named first: what makes only that one harder to
read comes later. Values, as the name of a server or its map, always differ: -v and -o json list
those that never vary at either server. The last lines are what is equal, and what was not
compared, as only one of the two was asked for it.

SERVER is an address with a port, 198.18.0.1:27015, an address or a network. With --clients the
two are clients, of one server: what does the server answer to one, and what not to the other?
With --at there is one server, before that time and from it on.

Of the time for an answer the median is compared, of the first 1,024 exchanges of each
question. Shares of unanswered requests differ if it is by a tenth, in ten requests.

With -o json the first line has the two sides ("record":"comparison"): sides, differences (how
many follow), equal, uncompared, unkept. Each further line is a difference
("record":"contrast"): rank, aspect, protocol, message, what, values (of both sides), text,
and fields, only (names) or finding where it is about these.

` + filterHelp + `

Ctrl-C prints what was read so far; the first line then says how far that is ("interrupted"
in JSON).

FILE is as in qsniff read.`,
		example: `  qsniff compare 198.18.3.2:27015 198.18.5.2:27015 servers.pcap
  qsniff compare --clients 10.64.4.1 10.64.3.1 clients.pcap      one server, two clients
  qsniff compare --at "2023-11-14 22:13:30 UTC" 198.18.5.2 servers.pcap   before and after an update
  qsniff compare -o json 198.18.3.2 198.18.5.2 servers.pcap | jq -r '.text // empty'`,
		opts: &o.readOptions,
		args: func(_ *cobra.Command, args []string) error { return o.parseSides(args) },
		flags: func(cmd *cobra.Command) {
			o.registerOutput(cmd, "text: for people; json: an object with the two sides, then an object a line for each difference", "text", "json")
			f := cmd.Flags()
			f.BoolVar(&o.isClients, "clients", false, "the two are clients; of a server, if --servers names it")
			f.Var(cli.Text(&o.at, "TIME"), "at", "compare one server before and from a time: \"2023-11-14 22:13:20\", or seconds since 1970")
			propose(cmd, "at", cobra.NoFileCompletions)
			f.BoolVarP(&o.isVerbose, "verbose", "v", false, "text: list all differences, also those of values")
			f.BoolVar(&o.showsSecrets, "show-secrets", false, "print passwords instead of <redacted>")
			o.registerFilter(cmd)
			o.registerPage(cmd)
			o.registerServers(cmd, "with --clients: compare what these servers answer only")
			o.registerInput(cmd)
		},
		run: func(ctx context.Context, args []string, io streams) error {
			return runCompare(ctx, o, args[o.operands():], io)
		},
	}
}

// operands returns how many arguments precede the files.
func (o *compareOptions) operands() int {
	if o.at != "" {
		return 1
	}
	return 2
}

// parseSides sets what is compared.
func (o *compareOptions) parseSides(args []string) (err error) {
	n := o.operands()
	switch {
	case o.at != "" && o.isClients:
		return cli.Usage(errors.New("compare: --at goes with one server, --clients with two clients"), "leave one of them out")
	case o.servers != "" && !o.isClients:
		return cli.Usage(errors.New("compare: --servers goes with --clients"), "the servers that are compared precede the captures")
	case len(args) < n && n == 1:
		return cli.Usage(errors.New("compare: name a server and a capture"), `qsniff compare --at "2023-11-14 22:20" 198.18.0.1:27015 FILE`)
	case len(args) < n:
		return cli.Usage(errors.New("compare: name the two that are compared, and a capture"), "qsniff compare 198.18.0.1:27015 198.18.0.2:27015 FILE; qsniff stats FILE lists servers and clients")
	case len(args) == n:
		return cli.Usage(fmt.Errorf("compare: no capture given after %s", strings.Join(args, " ")), "name a file, or - for standard input")
	}
	switch {
	case o.isClients:
		if err := o.parseServers(); err != nil {
			return err
		}
		o.sides, err = compare.Clients(args[0], args[1], o.ours)
	case o.at != "":
		where := time.Local
		if o.utc {
			where = time.UTC
		}
		at, ok := filter.ParseTime(o.at, where)
		if !ok {
			return cli.Usage(fmt.Errorf("--at %s: not a time", o.at), `write "2023-11-14 22:13:20" or seconds since 1970`)
		}
		o.sides, err = compare.Times(args[0], at)
	default:
		o.sides, err = compare.Servers(args[0], args[1])
	}
	if _, isFile := os.Stat(args[0]); err != nil && isFile == nil {
		return cli.Usage(fmt.Errorf("compare: %s is a file", args[0]), "the two that are compared come first, then the captures: qsniff compare 198.18.0.1:27015 198.18.0.2:27015 "+args[0])
	}
	if err != nil {
		return cli.Usage(fmt.Errorf("compare: %w", err), "write addresses, addresses with a port, or networks, and then captures: 198.18.0.1:27015 [2001:db8::1]:27015 FILE")
	}
	return nil
}

// runCompare reads captures and prints what two sides differ in.
func runCompare(ctx context.Context, o *compareOptions, files []string, io streams) error {
	j, err := o.openJob(ctx, files, io)
	if err != nil {
		return err
	}
	defer j.release()
	c := compare.New(o.sides, o.showsSecrets)
	j.cfg.Dialogues = dialogue.New(dialogue.Options{Renderer: c, Size: o.scale()})
	j.showsInterrupt = o.output == "text"
	j.print = func(run tally.Run) error {
		if name, others := c.Missing(); name != "" {
			hint := "qsniff stats lists servers and clients"
			switch {
			case c.AreClients():
				hint = "it asks servers: --clients compares two clients"
			case len(others) > 0:
				hint = fmt.Sprintf("there are exchanges with %s; qsniff stats lists all", strings.Trim(fmt.Sprint(others), "[]"))
			}
			return cli.Hinted(fmt.Errorf("compare: the capture has no exchange of %s", name), hint)
		}
		x := c.Result(run)
		x.Verbose = o.isVerbose
		printWrittenEarly(io.err, j.cfg.Dialogues)
		return printForm(&o.readOptions, io, x, "", jsonl.AppendComparison, text.AppendComparison)
	}
	return j.runToEnd()
}
