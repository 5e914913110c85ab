package track

import (
	"strconv"
	"time"

	"qsniff/dissect/finding"
	"qsniff/reassembly/wire"
)

// What A of Reframed says the forms differ in.
const (
	ReframedFields = 1 + iota // the fields that follow: B is two numbers of the protocol, one << 32
	ReframedHeader            // the header of parts: B is two engines << 16 | sizes, one << 32
	ReframedSplit             // B is the bytes of a split answer << 32, and of one as long or longer in one datagram
)

// Reframed is raised where a server's answers come in two forms by turns.
var Reframed = finding.Code{ID: "MBX-02", Severity: finding.Note, Fault: finding.Middlebox,
	Seen:   "answers of one server to one kind of query come in two forms by turns, or split although others as long come whole",
	Means:  "something on the way, as a filter or a proxy of the provider, writes answers of its own; clients that expect the game's form may fail",
	Owner:  "compare with a capture at the server; ask the provider what answers queries in its place",
	Client: "accept both forms of each answer, and remember no form for a server",
	Text: func(dst []byte, e *finding.Expert) []byte {
		switch e.A {
		case ReframedSplit:
			dst = strconv.AppendUint(append(dst, "an answer of "...), e.B>>32, 10)
			dst = strconv.AppendUint(append(dst, " bytes comes in parts, and one of "...), e.B&0xffff_ffff, 10)
			return append(dst, " bytes of the same kind in one datagram"...)
		case ReframedHeader:
			dst = strconv.AppendUint(append(dst, "answers come by turns in parts of "...), e.B>>32&0xffff, 10)
			dst = strconv.AppendUint(append(dst, " and of "...), e.B&0xffff, 10)
			return append(dst, " bytes, or with headers of two engines"...)
		}
		dst = strconv.AppendUint(append(dst, "answers come by turns with the optional fields 0x"...), e.B>>32, 16)
		return strconv.AppendUint(append(dst, " and 0x"...), e.B&0xffff_ffff, 16)
	}}

// framings finds servers whose answers come in two forms by turns.
type framings struct {
	*Hosts
	servers *states[serverFraming]
}

func newFramings(h *Hosts) check {
	c := &framings{Hosts: h, servers: newServerStates[serverFraming](h)}
	return check{finds: []*finding.Code{&Reframed}, wants: []want{{answer, c.addAnswer}}}
}

// serverFraming is in which forms a server answers.
type serverFraming struct {
	kinds      [queryKinds]framing
	isReframed bool // two forms were raised
}

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

// addAnswer adds an answer to one or more kinds of query.
func (c *framings) addAnswer(f *view) {
	s := c.servers.at(f.server.slot)
	for kind, role := range queryRoles {
		if f.Type.Asks.Has(role) {
			c.checkFraming(f, s, kind)
		}
	}
}

// checkFraming raises that answers of a server to one kind of query come in two forms by turns, or
// split although others as long are not.
func (c *framings) checkFraming(f *view, s *serverFraming, kind int) {
	if f.Step != Answer || s.isReframed {
		return
	}
	x := &s.kinds[kind]
	since := f.Age - int64(reframedFor)
	if !f.IsSplit && f.Bytes >= x.longest || x.longestAge < since {
		x.longest, x.longestAge, x.longestAt = 0, never, 0
		if !f.IsSplit {
			x.longest, x.longestAge, x.longestAt = f.Bytes, f.Age, f.Frame
		}
	}
	if f.Engine != wire.None && f.Bytes <= x.longest {
		s.isReframed = true
		c.Report(f.Fact, x.longestAt, finding.Expert{Code: &Reframed, A: ReframedSplit, B: uint64(f.Bytes)<<32 | uint64(x.longest)}, false)
		return
	}
	form := formOf(f.Fact, kind)
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
	c.Report(f.Fact, x.first, e, false)
}

const (
	// limit: reframedTurns is how often answers must go back to the form that they had before, within
	// reframedFor: a server that restarts can change once, and back. Chosen.
	reframedTurns = 2
	reframedFor   = time.Minute
)
