package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"qsniff/internal/app/cli"
	"qsniff/internal/render"
	"qsniff/internal/render/jsonl"
	"qsniff/internal/render/text"
	"qsniff/internal/track"
	"qsniff/internal/track/vantages"
)

// vantagesOptions are the flags of vantages. Those that read has, too, are in readOptions.
type vantagesOptions struct {
	readOptions
	failOn string
	top    int
}

func newVantages(s streams) *cobra.Command {
	opts := &vantagesOptions{readOptions: *readDefaults(), top: 10}
	cmd := &cobra.Command{
		Use:     "vantages [flags] FILE FILE...",
		GroupID: groupTraffic,
		Short:   "compare answer times in captures of several clients",
		Long: `vantages compares captures that were made at several clients, the vantages, of the same
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
		Example: `  qsniff vantages near.pcap far.pcap
  qsniff vantages --servers 198.18.0.0/15 near.pcap far.pcap
  qsniff vantages -o json near.pcap far.pcap | jq -r 'select(.verdict == "flat") | .server'`,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) < 2:
				return &usageError{errors.New("vantages: name a capture of each client, two at least"), "qsniff vantages NEAR FAR: captures of the same servers, made at several clients"}
			case len(args) > vantages.MaxCaptures:
				return &usageError{fmt.Errorf("vantages: %d captures, and at most %d are compared", len(args), vantages.MaxCaptures), "name a folder for each client"}
			}
			for i, name := range args {
				if slices.Contains(args[:i], name) {
					return &usageError{fmt.Errorf("vantages: %s is named twice", name), "name each capture once"}
				}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return compareVantages(cmd.Context(), opts, args, s) },
	}
	cmd.ValidArgsFunction = completeCaptures
	f := cmd.Flags()
	f.SortFlags = false
	f.VarP(cli.OneOf(&opts.output, "text", "json"), "output", "o", "text: for people; json: an object with the captures, then an object a line for each server")
	f.Var(cli.OneOf(&opts.failOn, severities[1:]...), "fail-on", "exit with status 3 if there is a finding of this severity or above")
	f.IntVar(&opts.top, "top", opts.top, "text: list `N` servers")
	opts.registerFilter(cmd)
	opts.registerPage(cmd)
	opts.registerServers(cmd, "judge these servers only")
	opts.registerInput(cmd)
	addHabits(cmd, &opts.readOptions)
	propose(cmd, "top", cobra.NoFileCompletions)
	return cmd
}

// compareVantages reads captures, one after the other, and prints how servers answer in them.
func compareVantages(ctx context.Context, opts *vantagesOptions, args []string, s streams) error {
	ours, err := opts.parseServers()
	if err != nil {
		return err
	}
	if opts.top < 1 {
		return &usageError{fmt.Errorf("--top %d: at least 1 is needed", opts.top), "leave it out for ten"}
	}
	if err := opts.check(); err != nil {
		return err
	}
	if _, _, err := opts.listInputs(args); err != nil { // before anything is read
		return err
	}
	x := &render.Vantages{Top: opts.top}
	var all []*vantages.Capture
	var failed error
	names := shortNames(args)
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
	x.Servers = vantages.Compare(all, ours)
	if err := opts.print(s, x); err != nil {
		return err
	}
	if failed == nil && opts.isFailOnReached(x) {
		return errFailOnReached
	}
	return failed
}

// readVantage reads one capture. Of a capture that is malformed or cut short it returns what could be read, with
// an error; of one that cannot be read at all, nil.
func (o *vantagesOptions) readVantage(ctx context.Context, name string, s streams) (*vantages.Capture, render.Vantage, error) {
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

// shortNames returns captures by their names without folders, if these differ.
func shortNames(paths []string) []string {
	var names []string
	for _, path := range paths {
		name := filepath.Base(path)
		if slices.Contains(names, name) {
			return paths
		}
		names = append(names, name)
	}
	return names
}

func (o *vantagesOptions) print(s streams, x *render.Vantages) error {
	if o.output == "json" {
		return write(s.out, jsonl.AppendVantages(nil, x))
	}
	return write(s.out, text.AppendVantages(nil, x, o.textOptions(s.out)))
}

// isFailOnReached reports whether there is a finding of the severity of --fail-on or above.
func (o *vantagesOptions) isFailOnReached(x *render.Vantages) bool {
	return o.failOn != "" && slices.ContainsFunc(x.Servers, func(s vantages.Server) bool {
		e, ok := s.Finding()
		return ok && e.Severity >= severityNamed(o.failOn)
	})
}
