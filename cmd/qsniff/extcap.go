package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"qsniff/dissect/protocols"
	"qsniff/internal/app/cli"
	"qsniff/internal/app/extcap"
)

// isExtcap reports whether Wireshark is calling.
func isExtcap(args []string) bool {
	return slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "--extcap-") })
}

// extcapOptions are the flags with which Wireshark calls.
type extcapOptions struct {
	asksInterfaces, asksDLTs, asksConfig, captures bool
	version, iface, fifo, filter                   string
	onlyQueries                                    bool
}

func newExtcap(io streams) *cobra.Command {
	o := &extcapOptions{}
	cmd := &cobra.Command{
		Use:    "extcap [flags]",
		Hidden: true,
		Short:  "capture for Wireshark",
		Long: `extcap is called by Wireshark, where qsniff or a link to it is in Wireshark's folder of
personal extcap programs (Help, About, Folders): its list of interfaces then has
qsniff-eth0 and so on, which show what qsniff recognises, each packet with qsniff's
reading as its comment.`,
		Args:              noArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	f := cmd.Flags()
	f.BoolVar(&o.asksInterfaces, "extcap-interfaces", false, "list the interfaces")
	f.StringVar(&o.version, "extcap-version", "", "version of Wireshark")
	f.StringVar(&o.iface, "extcap-interface", "", "the interface in question")
	f.BoolVar(&o.asksDLTs, "extcap-dlts", false, "list its link types")
	f.BoolVar(&o.asksConfig, "extcap-config", false, "list its options")
	f.BoolVar(&o.captures, "capture", false, "capture on it")
	f.StringVar(&o.fifo, "fifo", "", "pipe that gets the packets")
	f.StringVar(&o.filter, "extcap-capture-filter", "", "capture filter")
	f.BoolVar(&o.onlyQueries, "only-queries", false, "capture only what may be a query")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		switch {
		case o.asksInterfaces:
			return extcap.List(io.out)
		case o.asksDLTs:
			found, err := extcap.ListLinkType(io.out, o.iface)
			if err == nil && !found {
				err = cli.Usage(fmt.Errorf("extcap: no interface %q", o.iface), "--extcap-interfaces lists them")
			}
			return err
		case o.asksConfig:
			_, err := fmt.Fprintln(io.out, "arg {number=0}{call=--only-queries}{display=Capture only what may be a query}{type=boolflag}{default=false}"+
				"{tooltip=Keeps the rest away in the kernel: less load on a busy interface}")
			return err
		case o.captures:
			return o.capture(cmd.Context(), io)
		}
		return cli.Usage(errors.New("extcap: nothing asked"), "Wireshark calls this; qsniff live -i IFACE is for people")
	}
	return cmd
}

// capture captures on the interface until ctx ends or Wireshark closes the pipe.
func (o *extcapOptions) capture(ctx context.Context, io streams) error {
	b := readBuild()
	missed, err := extcap.Capture(ctx, &extcap.Options{Interface: o.iface, Filter: o.filter, Pipe: o.fifo, OnlyQueries: o.onlyQueries,
		Registry: protocols.NewRegistry(), Application: "qsniff " + b.Short(), Clock: monotonic})
	var pipe *fs.PathError
	if errors.As(err, &pipe) && pipe.Op == "open" && pipe.Path == o.fifo {
		err = cli.Hinted(err, "--fifo names the pipe that Wireshark made")
	}
	if missed > 0 {
		fmt.Fprintf(io.err, "qsniff: %s of messages came too fast to be shown\n", count(missed, "packet"))
	}
	return err
}
