package manual

import (
	_ "embed"
	"encoding/json"
	"fmt"
)

// Limit is a constant of a limits.go: what bounds memory, work or length, and why
// it has its value.
type Limit struct {
	Package string      `json:"package"`
	Name    string      `json:"name"`
	Value   string      `json:"value"`  // "2 MiB", "5s"
	Number  json.Number `json:"number"` // durations in nanoseconds
	Why     string      `json:"why"`
}

// The reasons stand with the constants, in comments. So that the program can tell
// them, make docs copies them here, and a test compares the copy.
//
//go:embed limits.json
var limits []byte

// Limits lists the limits by package.
func Limits() ([]Limit, error) {
	var all []Limit
	if err := json.Unmarshal(limits, &all); err != nil {
		return nil, fmt.Errorf("limits.json: %w", err)
	}
	return all, nil
}
