package cli

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"qsniff/internal/monitor/notify"
)

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
