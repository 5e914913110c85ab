package main

import (
	"errors"
	"os/exec"

	"github.com/spf13/cobra"
)

// messengerCommands returns none: a browser starts no processes.
func messengerCommands(streams) []*cobra.Command { return nil }

func ownCommand(...string) (*exec.Cmd, error) {
	return nil, errors.New("a browser starts no processes")
}
