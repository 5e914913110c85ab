package filter

import (
	"net/netip"

	"qsniff/dissect"
	"qsniff/internal/render"
)

// Program is a compiled expression. It never changes: partitions share it, each with a
// Matcher of its own.
type Program struct {
	text string
	root node
	late []lateTest
	// What it can be true of.
	never                              map[kind]bool // of these messages it cannot
	usual                              []kind        // of these it can where they have no fields but dissect.Proto.Usual
	matchesRecords, matchesIncidents   bool
	needsPairs, needsEvent, readsTexts bool
}

// String returns the text that the program was compiled from.
func (p *Program) String() string { return p.text }

// NeedsAnswers reports whether the result depends on what is known when exchanges are over.
func (p *Program) NeedsAnswers() bool { return len(p.late) > 0 }

// Index returns the number of an outcome, for Truth.At.
func (p *Program) Index(o *Outcome) uint8 {
	var i uint8
	for j := range p.late {
		l := &p.late[j]
		if v, ok := o.value(l.field); ok && l.holds(v) {
			i |= 1 << j
		}
	}
	return i
}

// Matcher returns what evaluates the program in one goroutine.
func (p *Program) Matcher() *Matcher { return &Matcher{program: p} }

// Matcher evaluates a program. Its memory is used again for the next message.
type Matcher struct {
	program  *Program
	event    *render.Event // what is matched: one of these is not nil
	record   *render.Record
	incident *render.IncidentEvent
	msg      *dissect.Message // of the event
	bare     render.Event     // stands for an event of which nothing is asked

	v       value  // what a test looks at
	counted uint64 // by count()
	left    value  // of two fields that are compared, the first
	// Texts of v and left that are not in the message. Each is valid until the next value,
	// those in sliced until the next message.
	name, joined, changed, sliced, leftText []byte
}

// value is one value of a field. Which members count depends on the type of the field.
type value struct {
	num    uint64 // also durations, times, orders and, by their bits, floats of 64 bits
	single bool   // a float had 32 bits
	text   []byte // also names and bytes
	end    netip.AddrPort
	ported bool // the end has a port
}

// node is a compiled expression.
type node struct {
	eval func(m *Matcher) Truth
	can  []outcomes // of each subject
}

// test is a compiled comparison of Matcher.v.
type test func(m *Matcher) bool

// Match returns whether a message matches. The result of a message that belongs to no
// exchange, which has no outcome, is None or All.
func (m *Matcher) Match(e *render.Event) Truth {
	m.event, m.msg, m.record, m.incident = e, e.Msg, nil, nil
	t := m.run()
	if e.Exchange.ID == 0 && len(m.program.late) > 0 {
		return truthOf(t.At(0))
	}
	return t
}

// MayMatch reports whether a message can match. It takes less than Match, and decides where all
// that the program asks for is in the message itself.
func (m *Matcher) MayMatch(msg *dissect.Message) bool {
	p := m.program
	if p.needsEvent || !p.CanMatch(msg.Proto, msg.Type) {
		return p.CanMatch(msg.Proto, msg.Type)
	}
	m.event, m.msg, m.record, m.incident = &m.bare, msg, nil, nil
	return m.run() != None
}

// MatchRecord reports whether a finding matches that belongs to no message.
func (m *Matcher) MatchRecord(r *render.Record) bool {
	m.event, m.msg, m.record, m.incident = nil, nil, r, nil
	return m.run().At(0)
}

// MatchIncident reports whether what happened to an incident matches.
func (m *Matcher) MatchIncident(x *render.IncidentEvent) bool {
	m.event, m.msg, m.record, m.incident = nil, nil, nil, x
	return m.run().At(0)
}

func (m *Matcher) run() Truth {
	m.sliced = m.sliced[:0]
	return m.program.root.eval(m)
}

// Truth is what an expression gives as a table: bit i is the result if the outcome of its
// late comparisons is number i, see Program.Index.
type Truth uint64

// The results that no outcome changes.
const (
	None Truth = 0
	All        = ^None
)

// At returns the result for the outcome with number i.
func (t Truth) At(i uint8) bool { return t>>i&1 != 0 }

// truthOf returns All or None.
func truthOf(b bool) Truth {
	if b {
		return All
	}
	return None
}

// lateTruths are the tables of the late comparisons: bit i of table j is bit j of i.
var lateTruths = [maxLate]Truth{0xaaaaaaaaaaaaaaaa, 0xcccccccccccccccc, 0xf0f0f0f0f0f0f0f0,
	0xff00ff00ff00ff00, 0xffff0000ffff0000, 0xffffffff00000000}

// Outcome is what became of an exchange.
type Outcome struct {
	Answered     bool
	RTT          int64 // nanoseconds from the request to its answer, -1 if there is none
	ChallengeRTT int64 // and to the challenge before it, -1 if there is none
}

// lateField is a field whose value is known when the exchange is over.
type lateField uint8

const (
	notLate lateField = iota
	lateAnswered
	lateRTT
	lateChallengeRTT
)

// value returns the value of a field; ok is false where there is none.
func (o *Outcome) value(f lateField) (num uint64, ok bool) {
	switch f {
	case lateAnswered:
		if o.Answered {
			return 1, true
		}
		return 0, true
	case lateRTT:
		return uint64(o.RTT), o.RTT >= 0
	case lateChallengeRTT:
		return uint64(o.ChallengeRTT), o.ChallengeRTT >= 0
	}
	return 0, false
}

// lateTest is a comparison on a late field, which is a number.
type lateTest struct {
	field lateField
	holds numberTest
	text  string // of the comparison: equal ones share a place in the table
}
