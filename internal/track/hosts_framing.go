package track

import (
	"qsniff/dissect/finding"
	"qsniff/reassembly/wire"
)

// framing follows in which forms a server's answers to one kind of query come. A server that is
// updated or set otherwise changes its form once, one program does not go to and fro.
type framing struct {
	form, before uint64 // of the last answer, and the other one before it; 0: there was none
	turns        uint8  // how many times the form went back to the one before
	since        int64  // age of the first of these turns
	first        uint64 // frame of it
	longest      uint32 // bytes of the longest answer in one datagram
	longestAge   int64  // of the last one that long
	longestAt    uint64 // frame of it
}

// hasFields in a form is set if its lower half is which optional fields there are.
const hasFields = 1 << 63

// formOf returns the form of an answer as a number that is not 0; 0 where it shows none. A list
// comes split or not by its length, so only how it is split is a form.
func formOf(f *Fact, kind int) uint64 {
	form := uint64(f.Engine)<<48 | uint64(f.PartSize)<<32
	if kind == queryInfo && f.Said != nil && f.Said.Form >= 0 {
		return form | hasFields | uint64(f.Said.Form)
	}
	return form
}

// checkFraming raises that answers of a server to one kind of query come in two forms by turns, or
// split although others as long are not.
func (h *Hosts) checkFraming(f *Fact, s *hostState, kind int) {
	if f.Step != Answer || s.isReframed {
		return
	}
	x := &s.framing[kind]
	since := f.Age - int64(reframedFor)
	if !f.IsSplit && f.Bytes >= x.longest || x.longestAge < since {
		x.longest, x.longestAge, x.longestAt = 0, never, 0
		if !f.IsSplit {
			x.longest, x.longestAge, x.longestAt = f.Bytes, f.Age, f.Frame
		}
	}
	if f.Engine != wire.None && f.Bytes <= x.longest {
		s.isReframed = true
		h.raise(f, x.longestAt, finding.Expert{Code: &Reframed, A: ReframedSplit, B: uint64(f.Bytes)<<32 | uint64(x.longest)}, false)
		return
	}
	form := formOf(f, kind)
	if form == 0 || form == x.form {
		return
	}
	switch {
	case form != x.before || x.since < since:
		x.turns, x.since, x.first = 0, f.Age, f.Frame
	default:
		x.turns++
	}
	before := x.form
	x.before, x.form = before, form
	if x.turns < reframedTurns {
		return
	}
	s.isReframed = true
	e := finding.Expert{Code: &Reframed, A: ReframedFields, B: before<<32 | form&0xffff_ffff}
	if before>>32 != form>>32 {
		e.A, e.B = ReframedHeader, before&^hasFields>>32<<32|form&^hasFields>>32
	}
	h.raise(f, x.first, e, false)
}
