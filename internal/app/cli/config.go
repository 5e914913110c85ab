package cli

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"
	"github.com/spf13/pflag"

	"qsniff/internal/flood"
	"qsniff/internal/flood/config"
	"qsniff/internal/render/manual"
)

// ReadConfig returns the values of a TOML file, which are those of flags by their long names, and their keys in order.
func ReadConfig(name string) (values map[string]any, keys []string, err error) {
	text, err := ReadFile(name, LongestConfig, "configuration")
	var meta toml.MetaData
	if err == nil {
		meta, err = toml.Decode(text, &values)
		err = config.ExplainSyntax(err)
	}
	for _, key := range meta.Keys() {
		keys = append(keys, key[0])
	}
	return values, keys, NameFile(name, err, "it has flags by their long names, as in: log-level = \"debug\"")
}

// SetFlag gives a flag the value that a file has for it.
func SetFlag(f *pflag.Flag, value any) error {
	f.Changed = true
	list := ListOf(f)
	several, isArray := value.([]any)
	if !isArray {
		several = []any{value}
	}
	words := make([]string, len(several))
	for i, v := range several {
		words[i] = fmt.Sprint(v)
	}
	switch {
	case list != nil:
		return list.Replace(words)
	case isArray && !strings.HasSuffix(f.Value.Type(), ",..."): // a list reads better in a file than commas
		return errors.New("one value, not a list")
	}
	err := f.Value.Set(strings.Join(words, ","))
	if number := (*strconv.NumError)(nil); errors.As(err, &number) {
		err = fmt.Errorf("%v is no number", value)
	}
	return err
}

// ListOf returns the value of a flag that may be given several times, nil of any other.
func ListOf(f *pflag.Flag) pflag.SliceValue {
	v := f.Value
	if wrapped, is := v.(interface{ Inner() pflag.Value }); is {
		v = wrapped.Inner()
	}
	list, _ := v.(pflag.SliceValue)
	return list
}

// LoadThresholds reads the file of thresholds with a name; without one all have their defaults.
func LoadThresholds(name string) (flood.Thresholds, error) {
	if name == "" {
		return flood.Defaults(), nil
	}
	text, err := ReadFile(name, LongestConfig, "file of thresholds")
	if err != nil {
		return flood.Thresholds{}, NameFile(name, err, "qsniff floods --explain -o toml prints a file with all thresholds")
	}
	limits, err := config.Parse(text)
	hint := "qsniff floods --explain lists all thresholds with their defaults"
	if unknown := (*config.UnknownError)(nil); errors.As(err, &unknown) {
		hint = cmp.Or(suggestThreshold(unknown.Key), "qsniff floods --explain lists all thresholds")
	}
	return limits, NameFile(name, err, hint)
}

// suggestThreshold returns a hint with the thresholds whose names are most like word; empty: there are none.
func suggestThreshold(word string) string {
	var names []string
	for _, s := range flood.Defaults().Settings() {
		names = append(names, s.Name)
	}
	near := manual.Nearest(word, names)
	if len(near) == 0 {
		return ""
	}
	return "did you mean " + strings.Join(near, ", ") + "?"
}
