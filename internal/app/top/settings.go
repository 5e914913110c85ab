package top

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"qsniff/internal/render/manual"
)

// Settings are what a user chose, and finds the next time.
type Settings struct {
	Columns []string `toml:"columns"` // of the table of servers, in their order
	Sort    string   `toml:"sort"`    // the column by which they are sorted
	Rising  bool     `toml:"rising"`  // from the least
}

// DefaultSettings returns those of somebody who has chosen nothing.
func DefaultSettings() Settings { return Settings{Columns: columnIDs(), Sort: "asked"} }

// ParseSettings parses a file of settings. What is wrong with it is in the error, and the settings
// are those that are right, with the usual ones for the rest.
func ParseSettings(text string) (Settings, error) {
	s := DefaultSettings()
	var read Settings
	meta, err := toml.Decode(text, &read)
	if err != nil {
		return s, err
	}
	var wrong []string
	for _, key := range meta.Undecoded() {
		wrong = append(wrong, fmt.Sprintf("unknown key %q%s", key, orNearest(key.String(), []string{"columns", "sort", "rising"})))
	}
	if cols := slices.DeleteFunc(slices.Clone(read.Columns), func(id string) bool { return columnOf(id) == nil }); len(cols) > 0 {
		s.Columns = slices.Compact(cols)
	}
	for _, id := range append(read.Columns, read.Sort) {
		if id != "" && columnOf(id) == nil {
			wrong = append(wrong, fmt.Sprintf("no column %q%s", id, orNearest(id, columnIDs())))
		}
	}
	if columnOf(read.Sort) != nil {
		s.Sort, s.Rising = read.Sort, read.Rising
	}
	if wrong != nil {
		return s, errors.New(strings.Join(wrong, "; "))
	}
	return s, nil
}

// orNearest returns which names a wrong one may be meant as.
func orNearest(name string, names []string) string {
	if near := manual.Nearest(name, names); len(near) > 0 {
		return ": did you mean " + strings.Join(near, ", ") + "?"
	}
	return ": there are " + strings.Join(names, ", ")
}

// Text returns settings as a file.
func (s *Settings) Text() string {
	b, err := toml.Marshal(s)
	if err != nil { // they are texts and a bool
		panic(err)
	}
	return "# What qsniff top shows. It writes this file when columns or their order change.\n" + string(b)
}
