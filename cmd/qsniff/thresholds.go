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

// loadThresholds reads the file that --thresholds names, if any.
func (o *floodsOptions) loadThresholds() error {
	if o.thresholds == "" {
		return nil
	}
	const hint = "qsniff floods --explain -o toml prints a file with all thresholds"
	text, err := readShort(o.thresholds)
	if errors.Is(err, fs.ErrNotExist) {
		return &hintedError{fmt.Errorf("%s: no such file", o.thresholds), hint}
	}
	if err != nil {
		return &hintedError{fmt.Errorf("%s: %w", o.thresholds, err), hint}
	}
	o.limits, err = config.Parse(text)
	var unknown *config.UnknownError
	switch {
	case errors.As(err, &unknown):
		return &hintedError{fmt.Errorf("%s: %w", o.thresholds, err), suggestThreshold(unknown.Key)}
	case err != nil:
		return &hintedError{fmt.Errorf("%s: %w", o.thresholds, err), "qsniff floods --explain lists all thresholds with their defaults"}
	}
	return nil
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

// readShort reads a file of at most longestThresholds bytes.
func readShort(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		var path *fs.PathError
		if errors.As(err, &path) {
			err = path.Err // the caller's message has the name
		}
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, longestThresholds+1))
	var path *fs.PathError
	switch {
	case errors.As(err, &path):
		return "", path.Err
	case err == nil && len(b) > longestThresholds:
		return "", errors.New("too long to be a file of thresholds")
	}
	return string(b), err
}
