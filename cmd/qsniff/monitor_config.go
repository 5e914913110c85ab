//go:build !js

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"qsniff/flood/config"
	"qsniff/render/manual"
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
	if list := listOf(from); list != nil {
		return listOf(to).Replace(list.GetSlice())
	}
	return to.Value.Set(from.Value.String())
}

// listOf returns the value of a flag that may be given several times, nil of any other.
func listOf(f *pflag.Flag) pflag.SliceValue {
	v := f.Value
	if p, ok := v.(*proposed); ok {
		v = p.Value
	}
	list, _ := v.(pflag.SliceValue)
	return list
}

// notInConfig are flags that a file cannot set; fileKey stands for the argument.
var notInConfig = []string{"config", "check", "help"}

// fileKey is the key for the capture or the folder that is the command's argument.
const fileKey = "file"

// loadConfig sets flags by a file, unless the command line has them. It returns the arguments,
// which the file may have, too.
func loadConfig(flags, given *pflag.FlagSet, name string, args []string) ([]string, error) {
	text, err := readUpTo(name, longestThresholds, "configuration")
	if errors.Is(err, fs.ErrNotExist) {
		err = errors.New("no such file")
	}
	values := map[string]any{}
	var meta toml.MetaData
	if err == nil {
		meta, err = toml.Decode(text, &values)
		err = config.ExplainSyntax(err)
	}
	if err != nil {
		return nil, &hintedError{fmt.Errorf("%s: %w", name, err), "it has flags by their long names, as in: listen = \"127.0.0.1:9477\""}
	}
	for _, key := range meta.Keys() { // in the order of the file
		word := key[0]
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
		if err := setFlag(f, values[word]); err != nil {
			return nil, &hintedError{fmt.Errorf("%s: %s: %w", name, word, err), "qsniff monitor --help has the flags with their values"}
		}
	}
	return args, nil
}

// setFlag gives a flag the value that a file has for it.
func setFlag(f *pflag.Flag, value any) error {
	f.Changed = true
	list := listOf(f)
	several, isArray := value.([]any)
	switch {
	case isArray && list == nil && f.Name == "servers": // a list reads better in a file
		return f.Value.Set(strings.Join(wordsOf(several), ","))
	case isArray && list == nil:
		return errors.New("one value, not a list")
	case isArray:
		return list.Replace(wordsOf(several))
	case list != nil:
		return list.Replace([]string{fmt.Sprint(value)})
	}
	err := f.Value.Set(fmt.Sprint(value))
	if number := (*strconv.NumError)(nil); errors.As(err, &number) {
		err = fmt.Errorf("%v is no number", value)
	}
	return err
}

// wordsOf returns values as words.
func wordsOf(values []any) (words []string) {
	for _, v := range values {
		words = append(words, fmt.Sprint(v))
	}
	return words
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
