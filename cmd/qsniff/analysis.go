package main

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"

	"qsniff/internal/render/csv"
	"qsniff/internal/render/text"
)

// analysis is a command that reads captures, or captures on interfaces, and prints what it made of the packets: a
// row with what differs from the others. Such a command runs in this order: args, checks, start, the packets,
// job.print, job.after.
type analysis struct {
	use, short, long, example string
	opts                      *readOptions
	args                      cobra.PositionalArgs // nil: opts.requireInput
	flags                     func(cmd *cobra.Command)
	check                     func(cmd *cobra.Command, args []string, io streams) error  // what opts.check does not; may be nil
	start                     func(j *job) error                                         // sets up the run
	run                       func(ctx context.Context, args []string, io streams) error // in place of openJob and start; may be nil
}

// analyses returns the rows.
func analyses() []*analysis {
	return []*analysis{newFollow(), newExchanges(), newStats(), newFindings(), newProven(), newPolls(), newVantages(), newFloods(), newReport(), newCompare(), newDiff()}
}

// command returns the command of a row.
func (a *analysis) command(io streams) *cobra.Command {
	o := a.opts
	cmd := &cobra.Command{
		Use:     a.use,
		GroupID: groupTraffic,
		Short:   a.short,
		Long:    a.long,
		Example: a.example,
		Args:    a.args,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.checkAll(cmd, args, io); err != nil {
				return err
			}
			if a.run != nil {
				return a.run(cmd.Context(), args, io)
			}
			return a.read(cmd.Context(), args, io)
		},
		ValidArgsFunction: completeCaptures,
	}
	if a.args == nil {
		cmd.Args = o.requireInput
	}
	cmd.Flags().SortFlags = false
	a.flags(cmd)
	addHabits(cmd, o)
	return cmd
}

// checkAll returns an error for flags that are out of range or do not go together.
func (a *analysis) checkAll(cmd *cobra.Command, args []string, io streams) error {
	if a.check != nil {
		if err := a.check(cmd, args, io); err != nil {
			return err
		}
	}
	if err := a.opts.parseServers(); err != nil {
		return err
	}
	return a.opts.check()
}

// read reads what args or -i name, and prints the result.
func (a *analysis) read(ctx context.Context, args []string, io streams) error {
	j, err := a.opts.openJob(ctx, args, io)
	if err != nil {
		return err
	}
	defer j.release()
	j.showsInterrupt = a.opts.output == "text"
	if err := a.start(j); err != nil {
		return err
	}
	return j.runToEnd()
}

// printForm writes a result as JSON with -o json, as a table of a command with -o csv, else for people.
func printForm[T any](o *readOptions, io streams, x T, table string, asJSON func([]byte, T) []byte, asText func([]byte, T, text.Options) []byte) error {
	switch o.output {
	case "json":
		return write(io.out, asJSON(nil, x))
	case "csv":
		b, err := csv.Tables[table].Append(nil, asJSON(nil, x))
		return cmp.Or(err, write(io.out, b))
	}
	return write(io.out, asText(nil, x, o.textOptions(io.out)))
}
