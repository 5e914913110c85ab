//go:build !js

package main

import (
	"math"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"

	"qsniff/tell/messenger"
)

// messengerGrowth is heapGrowth of the messenger, which has no tables. Chosen: Go's own is for
// programs that are in a hurry.
const messengerGrowth = 50

// messengerCommands returns the commands that other commands start as processes of their own.
func messengerCommands(io streams) []*cobra.Command {
	return []*cobra.Command{newReportBeside(io), {
		Use:    "messenger",
		Short:  "tell what another qsniff finds: started by it",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			debug.SetGCPercent(messengerGrowth)
			debug.SetMemoryLimit(math.MaxInt64)
			surviveSignals()
			return messenger.Serve(os.Stdin, os.Stdout, messenger.Options{Errors: io.err, Report: func(capture string) (*exec.Cmd, error) {
				return ownCommand("report-beside", capture)
			}})
		},
	}}
}

// surviveSignals has signals do nothing. The messenger ends when its orders do: a signal to all
// processes of a terminal or of a service must not keep it from telling how things ended. They are
// caught and not ignored: what is ignored, programs would inherit.
func surviveSignals() {
	all := []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE}
	signal.Reset(all...)
	signal.Notify(make(chan os.Signal, 1), all...) // what is not read is dropped
}

// ownCommand returns a command that runs this program with other arguments.
func ownCommand(args ...string) (*exec.Cmd, error) {
	path := "/proc/self/exe" // as it was started, even if it was replaced on disk since
	if runtime.GOOS != "linux" {
		var err error
		if path, err = os.Executable(); err != nil {
			return nil, err
		}
	}
	cmd := exec.Command(path, args...)
	cmd.Args[0] = "qsniff"
	return cmd, nil
}
