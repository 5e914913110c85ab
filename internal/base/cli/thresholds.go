package cli

import (
	"cmp"
	"errors"
	"strings"

	"qsniff/internal/flood"
	"qsniff/internal/flood/config"
	"qsniff/internal/render/manual"
)

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
