package file

import (
	"math"
	"math/bits"
)

// resolution converts the time stamps of an interface into Unix nanoseconds. The
// option if_tsresol gives the unit as a power of ten or of two, 10^0 to 10^-127
// and 2^0 to 2^-127 seconds, if_tsoffset what to add to all of them, in seconds.
type resolution struct {
	scale  uint64 // nanoseconds in a unit; 0 where a unit is no whole number of them
	limit  uint64 // largest time stamp that scale may be applied to
	offset int64  // seconds
	power  uint8
	binary bool
}

// Common values of if_tsresol; microseconds are the default.
const (
	tsresolMicro  = 6
	tsresolBinary = 0x80 // the power is one of two
)

// newResolution decodes the two options.
func newResolution(tsresol byte, offset int64) resolution {
	c := resolution{offset: offset, power: tsresol &^ tsresolBinary, binary: tsresol&tsresolBinary != 0}
	if offset == 0 && !c.binary && c.power <= 9 {
		c.scale = pow10(9 - c.power)
		c.limit = math.MaxInt64 / c.scale
	}
	return c
}

// pow10 returns 10^n for n up to 19.
func pow10(n uint8) uint64 {
	p := uint64(1)
	for range n {
		p *= 10
	}
	return p
}

// nanos converts a time stamp, rounding down. What does not fit an int64, years
// before 1678 or after 2262, becomes the nearest that does.
func (c *resolution) nanos(stamp uint64) int64 {
	if c.scale != 0 && stamp <= c.limit {
		return int64(stamp * c.scale)
	}
	return c.exactNanos(stamp)
}

// exactNanos does what nanos does, for any unit and offset.
func (c *resolution) exactNanos(stamp uint64) int64 {
	sec, nano := c.split(stamp)
	// sec + offset in 128 bits, whose upper half has the sign.
	lo, carry := bits.Add64(sec, uint64(c.offset), 0)
	hi := int64(carry)
	if c.offset < 0 {
		hi--
	}
	switch {
	case hi > 0 || hi == 0 && lo > math.MaxInt64:
		return math.MaxInt64
	case hi < 0 && int64(lo) >= 0:
		return math.MinInt64
	}
	const maxSec, minSec = math.MaxInt64 / 1_000_000_000, math.MinInt64/1_000_000_000 - 1
	switch s := int64(lo); {
	case s > maxSec || s == maxSec && int64(nano) > math.MaxInt64%1_000_000_000:
		return math.MaxInt64
	case s < minSec || s == minSec && int64(nano) < 1_000_000_000+math.MinInt64%1_000_000_000:
		return math.MinInt64
	default:
		return s*1_000_000_000 + int64(nano)
	}
}

// split divides a time stamp into seconds and nanoseconds.
func (c *resolution) split(stamp uint64) (sec, nano uint64) {
	if c.binary {
		return c.splitBinary(stamp)
	}
	if c.power > 19 { // 10^20 units are a second: all stamps are below one
		if c.power-9 > 19 {
			return 0, 0
		}
		return 0, stamp / pow10(c.power-9)
	}
	unit := pow10(c.power)
	sec, rest := stamp/unit, stamp%unit
	if c.power <= 9 {
		return sec, rest * pow10(9-c.power)
	}
	return sec, rest / pow10(c.power-9)
}

// splitBinary does what split does, for powers of two: stamp / 2^power seconds.
func (c *resolution) splitBinary(stamp uint64) (sec, nano uint64) {
	rest := stamp
	if c.power < 64 {
		sec = stamp >> c.power
		rest = stamp & (1<<c.power - 1)
	}
	// rest is below 2^power, so that the shifted product is below 10^9.
	hi, lo := bits.Mul64(rest, 1_000_000_000)
	if c.power >= 64 {
		return sec, hi >> (c.power - 64)
	}
	return sec, hi<<(64-c.power) | lo>>c.power
}
