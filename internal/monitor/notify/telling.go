package notify

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"qsniff/internal/base/digits"
)

// Telling makes notes of incidents and findings during a run, and passes them to the messenger process. The
// methods of a nil one, but for those of its Teller, do nothing.
type Telling struct {
	*Teller
	Messenger *Messenger
	names     []string // of the sinks
}

// StartTelling starts the messenger process by cmd. It returns nil if c names nothing for it to do. log is
// called with what goes wrong later; o.Put is set to the messenger's.
func StartTelling(cmd *exec.Cmd, c *Config, o Options, log func(string)) (*Telling, error) {
	t := &Telling{}
	var err error
	if t.Messenger, err = Start(cmd, c, log); err != nil {
		return nil, err
	}
	_, sinks := t.Messenger.Counts()
	for _, s := range sinks {
		t.names = append(t.names, s.Name)
	}
	o.Put = t.Messenger.Put
	t.Teller = New(o)
	return t, nil
}

// Reopen has the file opened anew.
func (t *Telling) Reopen() {
	if t != nil {
		t.Messenger.Reopen()
	}
}

// ReloadHooks has the file of services read again.
func (t *Telling) ReloadHooks(name string) error {
	if t == nil || name == "" {
		return nil
	}
	return t.Messenger.ReloadHooks(name)
}

// Health returns an error if the messenger process has ended: it cannot be started again.
func (t *Telling) Health() error {
	if t != nil && t.Messenger.Gone() {
		return errors.New("the process that tells of incidents has ended")
	}
	return nil
}

// Describe returns in words which sinks get notes, and which rights the messenger process dropped.
func (t *Telling) Describe() string {
	if t == nil {
		return ""
	}
	return fmt.Sprintf("telling %s, from a process of its own; its sandbox: %s", strings.Join(t.names, ", "), t.Messenger.Sandbox())
}

// Finish has the remaining notes sent, and returns lines about what each sink got, and about what was
// lost.
func (t *Telling) Finish() (lines []string) {
	if t == nil {
		return nil
	}
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	if err := t.Messenger.Close(); err != nil {
		add("%v", err)
	}
	way, sinks := t.Messenger.Counts()
	if n := way.Lost; n > 0 {
		add("not told: %d %s", n, digits.Noun(n, "note"))
	}
	if n := t.Crowded(); n > 0 {
		add("not told: %d %s of further kinds and servers", n, digits.Noun(n, "finding"))
	}
	for i := range sinks {
		s := &sinks[i]
		if s.Name == Reports {
			add("%s: %d made, %d skipped, %d failed", s.Name, s.Sent, s.Lost, s.Refused)
			continue
		}
		what := "note"
		if strings.HasPrefix(s.Name, FleetSink) {
			what = "message"
		}
		add("told %s: %d %s%s", s.Name, s.Sent, digits.Noun(s.Sent, what), describeUntold(s))
	}
	return lines
}

// describeUntold returns in words how many notes a sink did not get, by reason.
func describeUntold(s *SinkCounts) string {
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
