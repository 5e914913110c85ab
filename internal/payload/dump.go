package payload

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// isDump reports whether lines have rows of a dump. One without a colon after its
// offset needs a word for it: it is the first, or the next follows on it.
func isDump(lines []line) bool {
	var last row
	had := false
	for _, l := range lines {
		r, ok := readRow(l)
		if !ok {
			had = false
			continue
		}
		_, all := cuts(r.rest)
		switch {
		case len(all) == 0 && !had:
			continue
		case r.sure, strings.Trim(r.offset, "0") == "" && (pairs(r.rest) || isWords(&r)), had && follows(&last, &r):
			return true
		}
		last, had = r, true
	}
	return false
}

// pairs reports whether the first byte stands alone, as in all dumps without colons.
func pairs(s string) bool {
	_, all := cuts(s)
	return len(all) > 0 && all[0].n == 1
}

// isWords reports whether r is a row of what hexdump and od -x print: two bytes in
// the order of the machine.
func isWords(r *row) bool {
	const digits = 7 // of their offsets
	b, all := cuts(r.rest)
	return !r.sure && len(r.offset) == digits && len(all) > 0 && len(b) == 2*len(all)
}

// bases are those of offsets, the usual one first: od prints octal ones.
var bases = [...]int{16, 8, 10}

func follows(a, b *row) bool {
	_, all := cuts(a.rest)
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

// parseDump reads rows in the first base of offsets in which they follow on each
// other.
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
	base int
	out  []Payload
	cur  Payload // being read, if open
	open bool
	next uint64 // offset of the row that follows
	last []byte // of the row above
	same bool   // a * stands above: that row repeats
	tab  int    // indentation of the row above
	// ends is where the last row of each indentation ends: Wireshark indents what
	// the server says in a dialogue, and counts both sides on.
	ends map[int]uint64
}

func (d *dump) read(lines []line) error {
	for i, l := range lines {
		if len(d.out) > MaxPayloads { // Parse refuses so many
			return nil
		}
		if l.text == "*" && d.open {
			d.same = true
			continue
		}
		r, ok := readRow(l)
		if !ok {
			if d.open && i+1 < len(lines) && !d.begins(lines[i+1]) || i+1 == len(lines) {
				return &Error{Line: l.no, What: "not a row of the dump", Hint: "put a blank line between two payloads"}
			}
			if d.same {
				return endsRepeating(l.no)
			}
			d.end() // a heading
			continue
		}
		at, err := strconv.ParseUint(r.offset, d.base, 32)
		if err != nil {
			return &Error{Line: l.no, What: "an offset that is too large for a dump, or of another base"}
		}
		if err := d.row(&r, at, d.held(lines[i+1:], at)); err != nil {
			return err
		}
	}
	if d.same {
		return endsRepeating(lines[len(lines)-1].no)
	}
	d.end()
	return nil
}

// endsRepeating is the error for a * at the end of a dump, which is seen at a line.
func endsRepeating(line int) error {
	return &Error{Line: line, What: "the dump ends with *: how often the row repeats is missing",
		Hint: "copy the last line, which is an offset alone, too"}
}

// begins reports whether a payload begins with l.
func (d *dump) begins(l line) bool {
	r, ok := readRow(l)
	return !ok || strings.Trim(r.offset, "0") == ""
}

// held is how many bytes the row at offset at has by the offset of the next one,
// -1 if that does not tell.
func (d *dump) held(below []line, at uint64) int {
	if len(below) == 0 {
		return -1
	}
	r, ok := readRow(below[0])
	if !ok {
		return -1
	}
	next, err := strconv.ParseUint(r.offset, d.base, 32)
	if err != nil || next <= at || next-at > widestRow || r.indent != d.tab && d.open {
		return -1
	}
	return int(next - at)
}

// row takes one row, which has want bytes by the offset below it.
func (d *dump) row(r *row, at uint64, want int) error {
	if isWords(r) {
		return &Error{Line: r.no, What: "words of two bytes: in which order depends on the machine that printed them",
			Hint: "print it with hexdump -C, xxd or od -tx1"}
	}
	if d.same {
		if err := d.repeat(r, at); err != nil {
			return err
		}
	}
	if strings.TrimSpace(r.rest) == "" && d.open && at == d.next { // the offset after the last byte
		d.end()
		return nil
	}
	if end, ok := d.ends[r.indent]; r.indent != d.tab && ok && at == end || at != d.next && (at == 0 || r.indent != d.tab) {
		d.end()
	}
	if d.open && at != d.next {
		return &Error{Line: r.no, What: fmt.Sprintf("offset %s does not follow: the row above ends at %s", r.offset, strconv.FormatUint(d.next, d.base)),
			Hint: "a row is missing, or two dumps need a blank line between them"}
	}
	b, ok := r.bytes(want)
	if !ok && want >= 0 {
		b, ok = r.bytes(-1)
	}
	if !ok {
		return &Error{Line: r.no, What: "the bytes and the text beside them do not agree", Hint: "copy the rows whole, or without the text"}
	}
	if !d.open {
		d.cur, d.open = Payload{Form: Dump, Line: r.no}, true
	}
	d.cur.Data = append(d.cur.Data, b...)
	d.next, d.last, d.tab = at+uint64(len(b)), b, r.indent
	d.ends[d.tab] = d.next
	return nil
}

// repeat adds the row above until offset at.
func (d *dump) repeat(r *row, at uint64) error {
	d.same = false
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

func (d *dump) end() {
	if d.open {
		d.out = append(d.out, d.cur)
	}
	d.open, d.last = false, nil
}
