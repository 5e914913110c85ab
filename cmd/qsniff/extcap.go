package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"qsniff/capture/file"
	"qsniff/capture/live"
	"qsniff/capture/packet"
	"qsniff/dissect/protocols"
	"qsniff/internal/app/extcap"
	"qsniff/internal/base/sandbox"
	"qsniff/internal/pipeline"
	"qsniff/internal/render/text"
)

// extcapPrefix begins the names of interfaces that Wireshark shows.
const extcapPrefix = "qsniff-"

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
			return listExtcap(io)
		case o.asksDLTs:
			return o.listDLTs(io)
		case o.asksConfig:
			_, err := fmt.Fprintln(io.out, "arg {number=0}{call=--only-queries}{display=Capture only what may be a query}{type=boolflag}{default=false}"+
				"{tooltip=Keeps the rest away in the kernel: less load on a busy interface}")
			return err
		case o.captures:
			return o.capture(cmd.Context(), io)
		}
		return &usageError{errors.New("extcap: nothing asked"), "Wireshark calls this; qsniff live -i IFACE is for people"}
	}
	return cmd
}

// listExtcap lists the interfaces on which this program may capture.
func listExtcap(io streams) error {
	fmt.Fprintln(io.out, "extcap {version=1.0}{display=qsniff: queries of game servers}")
	all, err := live.Devices()
	if err != nil {
		return err
	}
	for i := range all {
		if all[i].Up {
			fmt.Fprintf(io.out, "interface {value=%s%s}{display=qsniff on %s}\n", extcapPrefix, all[i].Name, all[i].Name)
		}
	}
	return nil
}

// listDLTs lists the link type of the interface. pcapng names that of each packet itself.
func (o *extcapOptions) listDLTs(io streams) error {
	all, err := live.Devices()
	if err != nil {
		return err
	}
	name := strings.TrimPrefix(o.iface, extcapPrefix)
	for i := range all {
		if all[i].Name == name {
			_, err = fmt.Fprintf(io.out, "dlt {number=%d}{name=%s}{display=%s}\n", all[i].Link, packet.LinkName(all[i].Link), packet.LinkName(all[i].Link))
			return err
		}
	}
	return &usageError{fmt.Errorf("extcap: no interface %q", o.iface), "--extcap-interfaces lists them"}
}

// capture captures on the interface until ctx ends or Wireshark closes the pipe.
func (o *extcapOptions) capture(ctx context.Context, io streams) error {
	reg := protocols.NewRegistry()
	var auto *live.AutoFilter
	if o.onlyQueries && o.filter == "" {
		auto = pipeline.AutoFilter(reg, nil)
	}
	src, err := live.Open(live.Options{Interfaces: []string{strings.TrimPrefix(o.iface, extcapPrefix)}, Filter: o.filter, AutoFilter: auto})
	if err != nil {
		return err
	}
	defer src.Close()
	pipe, err := os.OpenFile(o.fifo, os.O_WRONLY, 0)
	if err != nil {
		return &hintedError{fmt.Errorf("extcap: %w", err), "--fifo names the pipe that Wireshark made"}
	}
	defer pipe.Close()
	b := readBuild()
	tap := extcap.NewTap(src)
	out := file.NewWriter(pipe, o.fifo, file.WriteOptions{Format: file.Pcapng, Interfaces: tap, Application: "qsniff " + b.Short()})
	tap.Out = out
	if err := out.Begin(); err != nil {
		return err
	}
	_ = time.Local.String() // loads the time zone, which is a file
	if _, err := sandbox.Enter(sandbox.Policy{}); err != nil {
		return err
	}
	defer context.AfterFunc(ctx, src.Stop)()
	_, err = pipeline.Run(context.WithoutCancel(ctx), pipeline.Config{Source: tap, Registry: reg, Jobs: 1, Out: tap,
		Renderer: extcap.Renderer{Line: text.NewLine(text.Options{Bare: true})}, Clock: monotonic, Seed: rand.Uint64() | 1})
	if err = errors.Join(err, out.Close()); errors.Is(err, syscall.EPIPE) { // Wireshark stopped
		err = nil
	}
	if n := tap.Missed(); n > 0 {
		fmt.Fprintf(io.err, "qsniff: %s of messages came too fast to be shown\n", count(n, "packet"))
	}
	return err
}
