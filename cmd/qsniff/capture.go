package main

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"qsniff/capture"
	"qsniff/capture/live"
	"qsniff/capture/packet"
	"qsniff/capture/pcapfilter"
	"qsniff/internal/app/cli"
	"qsniff/internal/pipeline/filter"
	"qsniff/internal/render/manual"
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
		return cli.Usage(errors.New("-f and --auto-filter do not go together"), "only one filter can be in the kernel")
	case o.snap < 0 || o.snap > capture.MaxCaptured:
		return cli.Usage(fmt.Errorf("-s %d: not a number of bytes of a packet", o.snap), fmt.Sprintf("from 1 to %d, or 0 for whole packets", capture.MaxCaptured))
	case o.buffer > math.MaxInt32:
		return cli.Usage(errors.New("-B: too large a buffer"), "less than 2G")
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
		err = cli.Usage(err, wrong.Hint)
	}
	return src, err
}

// reopenWith has the capture wait for interfaces that go; report is called by the goroutine that reads.
func (o *captureOptions) reopenWith(report func(live.Change)) {
	o.reopen = &live.Reopen{Clock: monotonic, Report: report}
}

// captureFilterError returns the error of an expression of -f, with its place.
func captureFilterError(err error) error {
	var link *pcapfilter.LinkError
	if errors.As(err, &link) {
		if link.Err == nil {
			return cli.Usage(fmt.Errorf("-f %s: no filter for packets of %s", link.Text, packet.LinkName(link.Link)), "-Y chooses messages of all link types")
		}
		return cli.Usage(fmt.Errorf("-f %w", link), "docs/filters.md has the language")
	}
	var wrong *pcapfilter.Error
	if !errors.As(err, &wrong) {
		return err
	}
	hint := wrong.Hint
	switch {
	case wrong.Unsupported:
		hint = "write it in other words, or as bytes such as ether[12:2] = 0x8847; builds with libpcap have it"
	case hint == "":
		hint = `the language is that of tcpdump (docs/filters.md): "udp port 27015 or tcp port 27015"`
	}
	e := &cli.Error{Err: fmt.Errorf("-f: %s", wrong.Message), Hint: hint, IsUsage: true}
	isPlain := !strings.ContainsFunc(wrong.Text, func(r rune) bool { return r < ' ' || r > '~' })
	if isPlain && (wrong.End > wrong.At || wrong.At > 0) { // a line of what is none would be a forged one
		page := strings.Split((&filter.Error{Text: wrong.Text, From: wrong.At, To: wrong.End}).Page(), "\n")
		e.Lines = page[:len(page)-1]
	}
	return e
}

// addCaptureFilter adds an expression to the one of -f.
func (o *captureOptions) addCaptureFilter(text string) {
	if o.filter != "" {
		text = "(" + o.filter + ") and (" + text + ")"
	}
	o.filter = text
}

func newInterfaces(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "interfaces [flags]",
		GroupID: groupReference,
		Short:   "list what can be captured on",
		Long: `interfaces lists the network interfaces of this host: name, state, link type, MTU and
addresses, and says what is missing where this program may not capture. "any" stands
for all of them.

Exit status: 0 fine, 1 the system does not tell, 2 wrong usage.`,
		Example: `  qsniff interfaces
  qsniff interfaces -o json       for programs`,
		Args:              noArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	output := addOutputFlag(cmd)
	cmd.RunE = func(*cobra.Command, []string) error {
		all, err := live.Devices()
		if err != nil {
			return err
		}
		permitted := true
		rows := make([]manual.Interface, len(all))
		for i := range all {
			in := &all[i]
			rows[i] = manual.Interface{Name: in.Name, State: "down", Addresses: interfaceAddresses(in), Link: packet.LinkName(in.Link),
				LinkType: in.Link, MTU: in.MTU, Loopback: in.Loopback, Permitted: in.Permitted, IsAll: in.Name == live.Any}
			if in.Up {
				rows[i].State = "up"
			}
			permitted = permitted && in.Permitted
		}
		err = printList(s.out, *output, rows, func(dst []byte, _ int) []byte { return manual.AppendInterfaces(dst, rows) })
		if err != nil {
			return err
		}
		if !permitted {
			printError(s.err, errors.New("no right to capture"), live.RightsHint())
		}
		return nil
	}
	return cmd
}

func interfaceAddresses(in *live.Device) []string {
	all := make([]string, len(in.Addresses))
	for i, a := range in.Addresses {
		all[i] = a.String()
	}
	return all
}
