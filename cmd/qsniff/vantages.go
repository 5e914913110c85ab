package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"qsniff/internal/app/cli"
	"qsniff/internal/render"
	"qsniff/internal/render/jsonl"
	"qsniff/internal/render/text"
	"qsniff/internal/track"
	"qsniff/internal/track/vantages"
)

func newVantages() *analysis {
	o := readDefaults()
	return &analysis{
		use:   "vantages [flags] FILE FILE...",
		short: "compare answer times in captures of several clients",
		long: `vantages compares captures that were made at several clients, the vantages, of the same
servers: a file, or a folder of files, for each client. It prints how long answers take
at each, by kind, and what else shows how long the path to the server is; and it says
where answers take the same time though the paths do not (LIE-02): a cache at the edge of
an anycast network answers, or something holds answers back.

The path's length comes from what the server's own kind of answer cannot show, the most
trusted first: TCP handshakes with the host at any port, ICMP echoes to it, lists of players
and rules and what else is rarely cached, answers at another port of the host. Their least
times are compared; the time to live is printed beside them, and decides nothing. Clocks
need not agree. Ten answers of a kind in each capture are judged, five handshakes or
echoes. Answers to repeated requests do not count.

Times are the same if least and median differ by a quarter of what the paths differ by, at
most 25 ms. Paths must differ by 10 ms where answers come sooner than the path allows, by
76 ms where the server's frames could explain it, and by how much the times vary on top.

  flat        the same time, and other paths: LIE-02
  follows     slower where the path is longer, as of every honest server
  close       the paths are about as long: clients are near to each other, or all of the
              host is at the edge of an anycast network
  unclear     times vary as much as the paths differ, or are neither equal nor follow them
  no path     too little shows how long the paths are
  too few     fewer answers than ten at a client
  unanswered  fewer than two captures have answers of one kind

With -o json the first line has the captures ("record":"vantages"), and each further one a
server ("record":"vantage_server"): server, verdict, protocol and message of the answers
that were judged, near and far (indices in captures), answers_differ_ms, paths_differ_ms,
needed_ms, sooner, points (asked, answered, answers, path), and findings.

` + filterHelp + `

Ctrl-C prints what was read so far; the first line then says how far that is ("interrupted"
in JSON).

FILE is as in qsniff read; standard input can be one of them.

Exit status: 0 fine, 1 the run failed, 2 wrong usage, 3 --fail-on was reached, 130
interrupted.`,
		example: `  qsniff vantages near.pcap far.pcap
  qsniff vantages --servers 198.18.0.0/15 near.pcap far.pcap
  qsniff vantages -o json near.pcap far.pcap | jq -r 'select(.verdict == "flat") | .server'`,
		opts: o,
		flags: func(cmd *cobra.Command) {
			o.registerOutput(cmd, "text: for people; json: an object with the captures, then an object a line for each server", "text", "json")
			cmd.Flags().Var(cli.OneOf(&o.failOn, severities[1:]...), "fail-on", "exit with status 3 if there is a finding of this severity or above")
			o.registerTop(cmd, 10, "text: list `N` servers")
			o.registerFilter(cmd)
			o.registerPage(cmd)
			o.registerServers(cmd, "judge these servers only")
			o.registerInput(cmd)
		},
		args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) < 2:
				return cli.Usage(errors.New("vantages: name a capture of each client, two at least"), "qsniff vantages NEAR FAR: captures of the same servers, made at several clients")
			case len(args) > vantages.MaxCaptures:
				return cli.Usage(fmt.Errorf("vantages: %d captures, and at most %d are compared", len(args), vantages.MaxCaptures), "name a folder for each client")
			}
			for i, name := range args {
				if slices.Contains(args[:i], name) {
					return cli.Usage(fmt.Errorf("vantages: %s is named twice", name), "name each capture once")
				}
			}
			return nil
		},
		run: func(ctx context.Context, args []string, io streams) error { return compareVantages(ctx, o, args, io) },
	}
}

// compareVantages reads captures, one after the other, and prints how servers answer in them.
func compareVantages(ctx context.Context, opts *readOptions, args []string, s streams) error {
	if _, _, err := opts.listInputs(args); err != nil { // before anything is read
		return err
	}
	x := &render.Vantages{Top: opts.top}
	var all []*vantages.Capture
	var failed error
	names := vantages.ShortNames(args)
	for i, name := range args {
		c, v, err := opts.readVantage(ctx, name, s)
		if c == nil {
			return err
		}
		v.Name = names[i]
		x.Captures, all = append(x.Captures, v), append(all, c)
		if failed == nil {
			failed = err
		}
		if v.Run.Interrupted {
			x.Unread = len(args) - len(all)
			break
		}
	}
	x.Servers = vantages.Compare(all, opts.ours)
	if err := printForm(opts, s, x, "", jsonl.AppendVantages, text.AppendVantages); err != nil {
		return err
	}
	if failed == nil && opts.reachesFailOn(x) {
		return errFailOnReached
	}
	return failed
}

// readVantage reads one capture. Of a capture that is malformed or cut short it returns what could be read, with
// an error; of one that cannot be read at all, nil.
func (o *readOptions) readVantage(ctx context.Context, name string, s streams) (*vantages.Capture, render.Vantage, error) {
	j, err := o.openJob(ctx, []string{name}, s)
	if err != nil {
		return nil, render.Vantage{}, err
	}
	defer j.release()
	c := vantages.NewCollector(o.scale())
	j.cfg.Listener, j.cfg.Watchers = c, []track.Watcher{c}
	j.showsInterrupt = o.output == "text"
	run, err := j.run()
	if err == nil {
		err = j.src.Close()
	}
	if err != nil && run.Packets == 0 && !run.Interrupted {
		return nil, render.Vantage{}, err
	}
	capture := c.Capture()
	return capture, render.Vantage{Run: run, Evicted: capture.Evicted}, j.exitError(err)
}

// reachesFailOn reports whether there is a finding of the severity of --fail-on or above.
func (o *readOptions) reachesFailOn(x *render.Vantages) bool {
	return o.failOn != "" && slices.ContainsFunc(x.Servers, func(s vantages.Server) bool {
		e, ok := s.Finding()
		return ok && e.Severity >= severityNamed(o.failOn)
	})
}
