package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"qsniff/internal/base/hostset"
	"qsniff/internal/flood/limiter"
	"qsniff/internal/flood/proof"
	"qsniff/internal/render"
	"qsniff/internal/render/counters"
	"qsniff/internal/render/jsonl"
	"qsniff/internal/render/tally"
	"qsniff/internal/render/text"
	"qsniff/internal/track"
)

// parseLimits parses the value of --limits.
func parseLimits(value string) (limiter.Model, error) {
	m, err := limiter.ParseModel(value)
	if err != nil {
		return m, &usageError{fmt.Errorf("--limits %w", err), limitsHint}
	}
	return m, nil
}

// limitsHelp is the part on --limits of the help of floods.
const limitsHelp = `--limits runs the limiter that a game server has itself over the queries of a capture
and says whom it would have refused, when, and whether those were clients that are
proven to be at their address (qsniff proven), at any time in the capture: rehlds,
source, source-late (branches with a limit of 3000/s from all) or csgo, or numbers,
which also change those of a name: source,global=3000. per= is a limit of packets a
second from one source, global= from all, and both are averaged over window= seconds.
Everything counts that begins with FF FF FF FF. The engine's own windows may have begun
at another time than the replay's, which begin with the capture. With -o json the output
is an object for each server, with "record":"limits".`

const limitsHint = "one of " + limiter.Usage

// replayLimits reads captures and prints whom the limits would have refused. Of opts
// it uses the flags of all commands that read packets, and output, utc and color.
func replayLimits(ctx context.Context, opts *readOptions, model limiter.Model, ours *hostset.Set, args []string, io streams) error {
	j, err := opts.prepareAll(ctx, args, io)
	if err != nil {
		return err
	}
	defer j.release()
	r := limiter.New(limiter.Options{Model: model, Ours: ours, Scale: opts.scale()})
	j.cfg.Watchers = []track.Watcher{r}
	j.showsInterrupt = opts.output == "text"
	return j.runToEnd(func(run tally.Run) error {
		l := &render.Limits{Run: run, Summary: *r.Summary()}
		printLimitsRemarks(io.err, l, ours != nil)
		if opts.output == "json" {
			return write(io.out, jsonl.AppendLimits(nil, l))
		}
		return write(io.out, text.AppendLimits(nil, l, opts.textOptions(io.out)))
	})
}

// printLimitsRemarks prints on standard error why there is nothing to replay, or what makes
// the replay less exact.
func printLimitsRemarks(w io.Writer, l *render.Limits, filtered bool) {
	switch {
	case l.Run.Packets == 0:
		fmt.Fprintln(w, "qsniff: the capture has no packets")
	case len(l.Servers) == 0 && filtered:
		fmt.Fprintln(w, "qsniff: nothing to replay: no query to the servers that --servers names")
	case len(l.Servers) == 0:
		fmt.Fprintln(w, "qsniff: nothing to replay: no query that an engine's limiter counts; it counts what begins with FF FF FF FF and goes to a game server")
	case l.Proofs.Why() == proof.OnlyToServer:
		fmt.Fprintln(w, "qsniff: the capture has only what goes to servers: it does not show which sources are players and which are forged; capture both directions")
	}
	printCopies(w, &l.Run)
	printUnproving(w, l.Proofs)
	printHints(w, &counters.Result{Limits: l.Summary}, counters.Limits)
	if l.Proofs.Counts.Lost > 0 || l.Run.Dropped > 0 {
		fmt.Fprintln(w, "qsniff: packets are missing from the capture: more would have been refused")
	}
}

// completeLimits proposes the engines whose limits are known.
func completeLimits(_ *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var found []cobra.Completion
	for _, m := range limiter.Models {
		if strings.HasPrefix(m.Name, word) {
			found = append(found, cobra.CompletionWithDesc(m.Name, fmt.Sprintf("%g/s from one source, %g/s from all, over %d s", m.Per, m.Global, m.Window)))
		}
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}
