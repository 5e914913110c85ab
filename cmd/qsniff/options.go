package main

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"qsniff/internal/hostset"
	"qsniff/pipeline"
	"qsniff/render/tally"
)

// The readers of captures.
const (
	readerNative  = "native"
	readerLibpcap = "gopacket"
)

// readOptions are the flags of read.
type readOptions struct {
	output       string
	color        string
	reader       string
	layout       bool
	follow       bool
	dedup        string
	utc          bool
	showsSecrets bool
	count        int
	as           []string
	clock        string
	columns      string
	servers      string
	cutsToMicros bool // times for people are cut to microseconds
	jobs         int
	memory       memorySize
	write        writeOptions
	display      displayOptions
	result       *tally.Run // set to what the run came to; nil: nobody asks
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

func readDefaults() *readOptions {
	return &readOptions{output: "text", color: "auto", clock: "a", dedup: "auto", reader: readerNative,
		jobs: runtime.GOMAXPROCS(0), memory: pipeline.DefaultMemory}
}

func (o *readOptions) register(cmd *cobra.Command) {
	o.registerForm(cmd)
	o.registerCommon(cmd)
	o.registerServers(cmd, serversHelp)
}

// registerForm adds the flags that choose how messages are printed.
func (o *readOptions) registerForm(cmd *cobra.Command) {
	f := cmd.Flags()
	f.SortFlags = false
	f.VarP(&choice{&o.output, []string{"text", "tree", "hex", "json", "csv", "none"}}, "output", "o",
		"text: a line a message; tree: annotated fields; hex: annotated bytes; json: an object a line; csv: a table; none: decode only")
	f.VarP(&choice{&o.clock, []string{"a", "r", "d", "e"}}, "time", "t",
		"times: a time of day, r seconds since the first packet, d since the line before, e since 1970")
}

// registerCommon adds the flags of all commands that print the messages of captures.
func (o *readOptions) registerCommon(cmd *cobra.Command) {
	o.registerMessages(cmd)
	cmd.Flags().BoolVar(&o.follow, "follow", false, "go on as the capture, or the ring of files in a folder, grows")
	o.registerInput(cmd)
}

// registerMessages adds the flags that choose what is printed of messages.
func (o *readOptions) registerMessages(cmd *cobra.Command) {
	f := cmd.Flags()
	f.IntVarP(&o.count, "count", "c", 0, "stop after `N` messages (0: all)")
	f.VarP(&textValue{&o.columns, "NAME,...", true}, "fields", "e", "csv: these columns, as in frame,src,a2s.info.name; qsniff fields lists them; cut names the fields whose values end early")
	f.BoolVar(&o.layout, "layout", false, "json: list every byte with its field")
	f.BoolVar(&o.utc, "utc", false, "text, tree, hex: times in UTC instead of local time")
	f.Var(&choice{&o.color, []string{"auto", "always", "never"}}, "color", "text, tree, hex: auto colours terminals only")
	f.BoolVar(&o.showsSecrets, "show-secrets", false, "print passwords and log secrets instead of <redacted>")
	propose(cmd, "count", cobra.NoFileCompletions)
}

// registerPage adds the flags for times and colours of a page for people.
func (o *readOptions) registerPage(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&o.utc, "utc", false, "text: times in UTC instead of local time")
	f.Var(&choice{&o.color, []string{"auto", "always", "never"}}, "color", "text: auto colours terminals only")
}

// registerInput adds the flags of all commands that read captures.
func (o *readOptions) registerInput(cmd *cobra.Command) {
	o.registerPackets(cmd)
	cmd.Flags().Var(&choice{&o.reader, []string{readerNative, readerLibpcap}}, "reader", "native, or gopacket: libpcap as second opinion")
}

// registerPackets adds the flags of all commands that take packets, from captures or from
// interfaces.
func (o *readOptions) registerPackets(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringArrayVarP(&o.as, "decode-as", "d", nil, "decode a port as a protocol, with a `RULE` such as udp.port==27015,a2s or tcp.port==27016,rcon")
	f.IntVar(&o.jobs, "jobs", o.jobs, "decode with `N` goroutines; the output does not depend on it")
	f.Lookup("jobs").DefValue = "one a processor" // help is the same on every machine
	f.Var(&choice{&o.dedup, []string{"auto", "on", "off"}}, "dedup",
		"count a packet once that was captured twice within 5 ms; auto: where several interfaces come together")
	f.Lookup("dedup").NoOptDefVal = "on"
	f.Var(&o.memory, "memory", "budget of all tables")
	propose(cmd, "decode-as", completeDecodeAs)
	propose(cmd, "memory", cobra.FixedCompletions([]cobra.Completion{"16M", "64M", "256M", "1G"}, cobra.ShellCompDirectiveNoFileComp))
	propose(cmd, "jobs", cobra.NoFileCompletions)
}

// scale returns the size of tables by --memory, as a multiple of the usual size.
func (o *readOptions) scale() float64 { return float64(o.memory) / pipeline.DefaultMemory }

// registerServers adds --servers, with a line of help on what it does in that command.
func (o *readOptions) registerServers(cmd *cobra.Command, help string) {
	cmd.Flags().Var(&textValue{&o.servers, "CIDR|ADDR:PORT,...", false}, "servers", help)
	propose(cmd, "servers", cobra.NoFileCompletions)
}

// parseServers returns the servers that --servers names, or nil for all.
func (o *readOptions) parseServers() (*hostset.Set, error) {
	list := o.servers
	if list == "" {
		return nil, nil
	}
	ours, err := hostset.Parse(list)
	if err != nil {
		return nil, &usageError{fmt.Errorf("--servers %w", err), "write networks, addresses, or addresses with a port: 198.18.0.0/15,198.51.100.7:27015,[2001:db8::1]:27015"}
	}
	return ours, nil
}

// choice is a flag with a closed set of values.
type choice struct {
	value   *string
	allowed []string
}

func (c *choice) String() string { return *c.value }
func (c *choice) Type() string   { return strings.Join(c.allowed, "|") }
func (c *choice) Set(s string) error {
	for _, a := range c.allowed {
		if s == a {
			*c.value = s
			return nil
		}
	}
	return fmt.Errorf("one of %s", strings.Join(c.allowed, ", "))
}

// memorySize is a flag with a number of bytes, of at least 16 MiB: 64M, 1G.
type memorySize int64

func (s *memorySize) String() string { return strconv.FormatInt(int64(*s)>>20, 10) + "M" }
func (s *memorySize) Type() string   { return "SIZE" }
func (s *memorySize) Set(text string) error {
	const least = 16 << 20
	n, err := parseSize(text)
	if err != nil {
		return err
	}
	if n < least {
		return fmt.Errorf("at least 16M")
	}
	*s = memorySize(n)
	return nil
}

// byteSize is a flag with a number of bytes above 0: 64K, 100M. It is 0 if not given.
type byteSize int64

func (a *byteSize) Type() string { return "SIZE" }
func (a *byteSize) String() string {
	if *a == 0 {
		return ""
	}
	return strconv.FormatInt(int64(*a), 10)
}
func (a *byteSize) Set(text string) error {
	n, err := parseSize(text)
	if err == nil && n == 0 {
		err = fmt.Errorf("more than nothing")
	}
	*a = byteSize(n)
	return err
}

// parseSize parses a number of bytes with an optional unit: K, KB or KiB, and likewise M, G.
func parseSize(text string) (int64, error) {
	const most = 64 << 30 // chosen: more than any machine for this has, and than Go can allocate for a table
	shift := 0
	digits := strings.TrimSuffix(strings.TrimSuffix(strings.ToUpper(text), "B"), "I")
	for i, unit := range "KMG" {
		if rest, ok := strings.CutSuffix(digits, string(unit)); ok {
			digits, shift = rest, 10*(i+1)
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 || n > most>>shift {
		return 0, fmt.Errorf("a size like 64M or 1G")
	}
	return n << shift, nil
}
