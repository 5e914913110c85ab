//go:build !js

package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"qsniff/internal/base/cli"
	"qsniff/internal/render/manual"
)

// monitorSource is where the options of monitor come from: the command line, and the file that it
// names. They can be loaded again.
type monitorSource struct {
	flags *pflag.FlagSet // those of the command line
	args  []string
}

// load returns the options by the command line and the file, checked, and what is captured.
func (s *monitorSource) load() (*monitorOptions, []string, error) {
	opts := newMonitorOptions()
	cmd := &cobra.Command{}
	opts.register(cmd)
	var err error
	s.flags.Visit(func(f *pflag.Flag) {
		if mine := cmd.Flags().Lookup(f.Name); mine != nil && err == nil {
			err = copyFlag(mine, f)
		}
	})
	args := s.args
	if err == nil && opts.config != "" {
		args, err = loadConfig(cmd.Flags(), s.flags, opts.config, args)
	}
	if err != nil {
		return nil, nil, err
	}
	return opts, args, opts.prepare(args)
}

// copyFlag gives a flag the value of another one.
func copyFlag(to, from *pflag.Flag) error {
	to.Changed = true
	if list := cli.ListOf(from); list != nil {
		return cli.ListOf(to).Replace(list.GetSlice())
	}
	return to.Value.Set(from.Value.String())
}

// notInConfig are flags that a file cannot set; fileKey stands for the argument.
var notInConfig = []string{"config", "check", "help"}

// fileKey is the key for the capture or the folder that is the command's argument.
const fileKey = "file"

// loadConfig sets flags by a file, unless the command line has them. It returns the arguments,
// which the file may have, too.
func loadConfig(flags, given *pflag.FlagSet, name string, args []string) ([]string, error) {
	values, keys, err := cli.ReadConfig(name)
	if err != nil {
		return nil, err
	}
	for _, word := range keys { // in the order of the file
		f := flags.Lookup(word)
		switch {
		case word == fileKey:
			if len(args) == 0 && !given.Changed("interface") {
				args = []string{fmt.Sprint(values[word])}
			}
			continue
		case f == nil || slices.Contains(notInConfig, word):
			return nil, &hintedError{fmt.Errorf("%s: %q is no flag of monitor", name, word), suggestFlag(flags, word)}
		case given.Changed(word) || word == "interface" && len(args) > 0:
			continue
		}
		if err := cli.SetFlag(f, values[word]); err != nil {
			return nil, &hintedError{fmt.Errorf("%s: %s: %w", name, word, err), "qsniff monitor --help has the flags with their values"}
		}
	}
	return args, nil
}

// suggestFlag returns a hint with the flags whose names are most like word.
func suggestFlag(flags *pflag.FlagSet, word string) string {
	names := []string{fileKey}
	flags.VisitAll(func(f *pflag.Flag) {
		if !slices.Contains(notInConfig, f.Name) && !f.Hidden {
			names = append(names, f.Name)
		}
	})
	if near := manual.Nearest(word, names); len(near) > 0 {
		return "did you mean " + strings.Join(near, ", ") + "?"
	}
	return "qsniff monitor --help lists all flags"
}
