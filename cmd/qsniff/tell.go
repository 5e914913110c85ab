package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"qsniff/dissect/finding"
	"qsniff/internal/app/cli"
	"qsniff/internal/base/hostset"
	"qsniff/internal/monitor/notify"
)

// tellOptions are the flags about who is told of incidents and findings.
type tellOptions struct {
	cli.TellFlags
	findings string
}

// tellHelp is the part of a long description about who is told.
const tellHelp = `Incidents that need attention, and findings, are told when they begin, change and end:
--tell FILE appends lines as floods -o json and findings -o json print them, with "event"
(open, update, close) and "thread", the same for all lines of one incident. A FILE that was
renamed is made anew. --webhooks FILE lists services, one a line; its secrets are in no log:

  discord https://discord.com/api/webhooks/...
  slack   https://hooks.slack.com/services/...
  matrix  https://HOST/_matrix/client/v3/rooms/ROOM TOKEN
  ntfy    https://ntfy.sh/TOPIC
  json    https://HOST/PATH TOKEN      the line itself; a TOKEN is optional

What a service does not take is tried again for an hour, further and further apart. Of 256
notes that wait for one the changes go first; the next message says how many were lost. Of an
incident's changes services get one each --webhook-every. --on-incident-exec starts a PROGRAM
without a shell, at most 4 at once: the environment has QSNIFF_EVENT, QSNIFF_THREAD,
QSNIFF_KIND, QSNIFF_LEVEL, QSNIFF_TARGET, QSNIFF_ADDRESS, QSNIFF_PORT, QSNIFF_TEXT,
QSNIFF_ADVICE and more, standard input the line. All this is done by a process of its own, which
sees no packets and gives up all rights but these services and files; with
--on-incident-exec it keeps those of who started qsniff, and programs have them.`

// registerTell adds the flags. findings is the default of --tell-findings.
func (o *tellOptions) registerTell(cmd *cobra.Command, findings string) {
	f := cmd.Flags()
	o.findings = findings
	o.TellFlags.Register(f, "incidents and findings", "incident")
	f.Var(cli.OneOf(&o.findings, "none", "warn", "error"), "tell-findings", "tell of findings of this severity or above")
	for _, name := range []string{"tell-size", "tell-files", "webhook-every", "exec-timeout"} {
		propose(cmd, name, cobra.NoFileCompletions)
	}
}

// telling makes notes of incidents and findings during a run, and passes them to the messenger process.
type telling struct {
	*notify.Teller
	messenger *notify.Messenger
	names     []string // of the sinks
}

// startTelling starts the messenger process. It returns nil if c names nothing for it to do. log is
// called with what goes wrong later.
func (o *tellOptions) startTelling(c *notify.Config, ours *hostset.Set, log func(string)) (*telling, error) {
	if c.IsEmpty() {
		return nil, nil
	}
	cmd, err := cli.OwnCommand("qsniff", "messenger")
	if err != nil {
		return nil, err
	}
	cmd.Stderr = os.Stderr
	t := &telling{}
	if t.messenger, err = notify.Start(cmd, c, log); err != nil {
		return nil, &hintedError{err, "--help has who can be told, and how"}
	}
	_, sinks := t.messenger.Counts()
	for _, s := range sinks {
		t.names = append(t.names, s.Name)
	}
	t.Teller = o.newTeller(ours, t.messenger.Put)
	return t, nil
}

// newTeller returns what makes notes of incidents, and of the findings that are wanted.
func (o *tellOptions) newTeller(ours *hostset.Set, put func(*notify.Note)) *notify.Teller {
	least := slices.Index(severities, o.findings)
	return notify.New(notify.Options{Ours: ours, HasFindings: least >= 0, Least: finding.Severity(max(least, 0)), Run: time.Now(), Put: put})
}

// The methods of a nil telling do nothing.

// reopen has the file opened anew.
func (t *telling) reopen() {
	if t != nil {
		t.messenger.Reopen()
	}
}

// reloadHooks has the file of services read again.
func (t *telling) reloadHooks(name string) error {
	if t == nil || name == "" {
		return nil
	}
	return t.messenger.ReloadHooks(name)
}

// health returns an error if the messenger process has ended: it cannot be started again.
func (t *telling) health() error {
	if t != nil && t.messenger.Gone() {
		return errors.New("the process that tells of incidents has ended")
	}
	return nil
}

// describe returns in words which sinks get notes, and which rights the messenger process dropped.
func (t *telling) describe() string {
	if t == nil {
		return ""
	}
	return fmt.Sprintf("telling %s, from a process of its own; its sandbox: %s", strings.Join(t.names, ", "), t.messenger.Sandbox())
}

// finish has the remaining notes sent, and returns lines about what each sink got, and about what was
// lost.
func (t *telling) finish() (lines []string) {
	if t == nil {
		return nil
	}
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	if err := t.messenger.Close(); err != nil {
		add("%v", err)
	}
	way, sinks := t.messenger.Counts()
	if n := way.Lost; n > 0 {
		add("not told: %s", count(n, "note"))
	}
	if n := t.Crowded(); n > 0 {
		add("not told: %s of further kinds and servers", count(n, "finding"))
	}
	for i := range sinks {
		if s := &sinks[i]; s.Name == notify.Reports {
			add("%s: %d made, %d skipped, %d failed", s.Name, s.Sent, s.Lost, s.Refused)
			continue
		}
		what := "note"
		if strings.HasPrefix(sinks[i].Name, notify.FleetSink) {
			what = "message"
		}
		add("told %s: %s%s", sinks[i].Name, count(sinks[i].Sent, what), describeUntold(&sinks[i]))
	}
	return lines
}

// describeUntold returns in words how many notes a sink did not get, by reason.
func describeUntold(s *notify.SinkCounts) string {
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
