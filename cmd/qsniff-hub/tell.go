package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"qsniff/tell"
	"qsniff/tell/messenger"
)

// tellOptions are the flags about who is told of campaigns.
type tellOptions struct {
	file        string
	fileSize    byteSize
	fileCount   int
	hooks       string
	every       time.Duration
	exec        string
	execTimeout time.Duration
	syslog      bool
	journal     bool
}

// tellHelp is the part of a long description about who is told.
const tellHelp = `Campaigns are told when they begin, change and end, and sensors when they fall silent and
speak again, as qsniff monitor tells incidents: --tell FILE appends JSON lines, --webhooks
FILE lists services (discord, slack, matrix, ntfy, json), --on-campaign-exec starts a
PROGRAM with QSNIFF_EVENT, QSNIFF_THREAD, QSNIFF_KIND, QSNIFF_LEVEL, QSNIFF_TEXT,
QSNIFF_ADVICE and more in its environment, and the line on standard input. Of several
hubs the one that leads tells. What it told when it ended, and nobody knows whether it
arrived, is counted as uncertain, and not told again.`

func (o *tellOptions) register(cmd *cobra.Command) {
	f := cmd.Flags()
	o.fileSize = 16 << 20
	f.StringVar(&o.file, "tell", "", "append campaigns to `FILE`, as JSON lines: when they begin, change and end")
	f.Var(&o.fileSize, "tell-size", "rename the FILE of --tell to FILE.1 after so many bytes, and begin another")
	f.IntVar(&o.fileCount, "tell-files", 4, "keep `N` of these old files")
	f.StringVar(&o.hooks, "webhooks", "", "tell the services that `FILE` lists: discord, slack, matrix, ntfy, json")
	f.DurationVar(&o.every, "webhook-every", 10*time.Minute, "tell a service of changes of a campaign once in this `TIME`")
	f.StringVar(&o.exec, "on-campaign-exec", "", "start `PROGRAM`, with the campaign as environment QSNIFF_...")
	f.DurationVar(&o.execTimeout, "exec-timeout", 30*time.Second, "kill the PROGRAM after this `TIME`")
	f.BoolVar(&o.syslog, "syslog", false, "tell syslog (RFC 5424, /dev/log)")
	f.BoolVar(&o.journal, "journal", false, "tell systemd's journal")
}

// config returns where notes go.
func (o *tellOptions) config() (*tell.Config, error) {
	c := &tell.Config{File: o.file, FileSize: int64(o.fileSize), FileCount: o.fileCount, HooksFile: o.hooks, Every: o.every, Exec: o.exec, ExecTimeout: o.execTimeout}
	const mostFiles = 1000 // renaming them takes milliseconds
	switch {
	case o.fileCount < 0 || o.fileCount > mostFiles:
		return nil, &usageError{fmt.Errorf("--tell-files %d: from 0 to %d", o.fileCount, mostFiles), "leave it out for 4"}
	case o.every < time.Second || o.execTimeout < time.Second:
		return nil, &usageError{errors.New("--webhook-every, --exec-timeout: at least 1s"), "write a length of time, as 30s or 10m"}
	}
	if o.syslog {
		c.Syslog = "/dev/log"
	}
	if o.journal {
		c.Journal = "/run/systemd/journal/socket"
	}
	return c, nil
}

// startTelling starts the process that tells. It returns nil if nobody is to be told.
func startTelling(c *tell.Config, log func(string)) (*tell.Messenger, error) {
	if c.IsEmpty() {
		return nil, nil
	}
	path := "/proc/self/exe" // as it was started, even if it was replaced on disk since
	if runtime.GOOS != "linux" {
		var err error
		if path, err = os.Executable(); err != nil {
			return nil, err
		}
	}
	cmd := exec.Command(path, "messenger")
	cmd.Args[0], cmd.Stderr = "qsniff-hub", os.Stderr
	m, err := tell.Start(cmd, c, log)
	if err != nil {
		return nil, &hintedError{err, "qsniff-hub run --help has who can be told, and how"}
	}
	return m, nil
}

// newMessenger is the command that run starts as a process of its own.
func newMessenger(io streams) *cobra.Command {
	return &cobra.Command{Use: "messenger", Short: "tell what another qsniff-hub finds: started by it", Hidden: true, Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			// It ends when its orders do: a signal to all processes of a service must not keep it from telling
			// how things ended. Signals are caught and not ignored, which programs would inherit.
			all := []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE}
			signal.Reset(all...)
			signal.Notify(make(chan os.Signal, 1), all...)
			return messenger.Serve(os.Stdin, os.Stdout, messenger.Options{Errors: io.err, Report: func(string) (*exec.Cmd, error) {
				return nil, errors.New("a hub has no captures")
			}})
		}}
}
