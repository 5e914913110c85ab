package file

import (
	"encoding/binary"
	"io"
	"math/bits"

	"qsniff/capture"
	"qsniff/internal/digits"
)

// clock is the time of the records read so far.
type clock struct {
	sec uint32 // of the last record
	set bool   // there was one
}

// near says whether sec is within maxTimeStep of the last record's time. Times
// are compared around the corner of 2106.
func (c clock) near(sec uint32) bool { return sec-c.sec+maxTimeStep <= 2*maxTimeStep }

// cutRecords appends the complete records of b.Buf from position pos on to
// b.Packets and returns the position after the last of them, where the damage
// is if there is any.
func (r *Reader) cutRecords(b *capture.Batch, pos int) (int, *Error) {
	buf, f := b.Buf, r.format
	if !r.clock.set && len(buf)-pos >= f.recordLen {
		r.clock = clock{f.record(buf[pos:]).sec, true}
	}
	last := r.clock.sec
	packets := b.Packets[:capture.MaxPackets]
	n := len(b.Packets)
	no := r.stats.Received
	var damage *Error
	for n < len(packets) && len(buf)-pos >= f.recordLen {
		h := load(buf[pos : pos+recordHeaderLen])
		if f.unusual {
			h = f.adapt(h)
		}
		start := pos + f.recordLen
		if h.captured != h.wire || h.captured-1 >= capture.MaxCaptured || h.frac >= f.second ||
			h.sec-last+maxTimeStep > 2*maxTimeStep {
			var v verdict
			if v, damage = r.judge(buf, pos, h, clock{last, true}); v != sound {
				break
			}
		}
		end := start + int(h.captured)
		if end > len(buf) {
			break
		}
		last = h.sec
		// Member by member: a composite literal is built aside and copied,
		// which took more time than all the rest.
		p := &packets[n]
		n++
		p.No = no + uint64(n)
		p.Nanos = int64(h.sec)*1e9 + int64(h.frac)*f.fraction
		p.Data = buf[start:end:end]
		p.Wire = max(h.wire, h.captured)
		p.Link = f.link
		p.Iface, p.File = 0, 0
		pos = end
	}
	r.clock.sec = last
	b.Packets = packets[:n]
	return pos, damage
}

// recordHeader is a decoded record header.
type recordHeader struct {
	sec, frac, captured, wire uint32
}

// record decodes a record header.
func (f *format) record(b []byte) recordHeader { return f.adapt(load(b)) }

// load reads a record header of the usual format.
func load(b []byte) recordHeader {
	lo, hi := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
	return recordHeader{sec: uint32(lo), frac: uint32(lo >> 32), captured: uint32(hi), wire: uint32(hi >> 32)}
}

// adapt turns a header that was read as one of the usual format into what it
// says.
func (f *format) adapt(h recordHeader) recordHeader {
	if f.bigEndian {
		h.sec, h.frac = bits.ReverseBytes32(h.sec), bits.ReverseBytes32(h.frac)
		h.captured, h.wire = bits.ReverseBytes32(h.captured), bits.ReverseBytes32(h.wire)
	}
	if f.lengths == wireFirst || f.lengths == smallerIsCaptured && h.captured > h.wire {
		h.captured, h.wire = h.wire, h.captured
	}
	return h
}

// judge decides about a record at pos that looks odd. Odd records are found in
// sound files: writers that do not carry a full second, clocks that were set,
// packets cut shorter than the snap length. They are believed if a record
// follows them where they end; a damaged length points somewhere else.
func (r *Reader) judge(buf []byte, pos int, h recordHeader, c clock) (verdict, *Error) {
	if h == (recordHeader{}) {
		return unsound, r.damage(pos, "record header of zeros")
	}
	if h.captured > capture.MaxCaptured {
		return unsound, r.lengthDamage(pos, h.captured)
	}
	f := &r.format
	if h.captured == f.snapLen && h.captured < h.wire && h.frac < f.second && c.near(h.sec) {
		return sound, nil // cut as the file header announces
	}
	start := pos + f.recordLen
	end := start + int(h.captured)
	if h.captured > h.wire && len(buf)-start-int(h.wire) >= f.recordLen {
		// Where the other length ends a record may begin too: then this one is
		// the damaged one, even if it happens to point at a record.
		if next := f.record(buf[start+int(h.wire):]); f.plausible(next, c) {
			return unsound, r.damage(pos, "captured length "+digits.Grouped(int64(h.captured))+
				" above the length on the wire of "+digits.Grouped(int64(h.wire)))
		}
	}
	switch r.follows(buf, end, h, c) {
	case undecided:
		return undecided, nil
	case sound:
		return sound, nil
	}
	if end > len(buf) {
		return unsound, r.cut(r.offset+int64(pos), "record", f.recordLen, buf[pos:], int64(f.recordLen)+int64(h.captured))
	}
	return unsound, r.damage(pos, "no record where one of "+digits.Counted(uint64(h.captured), "byte")+" ends")
}

// follows says whether records follow at end, after the odd one with header h:
// one that is odd in no other way than h, or else chainLength of them, or as
// many as there are up to the end of the file.
func (r *Reader) follows(buf []byte, end int, h recordHeader, c clock) verdict {
	f := &r.format
	for link := range chainLength {
		if len(buf)-end < f.recordLen {
			switch {
			case r.inErr == nil:
				return undecided
			case end > len(buf):
				return unsound
			}
			return sound
		}
		next := f.record(buf[end:])
		if next.captured > capture.MaxCaptured || next == (recordHeader{}) {
			return unsound
		}
		if link == 0 && f.alike(next, h, c) {
			return sound
		}
		end += f.recordLen + int(next.captured)
	}
	return sound
}

// alike says whether a record is odd in no way in which the one before is not.
func (f *format) alike(next, h recordHeader, c clock) bool {
	return (next.captured <= next.wire || h.captured > h.wire) &&
		(next.frac < f.second || h.frac >= f.second) &&
		(c.near(next.sec) || clock{sec: h.sec}.near(next.sec))
}

// searchRecords looks for the next chain of sound records from pos on. It
// returns where the chain begins, or how far nothing can begin.
func (r *Reader) searchRecords(buf []byte, pos int) (int, bool) {
	f := &r.format
	for ; len(buf)-pos >= f.recordLen; pos++ {
		h := f.record(buf[pos:])
		if h.captured-1 >= capture.MaxCaptured {
			continue
		}
		switch r.chain(buf, pos) {
		case sound:
			return pos, true
		case undecided:
			return pos, false
		}
	}
	return pos, false
}

// chain says whether records begin at pos: chainLength of them, or fewer that
// end where the file ends.
func (r *Reader) chain(buf []byte, pos int) verdict {
	f, c := &r.format, r.clock
	eof := r.inErr == io.EOF
	for range chainLength {
		switch {
		case len(buf)-pos >= f.recordLen:
		case !eof:
			return undecided
		case len(buf) == pos:
			return sound
		default:
			return unsound
		}
		h := f.record(buf[pos:])
		if !c.set {
			c = clock{h.sec, h.sec != 0}
		}
		if !f.plausible(h, c) {
			return unsound
		}
		c.sec = h.sec
		pos += f.recordLen + int(h.captured)
	}
	return sound
}

// plausible is what is asked of a record after damage.
func (f *format) plausible(h recordHeader, c clock) bool {
	return c.set && c.near(h.sec) && h.frac < f.second &&
		h.captured > 0 && h.captured <= h.wire && h.wire <= maxWire &&
		h.captured <= capture.MaxCaptured && (f.snapLen == 0 || h.captured <= f.snapLen)
}
