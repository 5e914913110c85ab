package filter

import (
	"slices"

	"qsniff/dissect"
	"qsniff/internal/render"
)

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
