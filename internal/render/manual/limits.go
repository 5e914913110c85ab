package manual

import (
	_ "embed"
	"encoding/json"
	"fmt"
)

// Limit is a constant whose comment begins with "limit:", or one of a limits.go: what bounds memory, work or length, and why
// it has its value.
type Limit struct {
	Package string      `json:"package"`
	Name    string      `json:"name"`
	Value   string      `json:"value"`  // "2 MiB", "5s"
	Number  json.Number `json:"number"` // durations in nanoseconds
	Why     string      `json:"why"`
}

// The reasons are comments of the constants. So that the program can print them, make docs
// copies them into limits.json, and a test compares the copy.
//
//go:embed limits.json
var limits []byte

// Limits returns the limits in the order of their packages.
func Limits() ([]Limit, error) {
	var all []Limit
	if err := json.Unmarshal(limits, &all); err != nil {
		return nil, fmt.Errorf("limits.json: %w", err)
	}
	return all, nil
}
