//go:build !js

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"

	"qsniff/internal/app/cli"
	"qsniff/internal/app/terminal"
	"qsniff/internal/base/sandbox"
	"qsniff/internal/fleet/messenger"
)

// endingSignals returns the signals that end a run.
func endingSignals() []os.Signal {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup ignores it
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
}

// hangups returns a channel that gets SIGHUP, which ends nothing from now on. The channel gets it
// under nohup, too: whoever sends it there wants what it is for here.
func hangups() <-chan os.Signal {
	signal.Reset(syscall.SIGHUP)
	c := make(chan os.Signal, 1) // one reload does for several
	signal.Notify(c, syscall.SIGHUP)
	return c
}

// ignoreBrokenPipe makes a write to a pipe without a reader an error, and not the end.
func ignoreBrokenPipe() { signal.Ignore(syscall.SIGPIPE) }

// onScreenName is the variable that marks the process which takes the terminal.
const onScreenName = "QSNIFF_ON_SCREEN"

// onScreen calls show, which takes the terminal, in another process. A crash of a goroutine, or
// SIGKILL, would leave the terminal taken: however the other process ends, this one gives it back.
func onScreen(ctx context.Context, show func() error) error {
	if os.Getenv(onScreenName) != "" || !isTerminal(os.Stdout) {
		os.Unsetenv(onScreenName)
		return show()
	}
	cmd, err := cli.OwnCommand("qsniff", os.Args[1:]...)
	if err != nil {
		return err
	}
	cmd.Stdin, cmd.Stdout, cmd.Env = os.Stdin, os.Stdout, append(os.Environ(), onScreenName+"=1")
	status, said, crashed, err := terminal.Guard(ctx, cmd)
	if err != nil {
		return err
	}
	if _, err := os.Stderr.Write(said); err != nil {
		return err
	}
	if crashed {
		return cli.Hinted(fmt.Errorf("it ended unexpectedly (%s); the terminal is as it was", cmd.ProcessState), "what it printed is above; the same with qsniff read shows whether the capture is the reason")
	}
	if status != exitOK {
		return statusError(status)
	}
	return nil
}

// messengerGrowth is heap.Growth of the messenger, which has no tables. Chosen: Go's own is for
// programs that are in a hurry.
const messengerGrowth = 50

// messengerCommands returns the commands that other commands start as processes of their own.
func messengerCommands(io streams) []*cobra.Command {
	return []*cobra.Command{newReportBeside(io), newRuleCounters(io), {
		Use:    "messenger",
		Short:  "tell what another qsniff finds: started by it",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			debug.SetGCPercent(messengerGrowth)
			debug.SetMemoryLimit(math.MaxInt64)
			cli.SurviveSignals()
			return messenger.Serve(os.Stdin, os.Stdout, messenger.Options{Errors: io.err, Report: func(capture string) (*exec.Cmd, error) {
				return cli.OwnCommand("qsniff", "report-beside", capture)
			}})
		},
	}}
}

// besideMemory is the budget of the tables of a report beside a capture. Chosen: a quarter of the
// usual, as it is made while the run goes on, of one incident.
const besideMemory = 64 << 20

// newReportBeside returns the command that makes the report of a capture beside it. Another qsniff
// starts it.
func newReportBeside(io streams) *cobra.Command {
	return &cobra.Command{
		Use:    "report-beside FILE",
		Short:  "make the report of a file around an incident: started by qsniff",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return reportBeside(cmd.Context(), args[0], io)
		},
	}
}

// reportBeside makes the report of a capture as NAME.html, with the lowest priority, and without any
// right but to read the capture and to write its folder: packets are hostile, and it runs unattended.
// A report has its name once it is whole.
func reportBeside(ctx context.Context, capture string, s streams) error {
	sandbox.LowerPriority()
	folder := filepath.Dir(capture)
	user, err := sandbox.OwnerOf(folder)
	if err != nil {
		return err
	}
	if _, err := sandbox.Enter(sandbox.Policy{Read: []string{capture}, Write: []string{folder}, User: user}); err != nil {
		return err
	}
	final := capture + reportSuffix
	o := &reportOptions{readOptions: *readDefaults(), maxSize: reportSize, force: true, command: "qsniff report " + filepath.Base(capture)}
	o.output, o.jobs, o.memory = final+".part", 1, besideMemory
	if err := o.check(s.out); err != nil {
		return err
	}
	if err := makeReport(ctx, o, []string{capture}, s); err != nil {
		_ = os.Remove(o.output) // it may not be there
		return err
	}
	if err := os.Rename(o.output, final); err != nil {
		return err
	}
	if _, err := os.Lstat(capture); errors.Is(err, fs.ErrNotExist) { // it was removed meanwhile
		return os.Remove(final)
	}
	return nil
}
