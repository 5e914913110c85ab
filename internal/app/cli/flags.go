package cli

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"qsniff/internal/monitor/notify"
)

// Choice is the value of a flag that has one of Allowed.
type Choice struct {
	value   *string
	Allowed []string
}

// OneOf returns a Choice that sets value, which is the default.
func OneOf(value *string, allowed ...string) *Choice { return &Choice{value, allowed} }

func (c *Choice) String() string { return *c.value }

// Type returns what help shows for the value.
func (c *Choice) Type() string { return strings.Join(c.Allowed, "|") }

// Set sets the value by what is on the command line.
func (c *Choice) Set(s string) error {
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
