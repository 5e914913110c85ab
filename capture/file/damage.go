package file

import (
	"errors"
	"io"

	"qsniff/capture"
	"qsniff/internal/base/digits"
)

// ErrGap is the Err of the error that ends a file in which damage was skipped: it was
// read to its end, but not all of it.
var ErrGap = errors.New("damaged places skipped")

// soundness is whether bytes are a record or block.
type soundness uint8

const (
	unsound   soundness = iota
	undecided           // until more of the input has arrived
	sound
)

// damageAt is an error about the record or block at that position of the batch's buffer.
func (r *Reader) damageAt(pos int, reason string) *Error {
	return &Error{File: r.name, Offset: r.offset + int64(pos), Expanded: r.packed != nil,
		Reason: reason, Hint: hintDamage}
}

// lengthError is about a captured length above capture.MaxCaptured.
func (r *Reader) lengthError(pos int, captured uint32) *Error {
	return r.damageAt(pos, lengthReason(captured))
}

// lengthReason returns the reason for a captured length above capture.MaxCaptured.
func lengthReason(captured uint32) string {
	return "captured length " + digits.Grouped(int64(captured)) + " above the limit of " + digits.Grouped(capture.MaxCaptured)
}

// cutError is about a record or block at offset of which the input holds no more
// than rest. header is the length of its header, want the length of all of it as the
// header states, 0 if that is unknown.
func (r *Reader) cutError(offset int64, what string, header int, rest []byte, want int64) *Error {
	e := &Error{File: r.name, Offset: offset, Expanded: r.packed != nil, Hint: hintCut, Err: io.ErrUnexpectedEOF}
	if want == 0 {
		e.Reason = what + " header cut: " + digits.Grouped(int64(len(rest))) + " of " + digits.Grouped(int64(header)) + " bytes"
		return e
	}
	e.Reason = what + " cut: its header promises " + digits.Grouped(want-int64(header)) + " bytes, " +
		digits.Grouped(int64(len(rest)-header)) + " remain"
	return e
}

// searchSound searches for the next sound record or block after the damage, from pos
// on. It returns where that begins and true, or else where to continue the search.
func (r *Reader) searchSound(buf []byte, pos int) (int, bool) {
	if r.offset+int64(pos) == r.damage.Offset {
		pos++
	}
	pos = min(pos, len(buf))
	if r.isPcapng {
		return r.searchBlocks(buf, pos)
	}
	return r.searchRecords(buf, pos)
}

// addGap reports that skipped bytes from e.Offset on are missing before the
// next packet of b. Gaps without a packet between them become one, so that a batch
// has at most one gap more than packets.
func (r *Reader) addGap(b *capture.Batch, skipped int64, e *Error) {
	if r.extendGap(b, skipped) {
		return
	}
	r.stats.Gaps++
	r.stats.Skipped += skipped
	b.Gaps = append(b.Gaps, capture.Gap{At: len(b.Packets), File: r.name, Offset: e.Offset,
		Skipped: skipped, Reason: e.Reason, Hint: hintGap})
	if r.firstDamage == nil {
		r.firstDamage = e
	}
}

// extendGap adds skipped bytes to the gap before the next packet of b, and reports
// whether there is one.
func (r *Reader) extendGap(b *capture.Batch, skipped int64) bool {
	last := len(b.Gaps) - 1
	if last < 0 || b.Gaps[last].At != len(b.Packets) {
		return false
	}
	b.Gaps[last].Skipped += skipped
	r.stats.Skipped += skipped
	return true
}

// gapsError is the error at the end of a file in which damage was skipped: the first
// damage, and how much more there was.
func (r *Reader) gapsError() error {
	e := *r.firstDamage
	e.Err = ErrGap
	e.Hint = hintGap
	if r.stats.Gaps > 1 {
		e.Reason += "; with " + digits.Grouped(int64(r.stats.Gaps-1)) + " more damaged places"
	}
	e.Reason += "; " + digits.Counted(uint64(r.stats.Skipped), "byte") + " skipped"
	return &e
}
