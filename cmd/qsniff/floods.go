package main

import (
	"errors"

	"github.com/spf13/cobra"
)

// floodsOptions are the flags of floods. Those that it shares with read are in the
// options of read.
type floodsOptions struct {
	readOptions
	limits  string
	servers string
}

func newFloods(io streams) *cobra.Command {
	opts := &floodsOptions{readOptions: *readDefaults()}
	cmd := &cobra.Command{
		Use:     "floods [flags] FILE...",
		GroupID: groupTraffic,
		Short:   "replay the limits of engines",
		Long: limitsHelp + `

FILE is as in qsniff read.`,
		Example: `  qsniff floods --limits rehlds evening.pcap
  qsniff floods --limits per=3,global=300,window=30 evening.pcap`,
		Args: someCapture("floods"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if opts.limits == "" {
				return &usageError{errors.New("floods: no limits given"), "add --limits with " + limitsHint}
			}
			model, err := limitsOf(opts.limits)
			if err != nil {
				return err
			}
			ours, err := oursOf(opts.servers)
			if err != nil {
				return err
			}
			return replayLimits(cmd.Context(), &opts.readOptions, model, ours, args, io)
		},
	}
	cmd.ValidArgsFunction = completeCaptures
	f := cmd.Flags()
	f.SortFlags = false
	f.VarP(&choice{&opts.output, []string{"text", "json"}}, "output", "o", "text: for people; json: an object a line")
	f.StringVar(&opts.limits, "limits", "", "replay `NAME|per=,global=,window=`: rehlds, source, source-late, csgo, or numbers")
	f.BoolVar(&opts.utc, "utc", false, "text: times in UTC instead of local time")
	f.Var(&choice{&opts.color, []string{"auto", "always", "never"}}, "color", "text: auto colours terminals only")
	f.StringVar(&opts.servers, "servers", "", "replay these servers only: `CIDR|ADDR:PORT,...`")
	opts.registerInput(cmd)
	propose(cmd, "servers", cobra.NoFileCompletions)
	propose(cmd, "limits", completeLimits)
	return cmd
}
