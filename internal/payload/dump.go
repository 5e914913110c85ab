package payload

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// isDump reports whether lines have rows of a dump. A row without a colon after its
// offset can be a line of digits: it counts only if its offset is 0 or follows from the
// row above.
func isDump(lines []line) bool {
	var last row
	hasLast := false
	for _, l := range lines {
		r, ok := readRow(l)
		if !ok {
			hasLast = false
			continue
		}
		_, all := listCuts(r.rest)
		switch {
		case len(all) == 0 && !hasLast:
			continue
		case r.hasColon, strings.Trim(r.offset, "0") == "" && (hasByteGroups(r.rest) || isWordRow(&r)), hasLast && follows(&last, &r):
			return true
		}
		last, hasLast = r, true
	}
	return false
}

// hasByteGroups reports whether the first group of digits in s is one byte, as in all
// dumps without colons.
func hasByteGroups(s string) bool {
	_, all := listCuts(s)
	return len(all) > 0 && all[0].n == 1
}

// isWordRow reports whether r is a row as hexdump and od -x print it: groups of two
// bytes, in the byte order of the machine.
func isWordRow(r *row) bool {
	const digits = 7 // of their offsets
	b, all := listCuts(r.rest)
	return !r.hasColon && len(r.offset) == digits && len(all) > 0 && len(b) == 2*len(all)
}

// bases are the bases that offsets can have, the usual one first: od prints octal
// offsets.
var bases = [...]int{16, 8, 10}

// follows reports whether the offset of b is where the bytes of a end, in one of bases and
// with one of the ways to part the bytes of a from its text.
func follows(a, b *row) bool {
	_, all := listCuts(a.rest)
	for _, base := range bases {
		x, err1 := strconv.ParseUint(a.offset, base, 32)
		y, err2 := strconv.ParseUint(b.offset, base, 32)
		for _, c := range all {
			if err1 == nil && err2 == nil && y == x+uint64(c.n) {
				return true
			}
		}
	}
	return false
}

// parseDump reads rows in the first base in which their offsets follow from each other.
// If there is none, the error is that of the first base.
func parseDump(lines []line) ([]Payload, error) {
	var first error
	for _, base := range bases {
		d := dump{base: base, ends: map[int]uint64{}}
		err := d.read(lines)
		if err == nil {
			return d.out, nil
		}
		if first == nil {
			first = err
		}
	}
	return nil, first
}

// dump reads the rows of a block.
type dump struct {
	base    int
	out     []Payload
	cur     Payload // being read, if open
	isOpen  bool
	next    uint64 // offset of the row that follows
	last    []byte // of the row above
	repeats bool   // a * stands above: the row above it repeats
	indent  int    // indentation of the row above
	// ends holds, by indentation, where the last row of it ends: in a dialogue Wireshark
	// indents the bytes of the server, and the offsets of each side go on.
	ends map[int]uint64
}

func (d *dump) read(lines []line) error {
	for i, l := range lines {
		if len(d.out) > MaxPayloads { // Parse refuses so many
			return nil
		}
		if l.text == "*" && d.isOpen {
			d.repeats = true
			continue
		}
		r, ok := readRow(l)
		if !ok {
			if d.isOpen && i+1 < len(lines) && !d.beginsPayload(lines[i+1]) || i+1 == len(lines) {
				return &Error{Line: l.no, What: "not a row of the dump", Hint: "put a blank line between two payloads"}
			}
			if d.repeats {
				return repeatError(l.no)
			}
			d.endPayload() // a heading
			continue
		}
		at, err := strconv.ParseUint(r.offset, d.base, 32)
		if err != nil {
			return &Error{Line: l.no, What: "an offset that is too large for a dump, or of another base"}
		}
		if err := d.addRow(&r, at, d.rowLen(lines[i+1:], at)); err != nil {
			return err
		}
	}
	if d.repeats {
		return repeatError(lines[len(lines)-1].no)
	}
	d.endPayload()
	return nil
}

// repeatError is the error for a * at the end of a dump, found at a line.
func repeatError(line int) error {
	return &Error{Line: line, What: "the dump ends with *: how often the row repeats is missing",
		Hint: "copy the last line, which is an offset alone, too"}
}

// beginsPayload reports whether a payload begins with l.
func (d *dump) beginsPayload(l line) bool {
	r, ok := readRow(l)
	return !ok || strings.Trim(r.offset, "0") == ""
}

// rowLen returns the number of bytes of the row at offset at, which is the distance to
// the offset of the row below; -1 if there is no such row, or it cannot be the next one.
func (d *dump) rowLen(below []line, at uint64) int {
	if len(below) == 0 {
		return -1
	}
	r, ok := readRow(below[0])
	if !ok {
		return -1
	}
	next, err := strconv.ParseUint(r.offset, d.base, 32)
	if err != nil || next <= at || next-at > widestRow || r.indent != d.indent && d.isOpen {
		return -1
	}
	return int(next - at)
}

// addRow adds one row, of want bytes, or as many as it shows if want is -1.
func (d *dump) addRow(r *row, at uint64, want int) error {
	if isWordRow(r) {
		return &Error{Line: r.no, What: "words of two bytes: in which order depends on the machine that printed them",
			Hint: "print it with hexdump -C, xxd or od -tx1"}
	}
	if d.repeats {
		if err := d.repeatLast(r, at); err != nil {
			return err
		}
	}
	if strings.TrimSpace(r.rest) == "" && d.isOpen && at == d.next { // the offset after the last byte
		d.endPayload()
		return nil
	}
	if end, ok := d.ends[r.indent]; r.indent != d.indent && ok && at == end || at != d.next && (at == 0 || r.indent != d.indent) {
		d.endPayload()
	}
	if d.isOpen && at != d.next {
		return &Error{Line: r.no, What: fmt.Sprintf("offset %s does not follow: the row above ends at %s", r.offset, strconv.FormatUint(d.next, d.base)),
			Hint: "a row is missing, or two dumps need a blank line between them"}
	}
	b, ok := r.decode(want)
	if !ok && want >= 0 {
		b, ok = r.decode(-1)
	}
	if !ok {
		return &Error{Line: r.no, What: "the bytes and the text beside them do not agree", Hint: "copy the rows whole, or without the text"}
	}
	if !d.isOpen {
		d.cur, d.isOpen = Payload{Form: Dump, Line: r.no}, true
	}
	d.cur.Data = append(d.cur.Data, b...)
	d.next, d.last, d.indent = at+uint64(len(b)), b, r.indent
	d.ends[d.indent] = d.next
	return nil
}

// repeatLast repeats the row above up to offset at.
func (d *dump) repeatLast(r *row, at uint64) error {
	d.repeats = false
	n := uint64(len(d.last))
	if at < d.next || (at-d.next)%n != 0 || at > MaxPayload+n {
		return &Error{Line: r.no, What: fmt.Sprintf("offset %s is not where rows of %d bytes end", r.offset, n)}
	}
	d.cur.Data = slices.Grow(d.cur.Data, int(at-d.next))
	for ; d.next < at; d.next += n {
		d.cur.Data = append(d.cur.Data, d.last...)
	}
	return nil
}

func (d *dump) endPayload() {
	if d.isOpen {
		d.out = append(d.out, d.cur)
	}
	d.isOpen, d.last = false, nil
}
