package advice

import (
	"bytes"
	"fmt"
	"slices"

	"qsniff/dissect"
	"qsniff/internal/flood"
	"qsniff/internal/track"
	"qsniff/reassembly/wire"
)

// lineKind is a kind of line in a filter.
type lineKind uint8

const (
	lineSources   lineKind = iota // drop what named sources send
	lineQueries                   // limit the queries of each source
	lineFirst                     // cap the queries that nobody had to prove anything for
	lineVictims                   // stop feeding named victims
	lineOthers                    // limit what each other one is fed
	lineUnasked                   // cap replies
	lineJunk                      // cap what begins like a query and is none
	lineLogins                    // limit the attempts of each source to log in
	lineOdd                       // drop queries of a length that no client sends
	lineUnissued                  // drop challenges from sources that the server sent nothing to
	lineStrangers                 // cap what is no query, from such sources
	linePairs                     // limit the queries of each address and port
	numLineKinds
)

// isPerSource reports whether every source has a bucket of its own.
func (l lineKind) isPerSource() bool {
	return l == lineQueries || l == linePairs || l == lineOthers || l == lineLogins
}

// isOfNames reports whether the lines name sources, or victims.
func (l lineKind) isOfNames() bool { return l == lineSources || l == lineVictims }

// needsPeers reports whether the lines look up whom the server sent something lately.
func (l lineKind) needsPeers() bool { return l == lineUnissued || l == lineStrangers }

// catalog holds which packets each kind of line matches at a server of one protocol, made of
// what the protocols declare.
type catalog struct {
	proto    *dissect.Proto // nil: unknown, it may be any
	operator dissect.Operator
	sets     [numLineKinds]packetSet
	gated    packetSet // answers that the server gives for a challenge only; empty: none is known
}

// packetSet is the datagrams that the lines of one kind match: those with at least one of its
// patterns, and none of the exempt ones.
type packetSet struct {
	patterns       []dissect.Pattern // none of which covers another
	exempt         []dissect.Pattern
	forms          map[*dissect.Type][]form // of messages
	hasJunk        bool                     // datagrams with a protocol's mark and of no known type are in the set
	hasParts       bool                     // parts of split messages are in the set
	passesFamiliar bool                     // exempt are all patterns of Registry.Familiar
	hasOther       bool                     // datagrams of no protocol are in the set
}

// form is one of the forms that messages of a type have, and the lengths at which the lines
// match it.
type form struct {
	lengths
	isPlain bool // without a token
	matched []lengths
}

// lengths are lengths of payloads in bytes; a max of 0 is no bound.
type lengths struct{ min, max int }

func (b lengths) has(n int) bool { return n >= b.min && (b.max == 0 || n <= b.max) }

// hasSighting reports whether the set has a packet, as far as its sighting, which has no
// bytes, shows. A message that the capture cut and that may have a token counts as having
// one. Where the packet may have more than one form, the lines must match all of them.
func (x *packetSet) hasSighting(s *track.Sighting) bool {
	switch s.What {
	case track.IsJunk:
		return x.hasJunk && !(x.passesFamiliar && s.Flags&track.Familiar != 0)
	case track.IsPart:
		return x.hasParts
	case track.IsOther:
		return x.hasOther
	}
	forms, n := x.forms[s.Type], int(s.Bytes)
	if s.Flags&(track.HasKey|track.Cut) == 0 {
		if all, some := matchesForms(forms, n, true); some {
			return all
		}
	}
	all, some := matchesForms(forms, n, false)
	return all && some
}

// matchesForms reports whether the lines match every form that messages of n bytes can have,
// and whether there is such a form.
func matchesForms(forms []form, n int, isPlain bool) (all, some bool) {
	all = true
	for i := range forms {
		f := &forms[i]
		if f.isPlain == isPlain && f.has(n) {
			some = true
			all = all && slices.ContainsFunc(f.matched, func(b lengths) bool { return b.has(n) })
		}
	}
	return all, some
}

// isQuery reports whether a type is a question that every client may ask.
func isQuery(t *dissect.Type) bool { return !t.FromServer() && t.Asks.Has(dissect.Public) }

// isRequest reports whether a type is any question to a server: a query, or one of those who
// join or administer.
func isRequest(t *dissect.Type) bool { return !t.FromServer() && t.Asks != 0 }

func isLogin(t *dissect.Type) bool { return !t.FromServer() && t.Asks.Has(dissect.Remote) }

func isReply(t *dissect.Type) bool { return t.Reply }

// isAnswer reports whether a type is a reply of use to somebody who forged the question: one
// with data, and neither a challenge nor a sign of life.
func isAnswer(t *dissect.Type) bool {
	return t.Reply && !t.GivesToken() && t.Asks.Has(dissect.Informing) && !t.Asks.Has(dissect.AskChallenge)
}

// newCatalog returns the catalog of a protocol, for nil that of all in the registry.
func newCatalog(reg *dissect.Registry, p *dissect.Proto) *catalog {
	all := reg.Protos()
	c := &catalog{proto: p, operator: unknownOperator}
	own, kin := all, all
	if p != nil {
		c.operator = p.Operator
		own, kin = []*dissect.Proto{p}, kinOf(all, p)
	}
	marks, parts := marksOf(all), []dissect.Pattern(nil)
	if slices.ContainsFunc(kin, hasSplits) {
		parts = []dissect.Pattern{dissect.Begins(string(wire.SplitMark))}
	}
	queries, first := patternsOf(own, isQuery, allForms), patternsOf(own, isQuery, plainForms)
	others, unasked := patternsOf(kin, isAnswer, allForms), withoutPortBound(patternsOf(kin, isReply, allForms)) // at a host, on any port
	if p == nil {
		queries, first, others = marks, marks, withoutPortBound(others)
	}
	for l, patterns := range map[lineKind][]dissect.Pattern{lineQueries: queries, linePairs: queries, lineFirst: first,
		lineOthers: others, lineUnasked: append(unasked, parts...),
		lineJunk: marks, lineLogins: patternsOf(own, isLogin, allForms)} {
		c.sets[l].patterns = dissect.Needed(patterns)
	}
	c.sets[lineJunk].exempt, c.sets[lineJunk].passesFamiliar = reg.Familiar(), true
	c.sets[lineUnissued] = newTokenSet(own)
	c.sets[lineStrangers] = newStrangerSet(all, own)
	for l := range c.sets {
		c.sets[l].indexForms(all)
	}
	return c
}

// unknownOperator is the advice to operators of a server whose protocol is unknown.
var unknownOperator = dissect.Operator{
	Reflected: "The cure is the challenge, with which the answer to a forged query is smaller than the query.",
}

// withoutPortBound returns list without the patterns that match other traffic, too, on ports
// that are not the protocol's: the port must be known for these.
func withoutPortBound(list []dissect.Pattern) []dissect.Pattern {
	return slices.DeleteFunc(list, func(w dissect.Pattern) bool { return w.AtPort != "" })
}

func hasSplits(p *dissect.Proto) bool { return len(p.Splits) > 0 }

// kinOf returns p and the protocols that servers of p may speak as well: those of engines
// with the same mark, which split messages, too. A server answers in the forms of all of them.
func kinOf(all []*dissect.Proto, p *dissect.Proto) []*dissect.Proto {
	kin := []*dissect.Proto{p}
	for _, q := range all {
		if q != p && hasSplits(p) && hasSplits(q) && len(p.Mark) > 0 && bytes.Equal(p.Mark, q.Mark) {
			kin = append(kin, q)
		}
	}
	return kin
}

// marksOf returns the marks of protocols as patterns.
func marksOf(all []*dissect.Proto) (marks []dissect.Pattern) {
	for _, p := range all {
		if len(p.Mark) > 0 {
			marks = append(marks, dissect.Begins(string(p.Mark)))
		}
	}
	return dissect.Needed(marks)
}

// allForms lists what messages of a type look like, and plainForm those of them that
// bring no token back.
func allForms(t *dissect.Type) []dissect.Pattern { return t.Wire }

func plainForms(t *dissect.Type) []dissect.Pattern {
	if t.BringsToken() {
		return t.Token.Plain
	}
	return t.Wire
}

// patternsOf returns the patterns, of the forms asked for, of the types that wants accepts,
// but for those that servers send by mistake.
func patternsOf(protos []*dissect.Proto, wants func(*dissect.Type) bool, forms func(*dissect.Type) []dissect.Pattern) (list []dissect.Pattern) {
	for _, p := range protos {
		for _, t := range p.Types {
			if wants(t) {
				list = append(list, forms(t)...)
			}
		}
	}
	return slices.DeleteFunc(list, func(w dissect.Pattern) bool { return w.IsMistake })
}

// indexForms finds the forms of all protocols' messages that the patterns match, so that a
// sighting, which has a type and no bytes, can be compared with them.
func (x *packetSet) indexForms(all []*dissect.Proto) {
	x.forms = map[*dissect.Type][]form{}
	var forms []form // of few types any matches
	for _, p := range all {
		for _, t := range p.Types {
			forms = x.appendForms(forms[:0], t.Wire, false)
			if t.BringsToken() {
				forms = x.appendForms(forms, t.Token.Plain, true)
			}
			if slices.ContainsFunc(forms, func(f form) bool { return f.matched != nil }) {
				x.forms[t] = slices.Clone(forms)
			}
		}
		if len(p.Mark) > 0 {
			junk := dissect.Begins(string(p.Mark))
			has := func(w dissect.Pattern) bool { return junk.HasBytesOf(&w) }
			x.hasJunk = x.hasJunk || slices.ContainsFunc(x.patterns, has) && !slices.ContainsFunc(x.exempt, has)
		}
	}
	part := dissect.Begins(string(wire.SplitMark))
	x.hasParts = slices.ContainsFunc(x.patterns, func(w dissect.Pattern) bool { return part.HasBytesOf(&w) })
}

// appendForms appends the forms that the patterns of a type stand for, but for mistakes of
// servers.
func (x *packetSet) appendForms(list []form, wire []dissect.Pattern, isPlain bool) []form {
	for i := range wire {
		if wire[i].IsMistake {
			continue
		}
		q := lowerCase(&wire[i])
		f := form{lengths: lengths{q.MinLen, q.MaxLen}, isPlain: isPlain}
		passes := slices.ContainsFunc(x.exempt, func(p dissect.Pattern) bool { return q.HasBytesOf(&p) })
		for j := range x.patterns {
			if p := &x.patterns[j]; !passes && q.HasBytesOf(p) {
				f.matched = append(f.matched, lengths{max(p.MinLen, q.MinLen), stricterMax(p.MaxLen, q.MaxLen)})
			}
		}
		list = append(list, f)
	}
	return list
}

// stricterMax returns the smaller one of two upper bounds, where 0 stands for none.
func stricterMax(a, b int) int {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// lowerCase returns w with letters of either case replaced by small ones, as clients write
// them.
func lowerCase(w *dissect.Pattern) dissect.Pattern {
	const anyCase, small = 0xdf, 0x20
	q := *w
	if !slices.Contains(w.Mask, anyCase) {
		return q
	}
	q.Value, q.Mask = slices.Clone(w.Value), slices.Clone(w.Mask)
	for i, m := range q.Mask {
		if m == anyCase {
			q.Mask[i], q.Value[i] = 0xff, q.Value[i]|small
		}
	}
	return q
}

// This file lets clients pass before a cap that have just proved their address: those to whom
// the server sent data that it gives for a challenge only. The kernel sees what the server
// sends, so that it learns them by itself, from the moment at which the lines are loaded.

// withGated returns a catalog whose gated packets are the answers to what asks names, those of
// the catalog's protocol alone: of others that the server may speak as well, nobody asked.
func (c *catalog) withGated(all []*dissect.Proto, asks dissect.Asked) *catalog {
	gives := func(t *dissect.Type) bool { return isAnswer(t) && t.Asks&dissect.Public&^asks == 0 }
	fitted := *c
	fitted.gated = packetSet{patterns: dissect.Needed(patternsOf([]*dissect.Proto{c.proto}, gives, allForms))}
	fitted.gated.indexForms(all)
	return &fitted
}

// letAnsweredPass makes the caps of a plan let those clients pass, each up to the limit for
// one source, if the server gives some answers for a challenge only.
func (p *plan) letAnsweredPass(in *flood.Incident, all []*dissect.Proto) {
	if in.Gated == 0 || !p.hasProof() {
		return
	}
	if c := p.withGated(all, in.Gated); len(c.gated.patterns) > 0 {
		p.catalog, p.pass = c, p.eachRate(in)
	}
}

// letsAnsweredPass reports whether lines of a kind do.
func (p *plan) letsAnsweredPass(l lineKind) bool { return l == lineFirst && p.pass.packets > 0 }

// needsAnswered reports whether a plan has such lines.
func (p *plan) needsAnswered() bool { return p.letsAnsweredPass(lineFirst) && p.hasRule(lineFirst) }

// isLetPass reports whether a packet passes before the cap, and charges its bucket.
func (a *attempt) isLetPass(end *remoteEnd, now int64) bool {
	at := a.answered.lookup(end.hash)
	if at == nil || *at <= now-int64(answeredIdle) {
		return false
	}
	full := a.passBuckets.findOrReplace(end.source, now, sourceIdle)
	return full != nil && !a.plan.pass.charge(full, now)
}

// answeredWords returns whom the lines let pass before a cap, and why; empty if nobody.
func (p *plan) answeredWords() string {
	if !p.needsAnswered() {
		return ""
	}
	return fmt.Sprintf(" Whoever the server has answered in the last %d minutes passes, too, up to %d queries a second and %d at once:"+
		" it gives these answers for a challenge only, so whoever got one is at their address. The lines see for themselves what the server sends.",
		int(answeredIdle.Minutes()), p.pass.packets, p.pass.burst)
}
