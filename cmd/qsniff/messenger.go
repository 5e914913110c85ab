//go:build !js

package main

import (
	"math"
	"os"
	"os/exec"
	"runtime/debug"

	"github.com/spf13/cobra"

	"qsniff/internal/base/cli"
	"qsniff/internal/monitor/notify/messenger"
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
			cli.SurviveSignals()
			return messenger.Serve(os.Stdin, os.Stdout, messenger.Options{Errors: io.err, Report: func(capture string) (*exec.Cmd, error) {
				return cli.OwnCommand("qsniff", "report-beside", capture)
			}})
		},
	}}
}
