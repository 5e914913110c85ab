package main

import (
	"fmt"
	"slices"

	"qsniff/internal/app/cli"

	"github.com/spf13/pflag"
)

// notInConfig are flags that a file cannot set.
var notInConfig = []string{"config", "help"}

// loadConfig sets flags by a TOML file with their long names, unless the command line has them.
func loadConfig(flags *pflag.FlagSet, name string) error {
	if name == "" {
		return nil
	}
	values, keys, err := cli.ReadConfig(name)
	if err != nil {
		return err
	}
	for _, word := range keys { // in the order of the file
		f := flags.Lookup(word)
		if f == nil || slices.Contains(notInConfig, word) {
			return cli.Hinted(fmt.Errorf("%s: %.100q is no flag of qsniff-hub run", name, word), "qsniff-hub run --help lists all flags")
		}
		if f.Changed {
			continue
		}
		if err := cli.SetFlag(f, values[word]); err != nil {
			return cli.Hinted(fmt.Errorf("%s: %s: %w", name, word, err), "qsniff-hub run --help has the flags with their values")
		}
	}
	return nil
}
