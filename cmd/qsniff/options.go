package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"qsniff/pipeline"
	"qsniff/render"
	"qsniff/render/jsonl"
	"qsniff/render/text"
)

// The readers of captures.
const (
	readerNative  = "native"
	readerLibpcap = "gopacket"
)

// readOptions are the flags of read.
type readOptions struct {
	output  string
	color   string
	reader  string
	layout  bool
	follow  bool
	utc     bool
	secrets bool
	count   int
	as      []string
	jobs    int
	memory  size
}

func readDefaults() *readOptions {
	return &readOptions{output: "text", color: "auto", reader: readerNative,
		jobs: runtime.GOMAXPROCS(0), memory: pipeline.DefaultMemory}
}

func (o *readOptions) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.SortFlags = false
	f.VarP(&choice{&o.output, []string{"text", "tree", "json", "none"}}, "output", "o",
		"text: a line a message; tree: annotated fields; json: an object a line; none: decode only")
	f.IntVarP(&o.count, "count", "c", 0, "stop after `N` messages (0: all)")
	f.StringArrayVarP(&o.as, "decode-as", "d", nil, "decode a UDP port as a protocol: `udp.port==27015,a2s`")
	f.BoolVar(&o.layout, "layout", false, "json: list every byte with its field")
	f.BoolVar(&o.utc, "utc", false, "text, tree: times in UTC instead of local time")
	f.Var(&choice{&o.color, []string{"auto", "always", "never"}}, "color", "text, tree: auto colours terminals only")
	f.BoolVar(&o.follow, "follow", false, "go on as the capture, or the ring of files in a folder, grows")
	f.BoolVar(&o.secrets, "show-secrets", false, "print passwords and log secrets instead of <redacted>")
	f.IntVar(&o.jobs, "jobs", o.jobs, "goroutines that decode; the output does not depend on it")
	f.Var(&o.memory, "memory", "budget of all tables")
	f.Var(&choice{&o.reader, []string{readerNative, readerLibpcap}}, "reader", "native, or gopacket: libpcap as second opinion")
}

// renderer makes the renderer that was asked for; nil for none.
func (o *readOptions) renderer(out io.Writer) (render.Renderer, error) {
	if o.layout && o.output != "json" {
		return nil, &usageError{fmt.Errorf("--layout goes with -o json, not with -o %s", o.output), "-o tree shows every byte to people"}
	}
	if o.jobs < 1 {
		return nil, &usageError{fmt.Errorf("--jobs %d: at least 1 is needed", o.jobs), "leave it out for one a processor"}
	}
	if o.count < 0 {
		return nil, &usageError{fmt.Errorf("-c %d: not a number of messages", o.count), "0 reads to the end"}
	}
	switch o.output {
	case "none":
		return nil, nil
	case "json":
		return jsonl.New(jsonl.Options{Layout: o.layout, ShowSecrets: o.secrets}), nil
	}
	opt := text.Options{Width: width(out), Location: time.Local, Palette: text.NewPalette(o.colored(out)), ShowSecrets: o.secrets}
	if o.utc {
		opt.Location = time.UTC
	}
	if o.output == "tree" {
		return text.NewTree(opt), nil
	}
	return text.NewLine(opt), nil
}

func (o *readOptions) colored(out io.Writer) bool {
	switch o.color {
	case "always":
		return true
	case "never":
		return false
	}
	return isTerminal(out) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

func isTerminal(f any) bool {
	x, ok := f.(*os.File)
	return ok && term.IsTerminal(int(x.Fd()))
}

// width is how many columns out has: the terminal's, else COLUMNS, else 80.
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

// size is a number of bytes with an optional K, M or G.
type size int64

func (s *size) String() string { return strconv.FormatInt(int64(*s)>>20, 10) + "M" }
func (s *size) Type() string   { return "SIZE" }
func (s *size) Set(text string) error {
	const least, most = 16 << 20, 1 << 40
	shift := 0
	digits := strings.TrimSuffix(strings.TrimSuffix(strings.ToUpper(text), "B"), "I")
	for i, unit := range "KMG" {
		if rest, ok := strings.CutSuffix(digits, string(unit)); ok {
			digits, shift = rest, 10*(i+1)
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 || n > most>>shift {
		return fmt.Errorf("a size like 64M or 1G")
	}
	if n <<= shift; n < least {
		return fmt.Errorf("at least 16M")
	}
	*s = size(n)
	return nil
}
