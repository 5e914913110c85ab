package advice

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"time"

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
	lineClass                     // drop or cap a class, from sources that the host sent nothing of it to
	lineEach                      // limit the connections, or a message of another game, of each source
	lineForm                      // cap a message of another game
	numLineKinds
)

// isPerSource reports whether every source has a bucket of its own.
func (l lineKind) isPerSource() bool {
	return l == lineQueries || l == linePairs || l == lineOthers || l == lineLogins || l == lineEach
}

// isOfNames reports whether the lines name sources, or victims.
func (l lineKind) isOfNames() bool { return l == lineSources || l == lineVictims }

// needsPeers reports whether the lines look up whom the server sent something lately.
func (l lineKind) needsPeers() bool { return l == lineUnissued || l == lineStrangers || l == lineClass }

// catalog holds which packets each kind of line matches at a server of one protocol, made of
// what the protocols declare.
type catalog struct {
	proto    *dissect.Proto // nil: unknown, it may be any
	operator dissect.Operator
	sets     [numLineKinds]packetSet
	gated    packetSet // answers that the server gives for a challenge only; empty: none is known
	replies  packetSet // challenges and answers, which anyone gets who asks, or in whose name others ask
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
	c.replies.patterns = dissect.Needed(unasked)
	c.replies.indexForms(all)
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

// This file makes lines that fit what came: from the shape of an incident and from the forms
// that the protocols declare.

// fitShare is the least share of an incident's packets for which lines are made. Chosen: one
// in twenty; below it is what clients send meanwhile.
const fitShare = 0.05

// newTokenSet returns the packets that bring a token, of all queries that may.
func newTokenSet(protos []*dissect.Proto) packetSet {
	var x packetSet
	for _, p := range protos {
		for _, t := range p.Types {
			if !isQuery(t) || !t.BringsToken() {
				continue
			}
			for _, w := range t.Wire {
				for _, q := range t.Token.Plain {
					if keyed, isPlaceholder := keyedForm(t, w, q); !w.IsMistake {
						x.patterns = append(x.patterns, keyed)
						if isPlaceholder {
							x.exempt = append(x.exempt, q)
						}
					}
				}
			}
		}
	}
	x.patterns, x.exempt = dissect.Needed(x.patterns), dissect.Needed(x.exempt)
	return x
}

// keyedForm returns what messages of a type with a token look like, in the form w of the
// type: as long as the form q without one, plus the token unless q has a placeholder for it.
func keyedForm(t *dissect.Type, w, q dissect.Pattern) (keyed dissect.Pattern, isPlaceholder bool) {
	if len(q.Value)-len(w.Value) == t.Token.Len {
		return w.Sized(q.MinLen, q.MaxLen), true
	}
	most := q.MaxLen
	if most > 0 {
		most += t.Token.Len
	}
	return w.Sized(q.MinLen+t.Token.Len, most), false
}

// newStrangerSet returns the datagrams that are none of the engines' queries and joins, nor
// queries of own.
func newStrangerSet(all, own []*dissect.Proto) packetSet {
	exempt := append(marksOf(all), patternsOf(own, isRequest, allForms)...)
	return packetSet{patterns: []dissect.Pattern{{}}, exempt: dissect.Needed(exempt), hasOther: true}
}

// oddLengths returns the lengths that no client gives to messages of a type: those between
// the declared ones. It returns nothing where the declarations leave the length open.
func oddLengths(t *dissect.Type) (odd []lengths) {
	if t == nil || !isQuery(t) || !t.BringsToken() {
		return nil
	}
	var known []lengths
	for _, w := range t.Wire {
		for _, q := range t.Token.Plain {
			if q.MaxLen == 0 {
				return nil
			}
			keyed, _ := keyedForm(t, w, q)
			known = append(known, lengths{q.MinLen, q.MaxLen}, lengths{keyed.MinLen, keyed.MaxLen})
		}
	}
	slices.SortFunc(known, func(a, b lengths) int { return cmp.Compare(a.min, b.min) })
	next := 0
	for _, k := range known {
		if k.min > next {
			odd = append(odd, lengths{next, k.min - 1})
		}
		next = max(next, k.max+1)
	}
	return append(odd, lengths{next, 0})
}

// mix is what share of an incident's packets each kind of lines is for.
type mix struct {
	isKnown           bool // the incident has a shape
	odd, keyed, plain float64
	strange           float64         // datagrams of no protocol
	plainTypes        []*dissect.Type // of the packets without a token
	oddForms          []dissect.Pattern
}

// mixOf returns the mix of an incident's packets.
func (c *catalog) mixOf(in *flood.Incident) (m mix) {
	total := in.OtherForms
	for i := range in.Shape {
		total += in.Shape[i].Packets
	}
	if total == 0 {
		return m
	}
	m.isKnown = true
	for i := range in.Shape {
		f := &in.Shape[i]
		share := float64(f.Packets) / float64(total)
		s := track.Sighting{What: track.IsRequest, Type: f.Type, Bytes: f.Max}
		if f.HasKey {
			s.Flags = track.HasKey
		}
		switch odd := c.oddForms(f.Type, lengths{int(f.Min), int(f.Max)}); {
		case f.IsOther:
			m.strange += share
		case len(odd) > 0:
			m.odd += share
			if share >= fitShare {
				m.oddForms = append(m.oddForms, odd...)
			}
		case c.sets[lineUnissued].hasSighting(&s):
			m.keyed += share
		case c.sets[lineFirst].hasSighting(&s):
			m.plain += share
			if share >= fitShare && !slices.Contains(m.plainTypes, f.Type) {
				m.plainTypes = append(m.plainTypes, f.Type)
			}
		}
	}
	return m
}

// oddForms returns the patterns of a type's messages at odd lengths that overlap b.
func (c *catalog) oddForms(t *dissect.Type, b lengths) (list []dissect.Pattern) {
	for _, odd := range oddLengths(t) {
		if b.max < odd.min || odd.max > 0 && b.min > odd.max {
			continue
		}
		for _, w := range t.Wire {
			if !w.IsMistake && (odd.max == 0 || odd.max >= w.MinLen) {
				list = append(list, w.Sized(max(odd.min, w.MinLen), odd.max))
			}
		}
	}
	return list
}

// withSet returns a catalog with other patterns for one kind of lines.
func (c *catalog) withSet(all []*dissect.Proto, l lineKind, patterns []dissect.Pattern) *catalog {
	fitted := *c
	fitted.sets[l] = packetSet{patterns: dissect.Needed(patterns)}
	fitted.sets[l].indexForms(all)
	return &fitted
}

// plainPatterns returns the forms without a token of the types that came.
func (m *mix) plainPatterns() (list []dissect.Pattern) {
	for _, t := range m.plainTypes {
		for _, w := range plainForms(t) {
			if !w.IsMistake {
				list = append(list, w)
			}
		}
	}
	return list
}

// typeNames returns the names of the types that a narrow cap is on.
func (m *mix) typeNames() string {
	s := ""
	for i, t := range m.plainTypes {
		switch {
		case i > 0 && i == len(m.plainTypes)-1:
			s += " and "
		case i > 0:
			s += ", "
		}
		s += t.Name
	}
	return s
}

// This file turns patterns into tests that both tools can write: nft's raw payload
// expressions and iptables' u32 compare words at fixed offsets with numbers.

// match is a test of a payload: of its length, and of words at offsets. A packet that passes
// two tests of a line is charged twice; that can happen where patterns overlap, but not where
// one covers another, because those are merged before.
type match struct {
	min, max int // bytes of payload; a max of 0 is no bound
	words    []word
}

// word is a test of up to 8 bytes of a payload: the bits of the mask have one of the values.
type word struct {
	off, size int // in bytes
	mask      uint64
	values    []uint64 // in order
}

// span is the values from lo to hi, both included.
type span struct{ lo, hi uint64 }

// spans returns the values of a word as spans: three or more in a row are one.
func (w *word) spans() (list []span) {
	for i := 0; i < len(w.values); {
		j := i + 1
		for j < len(w.values) && w.values[j] == w.values[j-1]+1 {
			j++
		}
		if j-i < 3 {
			j = i + 1
		}
		list = append(list, span{w.values[i], w.values[j-1]})
		i = j
	}
	return list
}

// isWhole reports whether the mask has all bits of the word.
func (w *word) isWhole() bool { return w.mask == ^uint64(0)>>(64-8*w.size) }

// lengthTest returns the bounds of the length that have to be tested, 0 for none. A packet
// that ends before the last word fails anyway.
func (m *match) lengthTest() (lo, hi int) {
	end := 0
	if n := len(m.words); n > 0 {
		end = m.words[n-1].off + m.words[n-1].size
	}
	lo, hi = m.min, m.max
	if lo <= end {
		lo = 0
	}
	if hi > 0 {
		lo = m.min
	}
	return lo, hi
}

// matchesOf makes the tests for patterns, with words of at most so many bytes. Those
// that differ in the values of one word become one.
func matchesOf(patterns []dissect.Pattern, maxLen int) (list []match) {
	for i := range patterns {
		p := &patterns[i]
		list = append(list, match{min: max(p.MinLen, p.Offset+len(p.Value)), max: p.MaxLen,
			words: wordsOf(p, sharedLen(p, patterns), maxLen)})
	}
	for merged := true; merged; {
		merged = false
		for i := range list {
			rest := list[i+1:]
			if j := slices.IndexFunc(rest, list[i].merge); j >= 0 {
				list = slices.Delete(list, i+1+j, i+2+j)
				merged = true
				break
			}
		}
	}
	return list
}

// sharedLen returns the length of the shortest beginning that a pattern shares with another
// one, at least a byte; its whole length if it shares none. Words are cut there, so that the
// tests of what follows can be merged.
func sharedLen(p *dissect.Pattern, all []dissect.Pattern) int {
	shared := len(p.Value)
	for i := range all {
		q, n := &all[i], 0
		for n < min(len(p.Value), len(q.Value)) && q.Offset == p.Offset {
			a, am := p.BitsAt(p.Offset + n)
			if b, bm := q.BitsAt(q.Offset + n); a != b || am != bm {
				break
			}
			n++
		}
		if n > 0 {
			shared = min(shared, n)
		}
	}
	return shared
}

// wordsOf cuts a pattern into words: the first bytes from their start, the rest from the
// end of the pattern.
func wordsOf(p *dissect.Pattern, shared, maxLen int) (words []word) {
	var sizes []int
	for n := shared; n > 0; n -= maxLen {
		sizes = append(sizes, min(n, maxLen))
	}
	at := len(sizes)
	for n := len(p.Value) - shared; n > 0; n -= maxLen {
		sizes = slices.Insert(sizes, at, min(n, maxLen))
	}
	off := p.Offset
	for _, size := range sizes {
		w := word{off: off, size: size, values: []uint64{0}}
		for range size {
			value, mask := p.BitsAt(off)
			w.values[0], w.mask = w.values[0]<<8|uint64(value), w.mask<<8|uint64(mask)
			off++
		}
		if w.mask != 0 {
			words = append(words, w)
		}
	}
	return words
}

// merge makes m match what n matches as well, and reports whether it could: where the two
// differ in the values of one word only, or in ranges of lengths that adjoin.
func (m *match) merge(n match) bool {
	if len(m.words) != len(n.words) {
		return false
	}
	differ := -1
	for i := range m.words {
		a, b := &m.words[i], &n.words[i]
		switch {
		case a.off != b.off || a.size != b.size || a.mask != b.mask:
			return false
		case slices.Equal(a.values, b.values):
		case differ >= 0:
			return false
		default:
			differ = i
		}
	}
	switch {
	case differ < 0 && m.max > 0 && m.max+1 == n.min:
		m.max = n.max
	case differ < 0 && n.max > 0 && n.max+1 == m.min:
		m.min = n.min
	case differ < 0 || m.min != n.min || m.max != n.max:
		return false
	default:
		w := &m.words[differ]
		w.values = slices.Concat(w.values, n.words[differ].values)
		slices.Sort(w.values)
		w.values = slices.Compact(w.values)
	}
	return true
}

const (
	// limit: answeredIdle is for how long such a source passes after its last answer. Chosen: a player
	// looks through a list of servers and asks again within minutes, as monitors do.
	answeredIdle = 10 * time.Minute
	// limit: sourceIdle is after how long without queries the set drops a source: longer than any bucket
	// takes to fill again, so that dropping it makes room and changes nothing else.
	sourceIdle = time.Minute
)
