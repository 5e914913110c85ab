package main

import (
	"context"
	"errors"
	goio "io"
	"slices"

	"qsniff/capture/file"
	"qsniff/internal/render"
	"qsniff/internal/render/ci"
)

// The forms of findings for continuous integration.
const (
	formSARIF  = "sarif"
	formGitHub = "github"
)

// annotateFindings reads captures, each on its own, so that frames are those of its file, and prints their findings
// for those who look at a test suite. A capture that cannot be read ends nothing: the others are read first.
func annotateFindings(ctx context.Context, opts *findingsOptions, args []string, io streams) error {
	if opts.follow || slices.Contains(args, stdin) {
		return &usageError{errors.New("-o " + opts.output + " wants captures that are files"), "-o json goes with --follow and standard input"}
	}
	names, err := file.Expand(args)
	if err != nil {
		return err
	}
	var captures []ci.Capture
	var failures []error
	isReached := false
	quiet := streams{io.out, goio.Discard} // no remarks on what is missing from the output of each of many captures
	for _, name := range names {
		err := opts.collect(ctx, []string{name}, quiet, func(f *render.Findings) error {
			c := ci.Capture{Name: name, Findings: f}
			isReached = isReached || opts.isFailOnReached(f)
			if opts.output == formGitHub {
				return write(io.out, ci.AppendCommands(nil, &c))
			}
			captures = append(captures, c)
			return nil
		})
		var usage *usageError
		if errors.As(err, &usage) || isInterrupted(ctx) {
			return err
		}
		if err != nil {
			failures = append(failures, err)
		}
	}
	if opts.output == formSARIF {
		b := readBuild()
		out, err := ci.AppendSARIF(nil, b.Short(), captures)
		if err != nil {
			return err
		}
		if err := write(io.out, out); err != nil {
			return err
		}
	}
	for _, err := range failures[:max(0, len(failures)-1)] {
		reportError(io.err, err)
	}
	switch {
	case len(failures) > 0:
		return failures[len(failures)-1]
	case isReached:
		return errFailOnReached
	}
	return nil
}
