package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/BurntSushi/toml"
	"github.com/spf13/pflag"

	"qsniff/flood/config"
)

// longestConfig is the greatest size of a configuration. Chosen: one with all flags takes 2 KiB.
const longestConfig = 1 << 20

// notInConfig are flags that a file cannot set.
var notInConfig = []string{"config", "help"}

// loadConfig sets flags by a TOML file with their long names, unless the command line has them.
func loadConfig(flags *pflag.FlagSet, name string) error {
	if name == "" {
		return nil
	}
	values, keys, err := readConfig(name)
	if err != nil {
		return &hintedError{fmt.Errorf("%s: %w", name, err), "it has flags by their long names, as in: listen = \"127.0.0.1:9478\""}
	}
	for _, word := range keys { // in the order of the file
		f := flags.Lookup(word)
		if f == nil || slices.Contains(notInConfig, word) {
			return &hintedError{fmt.Errorf("%s: %.100q is no flag of qsniff-hub run", name, word), "qsniff-hub run --help lists all flags"}
		}
		if f.Changed {
			continue
		}
		if err := setFlag(f, values[word]); err != nil {
			return &hintedError{fmt.Errorf("%s: %s: %w", name, word, err), "qsniff-hub run --help has the flags with their values"}
		}
	}
	return nil
}

// readConfig returns the values of a file, and their keys in order.
func readConfig(name string) (values map[string]any, keys []string, err error) {
	f, err := os.Open(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil, errors.New("no such file")
	}
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, longestConfig+1))
	if err == nil && len(text) > longestConfig {
		err = fmt.Errorf("more than %d bytes", longestConfig)
	}
	if err != nil {
		return nil, nil, err
	}
	values = map[string]any{}
	meta, err := toml.Decode(string(text), &values)
	if err != nil {
		return nil, nil, config.ExplainSyntax(err)
	}
	for _, key := range meta.Keys() {
		keys = append(keys, key[0])
	}
	return values, keys, nil
}

// setFlag gives a flag the value that a file has for it.
func setFlag(f *pflag.Flag, value any) error {
	list, isList := f.Value.(pflag.SliceValue)
	several, isArray := value.([]any)
	if !isArray {
		several = []any{value}
	}
	var words []string
	for _, v := range several {
		words = append(words, fmt.Sprint(v))
	}
	switch {
	case isList:
		return list.Replace(words)
	case isArray:
		return errors.New("one value, not a list")
	}
	return f.Value.Set(words[0])
}
