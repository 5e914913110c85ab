package main

import "github.com/spf13/cobra"

// mcpCommands returns no command: a page has no standard input that another program writes.
func mcpCommands(streams) []*cobra.Command { return nil }
