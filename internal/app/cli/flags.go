package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/BurntSushi/toml"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"qsniff/internal/flood"
	"qsniff/internal/flood/config"
	"qsniff/internal/monitor/notify"
	"qsniff/internal/render/manual"
)

// Choice is the value of a flag that has one of Allowed.
type Choice struct {
	value   *string
	Allowed []string
	Others  map[string]string // further words, which no help has, and what they stand for
}

// OneOf returns a Choice that sets value, which is the default.
func OneOf(value *string, allowed ...string) *Choice { return &Choice{value: value, Allowed: allowed} }

func (c *Choice) String() string { return *c.value }

// Type returns what help shows for the value.
func (c *Choice) Type() string { return strings.Join(c.Allowed, "|") }

// Set sets the value by what is on the command line.
func (c *Choice) Set(s string) error {
	if other, ok := c.Others[s]; ok {
		s = other
	}
	if !slices.Contains(c.Allowed, s) {
		return fmt.Errorf("one of %s", strings.Join(c.Allowed, ", "))
	}
	*c.value = s
	return nil
}

// ByteSize is the value of a flag: a number of bytes above 0, with an optional unit. It is 0 if not given.
type ByteSize int64

// units are those of sizes, each 1024 times the one before.
const units = "KMGT"

func (a *ByteSize) String() string {
	if *a == 0 {
		return ""
	}
	n, unit := int64(*a), ""
	for i := 0; i < len(units) && n%1024 == 0; i++ {
		n, unit = n/1024, units[i:i+1]
	}
	return strconv.FormatInt(n, 10) + unit
}

// Type returns what help shows for the value.
func (a *ByteSize) Type() string { return "SIZE" }

// Set sets the value by what is on the command line: K, KB or KiB, and likewise M, G and T.
func (a *ByteSize) Set(text string) error {
	const most = 1 << 50 // chosen: more than any disk for this has
	digits, shift := strings.TrimSuffix(strings.TrimSuffix(strings.ToUpper(text), "B"), "I"), 0
	if last := len(digits) - 1; last > 0 {
		if i := strings.IndexByte(units, digits[last]); i >= 0 {
			digits, shift = digits[:last], 10*(i+1)
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n <= 0 || n > most>>shift {
		return errors.New("a size like 64M or 8G")
	}
	*a = ByteSize(n << shift)
	return nil
}

// LogFlags are the flags about the log of a program that runs for long.
type LogFlags struct{ form, level string }

// Register adds the flags.
func (o *LogFlags) Register(f *pflag.FlagSet) {
	o.form, o.level = "text", "info"
	f.Var(OneOf(&o.form, "text", "json"), "log-format", "text: key=value; json: an object a line")
	f.Var(OneOf(&o.level, "debug", "info", "warn", "error"), "log-level", "log what is at least as important")
}

// NewLogger returns a logger that writes to w.
func (o *LogFlags) NewLogger(w io.Writer) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(o.level)) // the flag has no other values
	opt := &slog.HandlerOptions{Level: level}
	if o.form == "json" {
		return slog.New(slog.NewJSONHandler(w, opt))
	}
	return slog.New(slog.NewTextHandler(w, opt))
}

// TellFlags are the flags about who is told.
type TellFlags struct {
	File        string
	FileSize    ByteSize
	FileCount   int
	Hooks       string
	Every       time.Duration
	Exec        string
	ExecTimeout time.Duration
	Syslog      bool
	Journal     bool
}

// Register adds the flags. all names what notes are about, in the plural; subject names that of it which changes and for which programs start.
func (o *TellFlags) Register(f *pflag.FlagSet, all, subject string) {
	o.FileSize = 16 << 20
	f.StringVar(&o.File, "tell", "", "append "+all+" to `FILE`, as JSON lines: when they begin, change and end")
	f.Var(&o.FileSize, "tell-size", "rename the FILE of --tell to FILE.1 after so many bytes, and begin another")
	f.IntVar(&o.FileCount, "tell-files", 4, "keep `N` of these old files")
	f.StringVar(&o.Hooks, "webhooks", "", "tell the services that `FILE` lists: discord, slack, matrix, ntfy, json")
	f.DurationVar(&o.Every, "webhook-every", 10*time.Minute, "tell a service of changes of the same "+subject+" once in this `TIME`")
	f.StringVar(&o.Exec, "on-"+subject+"-exec", "", "start `PROGRAM`, with the "+subject+" as environment QSNIFF_...")
	f.DurationVar(&o.ExecTimeout, "exec-timeout", 30*time.Second, "kill the PROGRAM after this `TIME`")
	f.BoolVar(&o.Syslog, "syslog", false, "tell syslog (RFC 5424, /dev/log)")
	f.BoolVar(&o.Journal, "journal", false, "tell systemd's journal")
}

// Config returns where notes go.
func (o *TellFlags) Config() (*notify.Config, error) {
	const mostFiles = 1000 // renaming them takes milliseconds
	switch {
	case o.FileCount < 0 || o.FileCount > mostFiles:
		return nil, Usage(fmt.Errorf("--tell-files %d: from 0 to %d", o.FileCount, mostFiles), "leave it out for 4")
	case o.Every < time.Second || o.ExecTimeout < time.Second:
		return nil, Usage(errors.New("--webhook-every, --exec-timeout: at least 1s"), "write a length of time, as 30s or 10m")
	}
	c := &notify.Config{File: o.File, FileSize: int64(o.FileSize), FileCount: o.FileCount, HooksFile: o.Hooks, Every: o.Every,
		Exec: o.Exec, ExecTimeout: o.ExecTimeout}
	if o.Syslog {
		c.Syslog = "/dev/log"
	}
	if o.Journal {
		c.Journal = "/run/systemd/journal/socket"
	}
	return c, nil
}

// Headings are those of flags, each with the names of its flags in order.
type Headings []struct {
	Title string
	Names []string
}

// Group is the flags of a command under one heading.
type Group struct {
	Title string
	Flags *pflag.FlagSet
}

// GroupFlags returns the flags of a command that are not hidden, by heading; those of no heading come last.
func GroupFlags(cmd *cobra.Command, headings Headings) (groups []Group) {
	cmd.InitDefaultHelpFlag()
	cmd.Flags().Lookup("help").Usage = "-h has this in brief, --help has all"
	cmd.InitDefaultVersionFlag()
	isListed := map[string]bool{}
	for _, h := range headings {
		set := pflag.NewFlagSet("", pflag.ContinueOnError)
		set.SortFlags = false
		for _, name := range h.Names {
			if f := cmd.LocalFlags().Lookup(name); f != nil && !f.Hidden {
				set.AddFlag(f)
				isListed[name] = true
			}
		}
		if set.HasFlags() {
			groups = append(groups, Group{h.Title + " flags", set})
		}
	}
	others := pflag.NewFlagSet("", pflag.ContinueOnError)
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if !isListed[f.Name] && !f.Hidden {
			others.AddFlag(f)
		}
	})
	return append(groups, Group{"Other flags", others})
}

// PrintUsage prints the usage of a command, in lines of at most so many characters: its synopsis, commands by group, examples, flags by heading.
func PrintUsage(cmd *cobra.Command, headings Headings, width int) error {
	var b strings.Builder
	fmt.Fprintf(&b, "Usage:\n  %s\n", cmd.UseLine())
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "  %s COMMAND [flags] ...\n", cmd.CommandPath())
	}
	for _, g := range cmd.Groups() {
		fmt.Fprintf(&b, "\n%s:\n", g.Title)
		for _, sub := range cmd.Commands() {
			if sub.GroupID == g.ID && sub.IsAvailableCommand() {
				fmt.Fprintf(&b, "  %-*s  %s\n", cmd.NamePadding(), sub.Name(), sub.Short)
			}
		}
	}
	if cmd.HasExample() {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", cmd.Example)
	}
	for _, g := range GroupFlags(cmd, headings) {
		fmt.Fprintf(&b, "\n%s:\n%s", g.Title, g.Flags.FlagUsagesWrapped(width))
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\n\"%s COMMAND --help\" prints the help of a command.\n", cmd.CommandPath())
	}
	_, err := cmd.OutOrStderr().Write([]byte(b.String()))
	return err
}

// IsBrief reports whether the arguments of a command ask for its help in brief, by -h.
func IsBrief(args []string) bool {
	return slices.Contains(args, "-h") && !slices.Contains(args, "--help")
}

// PrintBrief prints what -h does of a command: its synopsis, examples, and a line of so many characters for
// each flag.
func PrintBrief(cmd *cobra.Command, headings Headings, width int) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n\nUsage:\n  %s\n", cmd.CommandPath(), cmd.Short, cmd.UseLine())
	if cmd.HasExample() {
		b.WriteString("\nExamples:\n")
	}
	shown := 0
	for example := range strings.Lines(cmd.Example) {
		if example = strings.TrimRight(example, "\n"); len(example) <= max(width, narrowest) && shown < briefExamples {
			b.WriteString(example + "\n")
			shown++
		}
	}
	type line struct{ flag, text string }
	var lines []line
	column := 0
	for _, g := range GroupFlags(cmd, headings) {
		g.Flags.VisitAll(func(f *pflag.Flag) {
			name, text := pflag.UnquoteUsage(f)
			x := line{"    ", text}
			if f.Shorthand != "" {
				x.flag = "-" + f.Shorthand + ", "
			}
			x.flag = strings.TrimRight(x.flag+"--"+f.Name+" "+name, " ")
			column = max(column, min(len(x.flag), widestFlag))
			lines = append(lines, x)
		})
	}
	b.WriteString("\nFlags:\n")
	for _, x := range lines {
		fmt.Fprintf(&b, "  %-*s  %s\n", column, x.flag, shorten(x.text, max(width, narrowest)-4-max(column, len(x.flag))))
	}
	fmt.Fprintf(&b, "\n%s --help has all of it.\n", cmd.CommandPath())
	_, _ = cmd.OutOrStdout().Write([]byte(b.String())) // there is nowhere to report a write error
}

const (
	briefExamples = 6  // that PrintBrief prints (chosen)
	widestFlag    = 28 // characters that a flag and its value may take before others begin a column (chosen)
	narrowest     = 72 // characters of a line, whatever the width of the terminal (chosen)
)

// widest is the greatest width of prose. Chosen: longer lines are hard to read.
const widest = 88

// Reflow breaks paragraphs into lines of at most width characters, and of the greatest width of prose. A
// paragraph with an indented line stays as it is.
func Reflow(text string, width int) string {
	width = min(width, widest)
	paragraphs := strings.Split(strings.TrimSpace(text), "\n\n")
	for i, p := range paragraphs {
		if strings.Contains("\n"+p, "\n ") {
			continue
		}
		var b strings.Builder
		used := 0
		for _, word := range strings.Fields(p) {
			n := utf8.RuneCountInString(word)
			switch {
			case used == 0:
			case used+1+n > width:
				b.WriteByte('\n')
				used = 0
			default:
				b.WriteByte(' ')
				used++
			}
			b.WriteString(word)
			used += n
		}
		paragraphs[i] = b.String()
	}
	return strings.Join(paragraphs, "\n\n")
}

// shorten returns what a flag does in at most n characters: up to a semicolon, or as many words as fit.
func shorten(text string, n int) string {
	text, _, _ = strings.Cut(text, "; ")
	if text, _, _ = strings.Cut(text, "\n"); len(text) <= n {
		return text
	}
	end := strings.LastIndexByte(text[:max(n-4, 1)], ' ')
	if end < 0 {
		return text
	}
	return strings.TrimRight(text[:end], ",") + " ..."
}

// Config is a TOML file with values of flags by their long names.
type Config struct {
	Name    string                           // of the file
	Command string                           // as errors name it
	Path    string                           // of the command, with that of the program
	Not     []string                         // flags that a file cannot set
	Keys    []string                         // keys that are no flags
	Take    func(key string, value any) bool // reports whether a key is none of a flag, or of no effect; may be nil
}

// Load sets flags by the file, but for those that are set already.
func (c *Config) Load(flags *pflag.FlagSet) error {
	values, keys, err := c.read()
	if err != nil {
		return err
	}
	for _, key := range keys { // in the order of the file
		if c.Take != nil && c.Take(key, values[key]) {
			continue
		}
		f := flags.Lookup(key)
		if f == nil || slices.Contains(c.Not, key) {
			return Hinted(fmt.Errorf("%s: %.100q is no flag of %s", c.Name, key, c.Command), c.suggest(flags, key))
		}
		if f.Changed {
			continue
		}
		if err := SetFlag(f, values[key]); err != nil {
			return Hinted(fmt.Errorf("%s: %s: %w", c.Name, key, err), c.Path+" --help has the flags with their values")
		}
	}
	return nil
}

// read returns the values of the file, and their keys in order.
func (c *Config) read() (values map[string]any, keys []string, err error) {
	text, err := ReadFile(c.Name, LongestConfig, "configuration")
	var meta toml.MetaData
	if err == nil {
		meta, err = toml.Decode(text, &values)
		err = config.ExplainSyntax(err)
	}
	for _, key := range meta.Keys() {
		keys = append(keys, key[0])
	}
	return values, keys, NameFile(c.Name, err, "it has flags by their long names, as in: log-level = \"debug\"")
}

// suggest returns a hint with the flags whose names are most like a word.
func (c *Config) suggest(flags *pflag.FlagSet, word string) string {
	names := slices.Clone(c.Keys)
	flags.VisitAll(func(f *pflag.Flag) {
		if !slices.Contains(c.Not, f.Name) && !f.Hidden {
			names = append(names, f.Name)
		}
	})
	if near := manual.Nearest(word, names); len(near) > 0 {
		return "did you mean " + strings.Join(near, ", ") + "?"
	}
	return c.Path + " --help lists all flags"
}

// SetFlag gives a flag the value that a file has for it.
func SetFlag(f *pflag.Flag, value any) error {
	f.Changed = true
	list := ListOf(f)
	several, isArray := value.([]any)
	if !isArray {
		several = []any{value}
	}
	words := make([]string, len(several))
	for i, v := range several {
		words[i] = fmt.Sprint(v)
	}
	switch {
	case list != nil:
		return list.Replace(words)
	case isArray && !strings.HasSuffix(f.Value.Type(), ",..."): // a list reads better in a file than commas
		return errors.New("one value, not a list")
	}
	err := f.Value.Set(strings.Join(words, ","))
	if number := (*strconv.NumError)(nil); errors.As(err, &number) {
		err = fmt.Errorf("%v is no number", value)
	}
	return err
}

// ListOf returns the value of a flag that may be given several times, nil of any other.
func ListOf(f *pflag.Flag) pflag.SliceValue {
	v := f.Value
	if wrapped, is := v.(interface{ Inner() pflag.Value }); is {
		v = wrapped.Inner()
	}
	list, _ := v.(pflag.SliceValue)
	return list
}

// LoadThresholds reads the file of thresholds with a name; without one all have their defaults.
func LoadThresholds(name string) (flood.Thresholds, error) {
	if name == "" {
		return flood.Defaults(), nil
	}
	text, err := ReadFile(name, LongestConfig, "file of thresholds")
	if err != nil {
		return flood.Thresholds{}, NameFile(name, err, "qsniff floods --explain -o toml prints a file with all thresholds")
	}
	limits, err := config.Parse(text)
	hint := "qsniff floods --explain lists all thresholds with their defaults"
	if unknown := (*config.UnknownError)(nil); errors.As(err, &unknown) {
		hint = cmp.Or(suggestThreshold(unknown.Key), "qsniff floods --explain lists all thresholds")
	}
	return limits, NameFile(name, err, hint)
}

// suggestThreshold returns a hint with the thresholds whose names are most like word; empty: there are none.
func suggestThreshold(word string) string {
	var names []string
	for _, s := range flood.Defaults().Settings() {
		names = append(names, s.Name)
	}
	near := manual.Nearest(word, names)
	if len(near) == 0 {
		return ""
	}
	return "did you mean " + strings.Join(near, ", ") + "?"
}

// limit: LongestConfig is the greatest size of a file of thresholds or flags, in bytes. Chosen: far more
// than all of them take with long comments, so that a capture that is named by mistake
// is refused at once.
const LongestConfig = 256 << 10
