//go:build !js

package main

import (
	"errors"
	"io"
	"math"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"

	"qsniff/internal/app/cli"
	"qsniff/internal/base/sandbox"
	"qsniff/internal/flood/rules/loaded"
)

// rulesCommand is the command that reads which rules are loaded: a process of its own, so that the one that
// sees packets has no right at the firewall.
const rulesCommand = "rule-counters"

// newRuleCounters returns that command. Another qsniff starts it.
func newRuleCounters(io streams) *cobra.Command {
	return &cobra.Command{
		Use:    rulesCommand,
		Short:  "count what loaded rules drop: started by qsniff",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return serveRuleCounters(os.Stdin, io.out)
		},
	}
}

// serveRuleCounters answers orders until in ends. It gives up all rights but to run nft or iptables-save, which may read the
// firewall, and to read the folders with that and its libraries.
func serveRuleCounters(in io.Reader, out io.Writer) error {
	debug.SetGCPercent(messengerGrowth)
	debug.SetMemoryLimit(math.MaxInt64)
	cli.SurviveSignals()
	sandbox.LowerPriority()
	program := loaded.Program()
	if !loaded.CanRead() {
		return errors.New("neither nft nor iptables is installed")
	}
	nothing, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	defer nothing.Close()
	if _, err := sandbox.Enter(sandbox.Policy{Programs: loaded.Folders(), NetAdmin: true}); err != nil {
		return err
	}
	return loaded.Serve(in, out, program, nothing)
}

// readLoaded starts that process, and returns what asks it. It returns nil where nft and iptables are missing, or the right
// to read the firewall: then what the rules do is unknown, and all else goes on.
func readLoaded() *loaded.Reader {
	if !sandbox.HasNetAdmin() || !loaded.CanRead() {
		return nil
	}
	cmd, err := cli.OwnCommand("qsniff", rulesCommand)
	if err != nil {
		return nil
	}
	r, err := loaded.Start(cmd)
	if err != nil {
		return nil
	}
	return r
}
