package main

import (
	"os"
	"syscall"

	"github.com/spf13/cobra"

	"qsniff/internal/flood/rules/loaded"
)

// screenCommands returns no command: a page is no terminal.
func screenCommands(streams) []*cobra.Command { return nil }

// mcpCommands returns no command: a page has no standard input that another program writes.
func mcpCommands(streams) []*cobra.Command { return nil }

// messengerCommands returns none: a browser starts no processes.
func messengerCommands(streams) []*cobra.Command { return nil }

// monitorCommands returns no command: in a browser nothing can listen.
func monitorCommands(streams) []*cobra.Command { return nil }

// endingSignals returns the signals that end a run. In a browser there is none: who runs the
// program ends it as a whole.
func endingSignals() []os.Signal { return []os.Signal{os.Interrupt, syscall.SIGTERM} }

// ignoreBrokenPipe does nothing: there are no pipes.
func ignoreBrokenPipe() {}

// readLoaded returns nil: a browser has no firewall.
func readLoaded() *loaded.Reader { return nil }
