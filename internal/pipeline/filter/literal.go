package filter

import (
	"encoding/hex"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
)

// constant is a literal as a value of a field's type.
type constant struct {
	num      uint64 // as in value.num
	number   float64
	text     []byte
	prefix   netip.Prefix // of an address or a network
	port     int          // of an address, -1 if it has none
	named    bool         // text is the name of a number, see field.values
	isNumber bool         // a text was written as a number, without quotes
	// ofDay is the zone of a time without a date, which num is in nanoseconds; nil for others.
	// The date is that of the first packet.
	ofDay *time.Location
}

// constantOf returns what a literal is as a value of f.
func (c *checker) constantOf(f *field, o *operand) (constant, *Error) {
	if o.kind != wordOperand && o.kind != textOperand && o.kind != charOperand {
		return constant{}, c.at(o, "expected a value")
	}
	switch f.typ {
	case boolean:
		return c.boolean(o)
	case unsigned, signed, char:
		return c.integer(f, o)
	case float:
		return c.float(f, o)
	case duration:
		return c.duration(o)
	case moment:
		return c.moment(o)
	case order, name:
		return c.choice(f, o)
	case text:
		v := constant{text: []byte(o.word)}
		if o.kind == wordOperand {
			v.number, v.isNumber = parseNumber(v.text)
		}
		return v, nil
	case octets:
		return c.octets(f, o)
	case address:
		return c.address(f, o)
	}
	return constant{}, c.uncomparable(f, o)
}

// mismatch is the error that a literal is no value of f.
func (c *checker) mismatch(f *field, o *operand, example string) *Error {
	return c.at(o, "%s is no %s", visible(c.text[o.from:o.to]), f.typ).withHint("%s is compared with values like %s", f.name, example)
}

func (c *checker) boolean(o *operand) (constant, *Error) {
	switch strings.ToLower(o.word) {
	case "true", "yes", "1":
		return constant{num: 1}, nil
	case "false", "no", "0":
		return constant{}, nil
	}
	return constant{}, c.at(o, "%s is neither true nor false", visible(c.text[o.from:o.to]))
}

// parseInteger parses an integer as C and Wireshark write it: 10, 0xa, 012, 0b1010.
func parseInteger(s string) (n uint64, isNegative, ok bool) {
	digits, isNegative := strings.CutPrefix(s, "-")
	if digits == "" || digits[0] < '0' || digits[0] > '9' || strings.Contains(digits, "_") {
		return 0, false, false
	}
	n, err := strconv.ParseUint(digits, 0, 64)
	return n, isNegative, err == nil
}

func (c *checker) integer(f *field, o *operand) (constant, *Error) {
	n, isNegative, ok := parseInteger(o.word)
	switch {
	case o.kind == charOperand, f.typ == char && len(o.word) == 1 && (o.kind == textOperand || !ok):
		return constant{num: uint64(o.word[0]), number: float64(o.word[0])}, nil
	case ok && isNegative && f.typ != signed && n > 0:
		return constant{}, c.at(o, "%s is never negative", f.name)
	case ok && (o.kind == wordOperand || f.values == nil && f.def != nil):
		v := constant{num: n, number: float64(n)}
		if isNegative {
			v = constant{num: -n, number: -float64(n)}
		}
		if f.typ == signed && !isNegative && strings.HasPrefix(o.word, "0x") && n > math.MaxInt32 && n <= math.MaxUint32 {
			v.num = uint64(int64(int32(n))) // the bytes as people read them
			v.number = float64(int32(n))
		}
		return v, nil
	}
	if s, ok := seconds(f.unit, o); ok && s == math.Trunc(s) {
		return constant{num: uint64(int64(s)), number: s}, nil
	}
	if f.values == nil {
		return constant{}, c.mismatch(f, o, "10 or 0x0a")
	}
	if known := c.scope.valueNames(f); len(known) > 0 && !slices.ContainsFunc(known, func(s string) bool { return strings.EqualFold(s, o.word) }) {
		err := c.at(o, "%s has no value called %s", f.name, visible(o.word)).suggest(o.word, known)
		if err.Hint == "" {
			err.withHint("its values are numbers and %s", strings.Join(known, ", "))
		}
		return constant{}, err
	}
	return constant{text: []byte(o.word), named: true}, nil
}

// seconds returns a duration with a unit, for a field whose unit is seconds or minutes, in
// that unit.
func seconds(unit string, o *operand) (float64, bool) {
	per := map[string]float64{"s": 1e9, "min": 60e9}[unit]
	d, ok := parseDuration(o.word)
	return float64(d) / max(per, 1), ok && per > 0 && o.kind == wordOperand
}

func (c *checker) float(f *field, o *operand) (constant, *Error) {
	v, err := strconv.ParseFloat(o.word, 64)
	if o.kind == wordOperand && err == nil && !math.IsNaN(v) && !math.IsInf(v, 0) {
		return constant{num: math.Float64bits(v), number: v}, nil
	}
	if v, ok := seconds(f.unit, o); ok {
		return constant{num: math.Float64bits(v), number: v}, nil
	}
	return constant{}, c.mismatch(f, o, "1.5")
}

// durationUnits are the units of durations, in nanoseconds. A number alone is in seconds.
var durationUnits = []struct {
	name  string
	nanos int64
}{{"ns", 1}, {"us", 1e3}, {"µs", 1e3}, {"ms", 1e6}, {"min", 60e9}, {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}, {"", 1e9}}

func parseDuration(s string) (nanos int64, ok bool) {
	for _, u := range durationUnits {
		if number, has := strings.CutSuffix(s, u.name); has {
			if nanos, ok = multiply(number, u.nanos); ok {
				return nanos, true
			}
		}
	}
	return 0, false
}

// multiply returns a decimal number times n. Its part before the point is exact, for seconds
// since 1970 in nanoseconds have more digits than a float.
func multiply(number string, n int64) (product int64, ok bool) {
	digits, isNegative := strings.CutPrefix(number, "-")
	whole, fraction, _ := strings.Cut(digits, ".")
	if digits == "" || strings.Trim(whole+fraction, "0123456789") != "" || whole+fraction == "" {
		return 0, false
	}
	w, err := strconv.ParseInt("0"+whole, 10, 64)
	f, _ := strconv.ParseFloat("0."+fraction, 64)
	if err != nil || w > math.MaxInt64/n-1 {
		return 0, false
	}
	product = w*n + int64(math.Round(f*float64(n)))
	if isNegative {
		product = -product
	}
	return product, true
}

func (c *checker) duration(o *operand) (constant, *Error) {
	d, ok := parseDuration(o.word)
	if !ok || o.kind != wordOperand {
		return constant{}, c.at(o, "%s is no duration", visible(c.text[o.from:o.to])).withHint("write 100ms, 1.5s or, in seconds, 0.1")
	}
	return constant{num: uint64(d), number: float64(d)}, nil
}

// timeForms are the forms of times with a date.
var timeForms = []string{"2006-01-02 15:04:05", "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02T15:04", "2006-01-02", "Jan 2, 2006 15:04:05"}

// ParseTime reads a time with a date, or seconds since 1970, as filters have them. Without a zone it is
// one of where.
func ParseTime(word string, where *time.Location) (nanos int64, ok bool) {
	if s, ok := parseDuration(word); ok && strings.Trim(word, "-0123456789.") == "" {
		return s, true
	}
	word, isUTC := strings.CutSuffix(word, " UTC")
	if isUTC {
		where = time.UTC
	}
	for _, form := range timeForms {
		for _, zone := range []string{"", "Z07:00"} {
			if t, err := time.ParseInLocation(form+zone, word, where); err == nil {
				return t.UnixNano(), true
			}
		}
	}
	return 0, false
}

func (c *checker) moment(o *operand) (constant, *Error) {
	where := time.Local
	if c.scope.o.UTC {
		where = time.UTC
	}
	if nanos, ok := ParseTime(o.word, where); ok {
		return constant{num: uint64(nanos), number: float64(nanos)}, nil
	}
	word, isUTC := strings.CutSuffix(o.word, " UTC")
	if isUTC {
		where = time.UTC
	}
	for _, form := range []string{"15:04:05", "15:04"} {
		if t, err := time.Parse(form, word); err == nil {
			h, m, s := t.Clock()
			return constant{num: uint64(3600*h+60*m+s)*1e9 + uint64(t.Nanosecond()), ofDay: where}, nil
		}
	}
	return constant{}, c.at(o, "%s is no time", visible(c.text[o.from:o.to])).withHint(`write "2023-11-14 22:13:20", "22:13:20" or seconds since 1970`)
}

// choice returns one of the names that f can have.
func (c *checker) choice(f *field, o *operand) (constant, *Error) {
	i := slices.IndexFunc(f.names, func(s string) bool { return strings.EqualFold(s, o.word) })
	if i < 0 && len(f.names) > 0 {
		err := c.at(o, "%s has no value %s", f.name, visible(o.word)).suggest(o.word, f.names)
		if err.Hint == "" && len(f.names) <= maxListed {
			err.withHint("its values are %s", strings.Join(f.names, ", "))
		}
		return constant{}, err
	}
	return constant{num: uint64(i), text: []byte(o.word)}, nil
}

// octets parses bytes: ff:ff, ff.ff, ff-ff, ffff, 0xff, and texts in quotes.
func (c *checker) octets(f *field, o *operand) (constant, *Error) {
	if o.kind != wordOperand {
		return constant{text: []byte(o.word)}, nil
	}
	digits, isHex := strings.CutPrefix(o.word, "0x")
	if !isHex {
		digits = o.word
		for _, separator := range []string{":", "-", "."} {
			if parts := strings.Split(o.word, separator); len(parts) > 1 {
				for i := range parts {
					if len(parts[i]) == 1 {
						parts[i] = "0" + parts[i]
					}
				}
				digits = strings.Join(parts, "")
				if len(digits) != 2*len(parts) {
					return constant{}, c.mismatch(f, o, `ff:fe:00 or "text"`)
				}
			}
		}
	}
	b, err := hex.DecodeString(digits)
	if err != nil || len(b) == 0 || isHex && len(b) > 1 {
		return constant{}, c.mismatch(f, o, `ff:fe:00 or "text"`)
	}
	return constant{text: b}, nil
}

// address parses an address, one with a port, or a network.
func (c *checker) address(f *field, o *operand) (constant, *Error) {
	v := constant{port: -1}
	if end, err := netip.ParseAddrPort(o.word); err == nil {
		v.prefix, v.port = netip.PrefixFrom(end.Addr().Unmap(), end.Addr().Unmap().BitLen()), int(end.Port())
	} else if a, err := netip.ParseAddr(strings.Trim(o.word, "[]")); err == nil {
		v.prefix = netip.PrefixFrom(a.Unmap(), a.Unmap().BitLen())
	} else if v.prefix, err = netip.ParsePrefix(o.word); err != nil {
		err := c.at(o, "%s is no address", visible(c.text[o.from:o.to])).withHint("write 10.0.0.1, 10.0.0.0/8, 10.0.0.1:27015 or [2001:db8::1]:27015")
		return v, err
	}
	if a := v.prefix.Addr(); a.Zone() != "" || f.family == 4 && !a.Is4() || f.family == 6 && !a.Is6() {
		return v, c.at(o, "%s is no %s address", visible(o.word), map[uint8]string{4: "IPv4", 6: "IPv6"}[f.family]).withHint("addr, src and dst are of both versions")
	}
	v.prefix = v.prefix.Masked()
	return v, nil
}
