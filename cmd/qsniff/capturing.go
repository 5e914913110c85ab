package main

import (
	"errors"
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"qsniff/capture"
	"qsniff/capture/live"
	"qsniff/internal/base/cli"
)

// captureOptions are the flags about interfaces, of the commands that capture.
type captureOptions struct {
	interfaces  []string
	filter      string
	autoFilter  bool
	snap        int
	buffer      cli.ByteSize
	promiscuous bool
	backend     string
	noSandbox   bool // --no-sandbox

	reopen *live.Reopen // nil: the capture ends when an interface goes
}

// isLive reports whether interfaces are named.
func (o *captureOptions) isLive() bool { return len(o.interfaces) > 0 }

// captureFilterHelp is the help of -f.
const captureFilterHelp = "only packets that fit the `BPF` filter, in the language of tcpdump: 'udp port 27015'"

// registerCapture adds the flags. about follows the help of -i.
func (o *captureOptions) registerCapture(cmd *cobra.Command, about string) {
	f := cmd.Flags()
	o.backend = live.Auto.String()
	f.StringArrayVarP(&o.interfaces, "interface", "i", nil, "capture on `IFACE`"+about+"; may be given several times; any: on all")
	f.Var((*tzspFlag)(o), "tzsp", "receive packets that a mirror sends as TZSP (Mikrotik) to `ADDR:PORT` of this host, as in :37008; may be given several times")
	f.StringVarP(&o.filter, "capture-filter", "f", "", captureFilterHelp)
	f.BoolVar(&o.autoFilter, "auto-filter", false, "capture only what may be a query, and print what is not captured")
	f.IntVarP(&o.snap, "snaplen", "s", 0, "keep `N` bytes of a packet at most (0: all)")
	f.VarP(&o.buffer, "buffer", "B", "what the kernel holds while this program is busy (default 32M an interface)")
	f.BoolVar(&o.promiscuous, "promiscuous", false, "capture what is meant for other hosts, too")
	f.Var(cli.OneOf(&o.backend, "auto", "libpcap", "afpacket"), "backend", "auto takes afpacket on Linux, elsewhere libpcap")
	f.BoolVar(&o.noSandbox, "no-sandbox", false, "keep all rights while decoding")
	propose(cmd, "interface", completeInterfaces)
	for _, name := range []string{"capture-filter", "snaplen", "buffer"} {
		propose(cmd, name, cobra.NoFileCompletions)
	}
}

// tzspFlag is the value of --tzsp: sockets, among the interfaces.
type tzspFlag captureOptions

func (o *tzspFlag) String() string { return "" }
func (o *tzspFlag) Type() string   { return "address" }

// Set adds a socket.
func (o *tzspFlag) Set(value string) error {
	name := live.DatagramPrefix + value
	if err := live.CheckInterface(name); err != nil {
		return err
	}
	o.interfaces = append(o.interfaces, name)
	return nil
}

// checkCapture returns an error for flags that do not go together.
func (o *captureOptions) checkCapture() error {
	switch {
	case o.filter != "" && o.autoFilter:
		return &usageError{errors.New("-f and --auto-filter do not go together"), "only one filter can be in the kernel"}
	case o.snap < 0 || o.snap > capture.MaxCaptured:
		return &usageError{fmt.Errorf("-s %d: not a number of bytes of a packet", o.snap), fmt.Sprintf("from 1 to %d, or 0 for whole packets", capture.MaxCaptured)}
	case o.buffer > math.MaxInt32:
		return &usageError{errors.New("-B: too large a buffer"), "less than 2G"}
	}
	return nil
}

// openSource begins to capture. auto is the filter of --auto-filter, or nil.
func (o *captureOptions) openSource(auto *live.AutoFilter) (*live.Source, error) {
	backend, err := live.ParseBackend(o.backend)
	if err != nil {
		return nil, err
	}
	opt := live.Options{Interfaces: o.interfaces, Filter: o.filter, Snap: o.snap, Buffer: int(o.buffer),
		Promiscuous: o.promiscuous, Backend: backend, AutoFilter: auto, Reopen: o.reopen}
	src, err := live.Open(opt)
	var wrong *live.Error
	if placed := captureFilterError(err); err != nil && placed != err {
		return nil, placed
	}
	if errors.As(err, &wrong) && errors.Is(err, live.ErrFilter) {
		err = &usageError{err, wrong.Hint}
	}
	return src, err
}

// reopenWith has the capture wait for interfaces that go; report is called by the goroutine that reads.
func (o *captureOptions) reopenWith(report func(live.Change)) {
	o.reopen = &live.Reopen{Clock: monotonic, Report: report}
}
