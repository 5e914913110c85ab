package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"qsniff/finding"
	"qsniff/internal/digits"
	"qsniff/internal/hostset"
	"qsniff/tell"
)

// tellOptions are the flags about who is told of incidents and findings.
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
	findings    string
}

// The sockets of the logs of the system.
const (
	syslogSocket  = "/dev/log"
	journalSocket = "/run/systemd/journal/socket"
)

// longestHooks is the greatest size of a file of --webhooks. Chosen: that of 16 services, and
// comments.
const longestHooks = 64 << 10

// register adds the flags. findings is the default of --tell-findings.
func (o *tellOptions) register(cmd *cobra.Command) {
	f := cmd.Flags()
	o.fileSize, o.findings = 16<<20, "error"
	f.StringVar(&o.file, "tell", "", "append incidents and findings to `FILE`, as JSON lines: when they begin, change and end")
	f.Var(&o.fileSize, "tell-size", "rename the FILE of --tell to FILE.1 after so many bytes, and begin another")
	f.IntVar(&o.fileCount, "tell-files", 4, "keep `N` of these old files")
	f.StringVar(&o.hooks, "webhooks", "", "tell the services that `FILE` lists: discord, slack, matrix, ntfy, json")
	f.DurationVar(&o.every, "webhook-every", 10*time.Minute, "tell a service of changes of an incident once in this `TIME`")
	f.StringVar(&o.exec, "on-incident-exec", "", "start `PROGRAM`, with the incident as environment QSNIFF_...")
	f.DurationVar(&o.execTimeout, "exec-timeout", 30*time.Second, "kill the PROGRAM after this `TIME`")
	f.BoolVar(&o.syslog, "syslog", false, "tell syslog (RFC 5424, /dev/log)")
	f.BoolVar(&o.journal, "journal", false, "tell systemd's journal")
	f.Var(&choice{&o.findings, []string{"none", "warn", "error"}}, "tell-findings", "tell of findings of this severity or above")
	for _, name := range []string{"tell-size", "tell-files", "webhook-every", "exec-timeout"} {
		propose(cmd, name, cobra.NoFileCompletions)
	}
}

// config returns where notes go. It reads the file of --webhooks.
func (o *tellOptions) config() (*tell.Config, error) {
	c := &tell.Config{File: o.file, FileSize: int64(o.fileSize), FileCount: o.fileCount, Every: o.every, Exec: o.exec, ExecTimeout: o.execTimeout}
	const mostFiles = 1000 // renaming them takes milliseconds
	switch {
	case o.fileCount < 0 || o.fileCount > mostFiles:
		return nil, &usageError{fmt.Errorf("--tell-files %d: from 0 to %d", o.fileCount, mostFiles), "leave it out for 4"}
	case o.every < time.Second || o.execTimeout < time.Second:
		return nil, &usageError{errors.New("--webhook-every, --exec-timeout: at least 1s"), "write a length of time, as 30s or 10m"}
	}
	if o.syslog {
		c.Syslog = syslogSocket
	}
	if o.journal {
		c.Journal = journalSocket
	}
	if o.hooks == "" {
		return c, nil
	}
	text, err := readHooks(o.hooks)
	if err == nil {
		c.Hooks, err = tell.ParseHooks(text)
	}
	if err != nil {
		return nil, &hintedError{fmt.Errorf("--webhooks %s: %w", o.hooks, err),
			"a line is a service and its address: discord https://discord.com/api/webhooks/...; a token may follow"}
	}
	return c, nil
}

// readHooks reads a file with secrets, which others must not be able to read.
func readHooks(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", errors.Unwrap(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	if info.Mode().IsRegular() && info.Mode()&0o007 != 0 {
		return "", errors.New("everybody may read it, and addresses of webhooks are secrets: chmod o= FILE")
	}
	b, err := io.ReadAll(io.LimitReader(f, longestHooks+1))
	if err == nil && len(b) > longestHooks {
		err = fmt.Errorf("more than %s", digits.Bytes(longestHooks))
	}
	return string(b), err
}

// telling is what tells of incidents and findings during a run.
type telling struct {
	*tell.Teller
	messenger *tell.Messenger
	names     []string // of those that are told
}

// startTelling starts the process that tells. It returns nil if nobody is to be told. log is
// called with what goes wrong later.
func startTelling(o *tellOptions, c *tell.Config, ours *hostset.Set, log func(string)) (*telling, error) {
	if c.IsEmpty() {
		return nil, nil
	}
	cmd, err := ownCommand("messenger")
	if err != nil {
		return nil, err
	}
	cmd.Stderr = os.Stderr
	t := &telling{}
	if t.messenger, err = tell.Start(cmd, c, log); err != nil {
		return nil, err
	}
	_, sinks := t.messenger.Counts()
	for _, s := range sinks {
		t.names = append(t.names, s.Name)
	}
	least := slices.Index(severities, o.findings)
	t.Teller = tell.New(tell.Options{Ours: ours, HasFindings: least >= 0, Least: finding.Severity(max(least, 0)), Run: time.Now(), Put: t.messenger.Put})
	return t, nil
}

// describe returns who is told, and which rights the process that does so gave up.
func (t *telling) describe() string {
	return fmt.Sprintf("telling %s, from a process of its own; its sandbox: %s", strings.Join(t.names, ", "), t.messenger.Sandbox())
}

// finish has everything told, and prints what could not be.
func (t *telling) finish(w io.Writer) {
	if err := t.messenger.Close(); err != nil {
		fmt.Fprintf(w, "qsniff: %v\n", err)
	}
	way, sinks := t.messenger.Counts()
	if n := way.Lost; n > 0 {
		fmt.Fprintf(w, "qsniff: not told: %s\n", count(n, "note"))
	}
	if n := t.Crowded(); n > 0 {
		fmt.Fprintf(w, "qsniff: not told: %s of further kinds and servers\n", count(n, "finding"))
	}
	for _, s := range sinks {
		fmt.Fprintf(w, "qsniff: told %s: %s%s\n", s.Name, count(s.Sent, "note"), describeUntold(&s))
	}
}

// describeUntold returns what a sink was not told.
func describeUntold(s *tell.SinkCounts) string {
	words := ""
	for _, x := range []struct {
		n    uint64
		what string
	}{{s.Lost, "no room for"}, {s.Refused, "not delivered:"}, {uint64(s.Waiting), "still waiting:"}} {
		if x.n > 0 {
			words += fmt.Sprintf(", %s %d", x.what, x.n)
		}
	}
	return words
}
