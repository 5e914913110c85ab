package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"qsniff/dissect"
	"qsniff/dissect/protocols"
	"qsniff/internal/app/cli"
	"qsniff/internal/app/progress"
	"qsniff/internal/base/digits"
	"qsniff/internal/base/hostset"
	"qsniff/internal/pipeline"
	"qsniff/internal/render"
	"qsniff/internal/render/csv"
	"qsniff/internal/render/jsonl"
	"qsniff/internal/render/tally"
	"qsniff/internal/render/text"
	"qsniff/internal/track"
)

// The readers of captures.
const (
	readerNative   = "native"
	readerGopacket = "gopacket"
)

// readOptions are the flags of read, and those that commands share which read the same packets
// from interfaces.
type readOptions struct {
	captureOptions
	output       string
	color        string
	reader       string
	layout       bool
	follow       bool
	dedup        string
	sampled      uint
	utc          bool
	showsSecrets bool
	count        int
	as           []string
	clock        string
	columns      string
	separator    byte // between cells of CSV; 0: a comma
	noHeader     bool // CSV has no line of column names
	servers      string
	ours         *hostset.Set // set by parseServers; nil: all
	own          string
	ownTools     *hostset.Networks // set by parseOwn; nil: none
	top          int
	usualTop     int // without --top; 0: the command has none
	failOn       string
	jobs         int
	memory       cli.MemorySize
	write        writeOptions
	display      displayOptions
	reg          *dissect.Registry // set by registry
	result       *tally.Run        // set to the totals of the run; nil: they are not wanted
}

// flagWords returns the flags on the command line that isWanted chooses, as words that give
// them again.
func (o *readOptions) flagWords(cmd *cobra.Command, isWanted func(*pflag.Flag) bool) []string {
	var words []string
	cmd.Flags().Visit(func(f *pflag.Flag) {
		switch {
		case !isWanted(f):
		case f.Value.Type() == "bool":
			words = append(words, "--"+f.Name)
		case f.Name == "decode-as":
			for _, rule := range o.as {
				words = append(words, "-d", rule)
			}
		default:
			words = append(words, "--"+f.Name+"="+f.Value.String())
		}
	})
	return words
}

// registry returns the registry of all runs of the command.
func (o *readOptions) registry() *dissect.Registry {
	if o.reg == nil {
		o.reg = protocols.NewRegistry()
	}
	return o.reg
}

func readDefaults() *readOptions {
	return &readOptions{output: "text", color: "auto", clock: "a", dedup: "auto", reader: readerNative,
		jobs: runtime.GOMAXPROCS(0), memory: pipeline.DefaultMemory}
}

func (o *readOptions) register(cmd *cobra.Command) {
	o.registerForm(cmd)
	o.registerCommon(cmd)
	o.registerServers(cmd, serversHelp)
	o.registerOwn(cmd)
}

// registerForm adds the flags that choose how messages are printed.
func (o *readOptions) registerForm(cmd *cobra.Command) {
	f := cmd.Flags()
	f.SortFlags = false
	f.VarP(cli.OneOf(&o.output, "text", "tree", "hex", "json", "csv", "none"), "output", "o",
		"text: a line a message; tree: annotated fields; hex: annotated bytes; json: an object a line; csv: a table; none: decode only")
	f.VarP(timesOf(&o.clock), "time", "t",
		"times: a time of day, r seconds since the first packet, d since the line before, e since 1970")
}

// registerCommon adds the flags of all commands that print the messages of captures.
func (o *readOptions) registerCommon(cmd *cobra.Command) {
	o.registerMessages(cmd)
	cmd.Flags().BoolVar(&o.follow, "follow", false, followHelp)
	o.registerInput(cmd)
}

// followHelp is the help of --follow.
const followHelp = "go on as the capture, or the ring of files in a folder, grows"

// registerOutput adds -o with its forms, the first of them by default.
func (o *readOptions) registerOutput(cmd *cobra.Command, help string, forms ...string) {
	cmd.Flags().VarP(cli.OneOf(&o.output, forms...), "output", "o", help)
}

// registerTop adds --top: how many rows a page lists.
func (o *readOptions) registerTop(cmd *cobra.Command, usual int, help string) {
	o.usualTop = usual
	cmd.Flags().IntVar(&o.top, "top", usual, help)
	propose(cmd, "top", cobra.NoFileCompletions)
}

// registerMessages adds the flags that choose what is printed of messages.
func (o *readOptions) registerMessages(cmd *cobra.Command) {
	f := cmd.Flags()
	f.IntVarP(&o.count, "count", "c", 0, "stop after `N` messages (0: all)")
	f.VarP(cli.ListText(&o.columns, "NAME,..."), "fields", "e", "csv: these columns, as in frame,src,a2s.info.name; qsniff fields lists them; cut names the fields whose values end early, verb says what a message does in its exchange (follows unanswered: a repetition; also answers: a further reply), and with record there are lines of findings")
	f.BoolVar(&o.layout, "layout", false, "json: list every byte with its field")
	f.BoolVar(&o.utc, "utc", false, "text, tree, hex: times in UTC instead of local time")
	f.Var(cli.OneOf(&o.color, "auto", "always", "never"), "color", "text, tree, hex: auto colours terminals only")
	f.BoolVar(&o.showsSecrets, "show-secrets", false, "print passwords and log secrets instead of <redacted>")
	propose(cmd, "count", cobra.NoFileCompletions)
}

// registerPage adds the flags for times and colours of a page for people.
func (o *readOptions) registerPage(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&o.utc, "utc", false, "text: times in UTC instead of local time")
	f.Var(cli.OneOf(&o.color, "auto", "always", "never"), "color", "text: auto colours terminals only")
}

// registerInput adds the flags of all commands that read captures.
func (o *readOptions) registerInput(cmd *cobra.Command) {
	o.registerPackets(cmd)
	if cmd.Flags().Lookup("capture-filter") == nil {
		cmd.Flags().StringVarP(&o.filter, "capture-filter", "f", "", captureFilterHelp)
		propose(cmd, "capture-filter", cobra.NoFileCompletions)
	}
	cmd.Flags().Var(cli.OneOf(&o.reader, readerNative, readerGopacket), "reader", "native, or as second opinion gopacket: libpcap, or pcapgo in builds without it")
}

// registerPackets adds the flags of all commands that take packets, from captures or from
// interfaces.
func (o *readOptions) registerPackets(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringArrayVarP(&o.as, "decode-as", "d", nil, "decode a port as a protocol, with a `RULE` such as udp.port==27015,a2s or tcp.port==27016,rcon")
	f.IntVar(&o.jobs, "jobs", o.jobs, "decode with `N` goroutines; 1 reads a file on one processor; the output does not depend on it")
	f.Lookup("jobs").DefValue = "one a processor" // help is the same on every machine
	f.Var(cli.OneOf(&o.dedup, "auto", "on", "off"), "dedup",
		"count a packet once that was captured again within 5 ms; auto: at another interface or in another file, or where one has all packets as often; on: also a second one with the same IP identification")
	f.Lookup("dedup").NoOptDefVal = "on"
	f.Var(&o.memory, "memory", "budget of all tables")
	if !slices.Contains(countless, cmd.Name()) {
		o.registerSampled(cmd)
	}
	propose(cmd, "decode-as", completeDecodeAs)
	propose(cmd, "memory", cobra.FixedCompletions([]cobra.Completion{"16M", "64M", "256M", "1G"}, cobra.ShellCompDirectiveNoFileComp))
	propose(cmd, "jobs", cobra.NoFileCompletions)
}

// countless are the commands whose output has no counts or rates of packets.
var countless = []string{"anonymize", "browse", "compare", "extract", "follow", "mcp", "replay", "vantages"}

// registerSampled adds --sampled.
func (o *readOptions) registerSampled(cmd *cobra.Command) {
	f := cmd.Flags()
	f.Var(cli.Sampled(&o.sampled, track.MaxWeight), "sampled", "the packets are one of `N`, as a switch or router samples them: counts, rates and thresholds are for all of them; of sFlow each packet has its factor")
	propose(cmd, "sampled", cobra.NoFileCompletions)
}

// scale returns the size of tables by --memory, as a multiple of the usual size.
func (o *readOptions) scale() float64 { return float64(o.memory) / pipeline.DefaultMemory }

// registerServers adds --servers, with a line of help on what it does in that command.
func (o *readOptions) registerServers(cmd *cobra.Command, help string) {
	cmd.Flags().Var(cli.Text(&o.servers, "CIDR|ADDR:PORT,..."), "servers", help)
	propose(cmd, "servers", cobra.NoFileCompletions)
}

// parseServers sets ours to the servers that --servers names.
func (o *readOptions) parseServers() (err error) {
	if o.servers == "" {
		return nil
	}
	if o.ours, err = hostset.Parse(o.servers); err != nil {
		return cli.Usage(fmt.Errorf("--servers %w", err), "write networks, addresses, or addresses with a port: 198.18.0.0/15,198.51.100.7:27015,[2001:db8::1]:27015")
	}
	return nil
}

// registerOwn adds --own to a command that finds floods.
func (o *readOptions) registerOwn(cmd *cobra.Command) {
	cmd.Flags().Var(cli.ListText(&o.own, "CIDR|ADDR,..."), "own", "addresses of your monitors and bots: their storms are no attack (DOS-F03), and no rules name them; may be given several times")
	propose(cmd, "own", cobra.NoFileCompletions)
}

// parseOwn sets ownTools to what --own names.
func (o *readOptions) parseOwn() (err error) {
	if o.own == "" {
		return nil
	}
	if o.ownTools, err = hostset.ParseNetworks(o.own); err != nil {
		return cli.Usage(fmt.Errorf("--own %w", err), "write addresses and networks of your tools: 198.51.100.9,2001:db8:5::/64")
	}
	return nil
}

// parseDecodeAs parses the values of -d: udp.port==22126,ase or tcp.port==27016,rcon.
func parseDecodeAs(values []string, reg *dissect.Registry) ([]pipeline.DecodeAs, error) {
	var out []pipeline.DecodeAs
	for _, v := range values {
		rule, name, ok := strings.Cut(v, ",")
		transport, port, isPort := strings.Cut(rule, ".port==")
		n, err := strconv.ParseUint(port, 10, 16)
		if !ok || !isPort || transport != "udp" && transport != "tcp" || err != nil || n == 0 {
			return nil, cli.Usage(fmt.Errorf("-d %s: not a rule", v), "write -d udp.port==27015,a2s or -d tcp.port==27016,rcon")
		}
		p := reg.ProtoNamed(name)
		if p == nil {
			return nil, unknownProtoError("-d "+v, name, reg)
		}
		if overTCP := reg.StreamOf(p) != nil; overTCP != (transport == "tcp") {
			return nil, cli.Usage(fmt.Errorf("-d %s: %s is not spoken over %s", v, name, transport), "rcon is spoken over tcp, the others over udp")
		}
		out = append(out, pipeline.DecodeAs{TCP: transport == "tcp", Port: uint16(n), Proto: p})
	}
	return out, nil
}

// unknownProtoError is the error of a flag whose value names no protocol.
func unknownProtoError(flag, name string, reg *dissect.Registry) error {
	var names []string
	for _, p := range reg.Protos() {
		names = append(names, p.Name)
	}
	return cli.Usage(fmt.Errorf("%s: no protocol is called %q", flag, name), "one of "+strings.Join(names, ", "))
}

// clocks are the values of -t.
var clocks = map[string]render.Clock{
	"a": render.Absolute, "r": render.Relative, "d": render.Delta, "e": render.Epoch,
}

// dedups are the values of --dedup.
var dedups = map[string]pipeline.Dedup{"auto": pipeline.DedupAuto, "on": pipeline.DedupOn, "off": pipeline.DedupOff}

// check reports flags that do not go together.
func (o *readOptions) check() error {
	switch {
	case o.layout && o.output != "json":
		return cli.Usage(fmt.Errorf("--layout goes with -o json, not with -o %s", o.output), "-o tree and -o hex show every byte to people")
	case o.columns != "" && strings.TrimSpace(o.columns) == "":
		return cli.Usage(errors.New("-e: no column is named"), "leave -e out for the usual columns")
	case o.columns == "help":
		return cli.Usage(errors.New("-e help: -e takes the names of fields"), "qsniff fields lists them all, qsniff fields 'a2s.info.*' those of a message")
	case o.columns != "" && o.output != "csv":
		return cli.Usage(fmt.Errorf("-e goes with -o csv, not with -o %s", o.output), "add -o csv")
	case o.clock != "a" && o.clock != sinceBegin && o.output == "json":
		return cli.Usage(errors.New("-t goes with text, tree, hex and csv, not with -o json"), "JSON has the absolute time, for programs to subtract")
	case o.usualTop > 0 && o.top < 1:
		return cli.Usage(fmt.Errorf("--top %d: at least 1 is needed", o.top), "leave it out for "+map[int]string{10: "ten", 20: "twenty"}[o.usualTop])
	case o.jobs < 1:
		return cli.Usage(fmt.Errorf("--jobs %d: at least 1 is needed", o.jobs), "leave it out for one a processor")
	case o.count < 0:
		return cli.Usage(fmt.Errorf("-c %d: not a number of messages", o.count), "0 reads to the end")
	}
	return nil
}

// newRenderer returns the renderer that -o names, or nil for none.
func (o *readOptions) newRenderer(out io.Writer, protos []*dissect.Proto) (render.Renderer, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	switch o.output {
	case "none":
		return nil, nil
	case "json":
		return jsonl.New(jsonl.Options{Layout: o.layout, ShowSecrets: o.showsSecrets}), nil
	case "csv":
		columns, err := o.parseColumns(protos)
		return csv.New(csv.Options{Columns: columns, Clock: clocks[o.clock], ShowSecrets: o.showsSecrets, Separator: o.separator, NoHeader: o.noHeader}), err
	}
	return o.newTextRenderer(o.textOptions(out)), nil
}

// textOptions returns the options for what is printed for people.
func (o *readOptions) textOptions(out io.Writer) text.Options {
	return text.Options{UTC: o.utc, Micros: o.isLive(), Clock: clocks[o.clock], Width: width(out),
		Palette: text.NewPalette(o.wantsColor(out)), ShowSecrets: o.showsSecrets}
}

// newTextRenderer returns the renderer for people that -o names.
func (o *readOptions) newTextRenderer(opt text.Options) render.Renderer {
	switch o.output {
	case "tree":
		return text.NewTree(opt)
	case "hex":
		return text.NewHex(opt)
	}
	return text.NewLine(opt)
}

// parseColumns returns the columns that -e names, or nil for the usual ones.
func (o *readOptions) parseColumns(protos []*dissect.Proto) ([]csv.Column, error) {
	if o.columns == "" {
		return nil, nil
	}
	var columns []csv.Column
	for name := range strings.SplitSeq(o.columns, ",") {
		c, ok := csv.ColumnNamed(strings.TrimSpace(name), protos)
		if !ok {
			return nil, cli.Usage(fmt.Errorf("-e %s: no field has that name", name), "qsniff fields lists them; a list is named by its members, as in a2s.player.players.name")
		}
		columns = append(columns, c)
	}
	return columns, nil
}

// timesOf returns the value of -t. tcpdump's -tt, -ttt, -tttt and -ttttt are what comes nearest.
func timesOf(clock *string) *cli.Choice {
	c := cli.OneOf(clock, "a", "r", "d", "e")
	c.Others = map[string]string{"t": "e", "tt": "d", "ttt": "a", "tttt": "r"}
	return c
}

// writeHeader writes what comes before the first message, if r has a header.
func writeHeader(out io.Writer, r render.Renderer) error {
	h, ok := r.(interface{ AppendHeader([]byte) []byte })
	if !ok {
		return nil
	}
	return write(out, h.AppendHeader(nil))
}

func write(out io.Writer, b []byte) error {
	_, err := out.Write(b)
	return err
}

func (o *readOptions) wantsColor(out io.Writer) bool {
	return text.WantsColor(o.color, isTerminal(out))
}

func isTerminal(f any) bool {
	if e, ok := f.(cli.Lines); ok {
		f = e.To
	}
	x, ok := f.(*os.File)
	return ok && term.IsTerminal(int(x.Fd()))
}

// width returns how many columns out has: those of the terminal, else COLUMNS, else 80.
func width(out io.Writer) int {
	const usual = 80
	if f, ok := out.(*os.File); ok {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
			return w
		}
	}
	if w, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && w > 0 {
		return w
	}
	return usual
}

// count formats a number of things. words are the singular and, where that does not end in
// just another s, the plural.
func count(n uint64, words ...string) string { return digits.Count(n, words...) }

// newProgress returns the line of progress on standard error; nil if that is no terminal.
func newProgress(w io.Writer) *progress.Line {
	if !isTerminal(w) {
		return nil
	}
	if e, ok := w.(cli.Lines); ok {
		w = e.To
	}
	return progress.New(w, func() int { return width(w) })
}
