package main

import "github.com/spf13/cobra"

// monitorCommands returns no command: in a browser nothing can listen.
func monitorCommands(streams) []*cobra.Command { return nil }
