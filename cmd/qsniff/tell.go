package main

import (
	"os"
	"slices"
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

// startTelling starts the messenger process. It returns nil if c names nothing for it to do. log is
// called with what goes wrong later.
func (o *tellOptions) startTelling(c *notify.Config, ours *hostset.Set, log func(string)) (*notify.Telling, error) {
	if c.IsEmpty() {
		return nil, nil
	}
	cmd, err := cli.OwnCommand("qsniff", "messenger")
	if err != nil {
		return nil, err
	}
	cmd.Stderr = os.Stderr
	t, err := notify.StartTelling(cmd, c, o.notes(ours), log)
	if err != nil {
		return nil, cli.Hinted(err, "--help has who can be told, and how")
	}
	return t, nil
}

// notes returns the options of what makes notes of incidents, and of the findings that are wanted.
func (o *tellOptions) notes(ours *hostset.Set) notify.Options {
	least := slices.Index(severities, o.findings)
	return notify.Options{Ours: ours, HasFindings: least >= 0, Least: finding.Severity(max(least, 0)), Run: time.Now()}
}
