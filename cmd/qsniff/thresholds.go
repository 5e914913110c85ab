package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"qsniff/flood"
	"qsniff/flood/config"
	"qsniff/render/manual"
)

// longestThresholds is the greatest size of a file of thresholds, in bytes. Chosen: far more
// than all thresholds take with long comments, so that a capture that is named by mistake
// is refused at once.
const longestThresholds = 256 << 10

// loadThresholds reads the file of thresholds with a name; without one all have their defaults.
func loadThresholds(name string) (flood.Thresholds, error) {
	if name == "" {
		return flood.Defaults(), nil
	}
	const hint = "qsniff floods --explain -o toml prints a file with all thresholds"
	text, err := readUpTo(name, longestThresholds, "file of thresholds")
	if errors.Is(err, fs.ErrNotExist) {
		return flood.Thresholds{}, &hintedError{fmt.Errorf("%s: no such file", name), hint}
	}
	if err != nil {
		return flood.Thresholds{}, &hintedError{fmt.Errorf("%s: %w", name, err), hint}
	}
	limits, err := config.Parse(text)
	var unknown *config.UnknownError
	switch {
	case errors.As(err, &unknown):
		err = &hintedError{fmt.Errorf("%s: %w", name, err), suggestThreshold(unknown.Key)}
	case err != nil:
		err = &hintedError{fmt.Errorf("%s: %w", name, err), "qsniff floods --explain lists all thresholds with their defaults"}
	}
	return limits, err
}

// suggestThreshold returns a hint with the thresholds whose names are most like word.
func suggestThreshold(word string) string {
	var names []string
	for _, s := range flood.Defaults().Settings() {
		names = append(names, s.Name)
	}
	if near := manual.Nearest(word, names); len(near) > 0 {
		return "did you mean " + strings.Join(near, ", ") + "?"
	}
	return "qsniff floods --explain lists all thresholds"
}

// readUpTo reads a file of at most so many bytes, as what has.
func readUpTo(name string, longest int64, what string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		var path *fs.PathError
		if errors.As(err, &path) {
			err = path.Err // the caller's message has the name
		}
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, longest+1))
	var path *fs.PathError
	switch {
	case errors.As(err, &path):
		return "", path.Err
	case err == nil && int64(len(b)) > longest:
		return "", errors.New("too long to be a " + what)
	}
	return string(b), err
}
