// Package filter is the language of display filters (-Y): it compiles an expression such as
//
//	a2s.info.players > 10 && ip.addr == 10.0.0.0/8
//
// once, and then reports for each message, finding and incident whether the expression holds.
// It does no I/O, and it is not the filter of a capture (-f), which the kernel runs on packets.
//
// The way of an expression:
//
//	text     parse   words, literals, operators with their places
//	   |
//	expr     check   words become fields; literals become values of the field's type
//	   |
//	node     Match   closures over one message, which allocate nothing
//
// Grammar and habits are those of Wireshark 4, as in wireshark-filter(4). A field that a
// message has several times is compared with each of its values: one is enough, but for !=,
// which wants all to differ. A comparison on a field that the message has not is false. What
// is different, because it helps with messages of servers:
//
//   - Names are values: message == S2A_RULES, a2s.info.environment == Linux. Their case does
//     not matter. Texts need no quotes as long as they are one word.
//   - A text compared by <, <=, > or >= with a number without quotes is compared as a number,
//     and does not match if it is none: a2s.rules.rules.value > 100.
//   - A name of yes or no alone is its value, not its presence: !exchange.answered.
//   - Durations have units, 100ms; a number without one is in seconds.
//   - Names of addresses are not looked up, there is no arithmetic, and there are no layers (#).
//
// # What is known later
//
// Whether an exchange is answered, and how fast, is not known at its request. Such fields are
// marked Late. Matcher.Match does not return yes or no for them, but a Truth: a table of what
// the expression will be for each outcome of its late comparisons. When the outcome is known,
// Program.Index returns the place in that table.
//
// # Secrets
//
// A field that is a secret can be tested for presence only, unless Options.ShowSecrets is set.
// Texts with a secret in them read "<redacted>" at its place, and payload reads '*' for its
// bytes, as in all outputs: no filter gives a result that depends on a secret.
//
// # The parser
//
// It is written by hand. What a literal is depends on the field that it is compared with:
// ff:ff, ::1, 10.0.0.0/8, 1..5, A2S-S02 and de_dust2 are words of the same characters, so a
// generator with a lexer of its own (participle) would get one token for all of them and parse
// it again by hand; and what it expected is no sentence that helps at the place of an error.
package filter

import (
	"net/netip"
	"slices"

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

// subject is a kind of what is matched: messages of a protocol and a type, or what is no
// message. Those of no type have a nil one.
type subject struct {
	what    subjectKind
	isUsual bool // of these messages those that have no fields but dissect.Proto.Usual
	proto   *dissect.Proto
	typ     *dissect.Type
}

type subjectKind uint8

const (
	aMessage subjectKind = iota
	aRecord              // a finding that belongs to no message
	anIncident
)

// subjectsOf returns all kinds there are. A message may have the type of another protocol than
// its own: engines share messages.
func subjectsOf(reg *dissect.Registry) []subject {
	all := []subject{{what: aRecord}, {what: anIncident}}
	for _, p := range reg.Protos() {
		all = append(all, subject{proto: p})
		for _, of := range reg.Protos() {
			for _, t := range of.Types {
				all = append(all, subject{proto: p, typ: t})
				if len(p.Usual) > 0 {
					all = append(all, subject{proto: p, typ: t, isUsual: true})
				}
			}
		}
	}
	return all
}

// Which of them can have a field.

func ofMessages(s *subject) bool  { return s.what == aMessage }
func ofFindings(s *subject) bool  { return s.what != anIncident }
func ofIncidents(s *subject) bool { return s.what == anIncident }
func ofAll(*subject) bool         { return true }

// ofProtos returns a function that reports whether a subject can have fields that protos declare,
// of definitions for which is holds: it is a message of one of them, or has a type of one.
func ofProtos(protos []*dissect.Proto, is func(*dissect.Def) bool) func(*subject) bool {
	return func(s *subject) bool {
		if s.isUsual && !slices.ContainsFunc(s.proto.Usual, is) {
			return false
		}
		return s.what == aMessage && (slices.Contains(protos, s.proto) ||
			s.typ != nil && slices.ContainsFunc(protos, func(p *dissect.Proto) bool { return slices.Contains(p.Types, s.typ) }))
	}
}

// outcomes are what an expression can give for a subject: canHold, canFail or both.
type outcomes uint8

const (
	canHold outcomes = 1 << iota
	canFail
)

func outcomeOf(t Truth) outcomes {
	if t == None {
		return canFail
	}
	return canHold
}

// flip returns the outcomes of the negation.
func (o outcomes) flip() outcomes { return o>>1 | o<<1&canFail }

// combine returns the outcomes of two expressions that are joined by op.
func (o outcomes) combine(op string, p outcomes) outcomes {
	switch op {
	case "and":
		return o&p&canHold | (o|p)&canFail
	case "or":
		return (o|p)&canHold | o&p&canFail
	}
	return o.flip().combine("and", p).combine("or", o.combine("and", p.flip())) // xor
}

// leaf returns a node of a comparison of fields. It cannot hold for a subject that lacks one of
// them; where the kind of a message alone decides, it is evaluated for each kind.
func (c *checker) leaf(eval func(*Matcher) Truth, fields ...*field) node {
	n := node{eval: eval}
	isByKind := !slices.ContainsFunc(fields, func(f *field) bool { return !f.isByKind })
	for _, f := range fields {
		c.needsPairs, c.needsEvent, c.readsTexts = c.needsPairs || f.isPaired, c.needsEvent || !f.isInside, c.readsTexts || f.hasTexts
	}
	for i := range c.subjects {
		s := &c.subjects[i]
		switch {
		case slices.ContainsFunc(fields, func(f *field) bool { return !f.of(s) }):
			n.can = append(n.can, canFail)
		case isByKind && s.what == aMessage:
			msg := &dissect.Message{Proto: s.proto, Type: s.typ}
			m, joined := Matcher{event: &render.Event{Msg: msg}, msg: msg}, Matcher{event: &render.Event{Msg: msg, Record: "reply"}, msg: msg}
			n.can = append(n.can, outcomeOf(eval(&m))|outcomeOf(eval(&joined)))
		default:
			n.can = append(n.can, canHold|canFail)
		}
	}
	return n
}

// kind is a protocol and a type.
type kind struct {
	proto *dissect.Proto
	typ   *dissect.Type
}

// addReach notes of what root cannot be true.
func (p *Program) addReach(subjects []subject) {
	p.never = map[kind]bool{}
	for i, s := range subjects {
		holds := p.root.can[i]&canHold != 0
		switch {
		case s.what == aRecord:
			p.matchesRecords = holds
		case s.what == anIncident:
			p.matchesIncidents = holds
		case s.isUsual && holds:
			p.usual = append(p.usual, kind{s.proto, s.typ})
		case s.isUsual:
		case !holds:
			p.never[kind{s.proto, s.typ}] = true
		}
	}
}

// CanMatch reports whether a message of a protocol and a type can match. A type of nil is an
// unknown one.
func (p *Program) CanMatch(proto *dissect.Proto, t *dissect.Type) bool {
	return !p.never[kind{proto, t}]
}

// CanMatchUsual is CanMatch for a message whose Key a dissect.Keyer finds.
func (p *Program) CanMatchUsual(proto *dissect.Proto, t *dissect.Type) bool {
	return len(proto.Usual) == 0 || slices.Contains(p.usual, kind{proto, t})
}

// CanMatchProto reports whether any message of a protocol can match, of its own types or of none.
func (p *Program) CanMatchProto(proto *dissect.Proto) bool {
	return p.CanMatch(proto, nil) || slices.ContainsFunc(proto.Types, func(t *dissect.Type) bool { return p.CanMatch(proto, t) })
}

// CanMatchRecords reports whether a finding that belongs to no message can match.
func (p *Program) CanMatchRecords() bool { return p.matchesRecords }

// CanMatchIncidents reports whether an incident can match.
func (p *Program) CanMatchIncidents() bool { return p.matchesIncidents }

// ReadsTexts reports whether the result depends on fields in which secrets can be: they have to
// be found then.
func (p *Program) ReadsTexts() bool { return p.readsTexts }

// NeedsPairs reports whether the result depends on the exchange of a message, or on what that
// shows.
func (p *Program) NeedsPairs() bool { return p.needsPairs }
