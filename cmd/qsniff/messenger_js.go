package main

import "github.com/spf13/cobra"

// messengerCommands returns none: a browser starts no processes.
func messengerCommands(streams) []*cobra.Command { return nil }
