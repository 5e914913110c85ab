package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// byteSize is the value of a flag: a number of bytes with an optional unit.
type byteSize int64

func (a *byteSize) Type() string { return "SIZE" }

func (a *byteSize) String() string {
	n, unit := int64(*a), ""
	for _, next := range []string{"K", "M", "G", "T"} {
		if n == 0 || n%1024 != 0 {
			break
		}
		n, unit = n/1024, next
	}
	return strconv.FormatInt(n, 10) + unit
}

func (a *byteSize) Set(text string) error {
	digits, shift := strings.TrimSuffix(strings.TrimSuffix(strings.ToUpper(text), "B"), "I"), 0
	for i, unit := range []string{"K", "M", "G", "T"} {
		if rest, is := strings.CutSuffix(digits, unit); is {
			digits, shift = rest, 10*(i+1)
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n <= 0 || n > 1<<50>>shift {
		return errors.New("a size like 64M or 8G")
	}
	*a = byteSize(n << shift)
	return nil
}

// choice is the value of a flag that has one of a few.
type choice struct {
	value   *string
	allowed []string
}

func (c *choice) String() string { return *c.value }
func (c *choice) Type() string   { return strings.Join(c.allowed, "|") }
func (c *choice) Set(s string) error {
	if !slices.Contains(c.allowed, s) {
		return fmt.Errorf("one of %s", strings.Join(c.allowed, ", "))
	}
	*c.value = s
	return nil
}
