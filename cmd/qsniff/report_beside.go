//go:build !js

package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"qsniff/internal/base/sandbox"
)

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
// right but to read the capture and to write its folder: packets are hostile, and nobody watches.
// A report has its name once it is whole.
func reportBeside(ctx context.Context, capture string, s streams) error {
	lowerPriority()
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
