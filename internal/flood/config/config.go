// Package config reads and writes files with the thresholds of package flood, in TOML. A
// threshold that a file does not set keeps its default. Which thresholds there are and
// which values they may have is up to package flood.
package config

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/BurntSushi/toml"

	"qsniff/internal/flood"
)

// UnknownError reports a key of a file that is no threshold.
type UnknownError struct{ Key string }

func (e *UnknownError) Error() string { return fmt.Sprintf("%q is no threshold", e.Key) }

// Parse returns the thresholds that the text of a file sets, the others at their defaults.
// An error is an *UnknownError, a syntax error with its line, or a value that is not allowed.
func Parse(text string) (flood.Thresholds, error) {
	t := flood.Defaults()
	values := map[string]any{}
	meta, err := toml.Decode(text, &values)
	if err != nil {
		return t, ExplainSyntax(err)
	}
	for _, key := range meta.Keys() { // in the order of the file
		known, err := t.Set(key[0], values[key[0]])
		if !known {
			return t, &UnknownError{key[0]}
		}
		if err != nil {
			return t, err
		}
	}
	return t, t.Check()
}

// ExplainSyntax returns an error of one line for a text that is not TOML, without the library's
// name; other errors unchanged.
func ExplainSyntax(err error) error {
	var parse toml.ParseError
	if !errors.As(err, &parse) {
		return err
	}
	words, _ := strings.CutPrefix(parse.Error(), "toml: ")
	_, rest, found := strings.Cut(words, ": ") // line, and what key came last
	if found && strings.HasPrefix(words, "line ") {
		words = rest
	}
	return fmt.Errorf("line %d: %s", parse.Position.Line, words)
}

// Append appends to dst a file with all thresholds, each after a comment with its meaning.
// Those at their defaults are commented out.
func Append(dst []byte, t flood.Thresholds) []byte {
	b := bytes.NewBuffer(dst)
	b.WriteString("# Thresholds of qsniff floods: qsniff floods --thresholds FILE capture.pcap\n")
	b.WriteString("# After # stands the default. Rates are per second; a window is 10 to 20 s.\n")
	for _, s := range t.Settings() {
		b.WriteByte('\n')
		for line := range wrapLines(s.Doc) {
			fmt.Fprintf(b, "# %s\n", line)
		}
		if s.Value == s.Default {
			b.WriteByte('#')
		}
		fmt.Fprintf(b, "%s = %s\n", s.Name, s.Value)
	}
	return b.Bytes()
}

// wrapLines yields a comment in lines of at most 78 bytes.
func wrapLines(text string) func(yield func(string) bool) {
	const width = 78
	return func(yield func(string) bool) {
		line := ""
		for _, word := range strings.Fields(text) {
			if line != "" && len(line)+1+len(word) > width {
				if !yield(line) {
					return
				}
				line = ""
			}
			if line != "" {
				line += " "
			}
			line += word
		}
		yield(line)
	}
}
