package file

import (
	"errors"
	"io"

	"qsniff/capture"
	"qsniff/internal/digits"
)

// ErrGap is the Err of the error that ends a file in which damage was passed
// over: it was read to its end, but not all of it.
var ErrGap = errors.New("damaged places skipped")

// verdict is what is known of bytes that may be a record.
type verdict uint8

const (
	unsound   verdict = iota
	undecided         // until more of the input has arrived
	sound
)

// damage is an error about the record at that position of the batch's buffer.
func (r *Reader) damage(pos int, reason string) *Error {
	return &Error{File: r.name, Offset: r.offset + int64(pos), Expanded: r.packed != nil,
		Reason: reason, Hint: hintDamage}
}

// lengthDamage is about a captured length that nobody can have captured.
func (r *Reader) lengthDamage(pos int, captured uint32) *Error {
	return r.damage(pos, lengthReason(captured))
}

func lengthReason(captured uint32) string {
	return "captured length " + digits.Grouped(int64(captured)) + " above the limit of " + digits.Grouped(capture.MaxCaptured)
}

// cut is about a record or block at offset of which the input holds no more
// than rest. header is how long its header is, want how long the header says it
// is, 0 if that is unknown.
func (r *Reader) cut(offset int64, what string, header int, rest []byte, want int64) *Error {
	e := &Error{File: r.name, Offset: offset, Expanded: r.packed != nil, Hint: hintCut, Err: io.ErrUnexpectedEOF}
	if want == 0 {
		e.Reason = what + " header cut: " + digits.Grouped(int64(len(rest))) + " of " + digits.Grouped(int64(header)) + " bytes"
		return e
	}
	e.Reason = what + " cut: its header promises " + digits.Grouped(want-int64(header)) + " bytes, " +
		digits.Grouped(int64(len(rest)-header)) + " remain"
	return e
}

// search looks for the next sound record after the damage, from pos on. It
// returns where that is, or how far it has looked.
func (r *Reader) search(buf []byte, pos int) (int, bool) {
	if r.offset+int64(pos) == r.lost.Offset {
		pos++
	}
	pos = min(pos, len(buf))
	if r.blocks {
		return r.searchBlocks(buf, pos)
	}
	return r.searchRecords(buf, pos)
}

// addGap reports that skipped bytes from e.Offset on are missing before the
// next packet of b. Gaps without a packet between them are one, so that there
// are never more gaps than packets in a batch, and one more.
func (r *Reader) addGap(b *capture.Batch, skipped int64, e *Error) {
	if r.extendGap(b, skipped) {
		return
	}
	r.stats.Gaps++
	r.stats.Skipped += skipped
	b.Gaps = append(b.Gaps, capture.Gap{At: len(b.Packets), File: r.name, Offset: e.Offset,
		Skipped: skipped, Reason: e.Reason, Hint: hintGap})
	if r.first == nil {
		r.first = e
	}
}

// extendGap adds skipped bytes to the gap before the next packet of b, if
// there is one.
func (r *Reader) extendGap(b *capture.Batch, skipped int64) bool {
	last := len(b.Gaps) - 1
	if last < 0 || b.Gaps[last].At != len(b.Packets) {
		return false
	}
	b.Gaps[last].Skipped += skipped
	r.stats.Skipped += skipped
	return true
}

// gapsError ends a file in which damage was passed over.
func (r *Reader) gapsError() error {
	e := *r.first
	e.Err = ErrGap
	e.Hint = hintGap
	if r.stats.Gaps > 1 {
		e.Reason += "; with " + digits.Grouped(int64(r.stats.Gaps-1)) + " more damaged places"
	}
	e.Reason += "; " + digits.Counted(uint64(r.stats.Skipped), "byte") + " skipped"
	return &e
}
