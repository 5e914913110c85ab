package cli

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Choice is the value of a flag that has one of Allowed.
type Choice struct {
	value   *string
	Allowed []string
}

// OneOf returns a Choice that sets value, which is the default.
func OneOf(value *string, allowed ...string) *Choice { return &Choice{value, allowed} }

func (c *Choice) String() string { return *c.value }

// Type returns what help shows for the value.
func (c *Choice) Type() string { return strings.Join(c.Allowed, "|") }

// Set sets the value by what is on the command line.
func (c *Choice) Set(s string) error {
	if !slices.Contains(c.Allowed, s) {
		return fmt.Errorf("one of %s", strings.Join(c.Allowed, ", "))
	}
	*c.value = s
	return nil
}

// ByteSize is the value of a flag: a number of bytes above 0, with an optional unit. It is 0 if not given.
type ByteSize int64

// units are those of sizes, each 1024 times the one before.
const units = "KMGT"

func (a *ByteSize) String() string {
	if *a == 0 {
		return ""
	}
	n, unit := int64(*a), ""
	for i := 0; i < len(units) && n%1024 == 0; i++ {
		n, unit = n/1024, units[i:i+1]
	}
	return strconv.FormatInt(n, 10) + unit
}

// Type returns what help shows for the value.
func (a *ByteSize) Type() string { return "SIZE" }

// Set sets the value by what is on the command line: K, KB or KiB, and likewise M, G and T.
func (a *ByteSize) Set(text string) error {
	const most = 1 << 50 // chosen: more than any disk for this has
	digits, shift := strings.TrimSuffix(strings.TrimSuffix(strings.ToUpper(text), "B"), "I"), 0
	if last := len(digits) - 1; last > 0 {
		if i := strings.IndexByte(units, digits[last]); i >= 0 {
			digits, shift = digits[:last], 10*(i+1)
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n <= 0 || n > most>>shift {
		return errors.New("a size like 64M or 8G")
	}
	*a = ByteSize(n << shift)
	return nil
}
