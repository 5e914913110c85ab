package main

import "github.com/spf13/cobra"

// screenCommands returns no command: a page is no terminal.
func screenCommands(streams) []*cobra.Command { return nil }
