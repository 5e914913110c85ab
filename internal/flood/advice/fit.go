package advice

import (
	"cmp"
	"slices"

	"qsniff/dissect"
	"qsniff/internal/flood"
	"qsniff/internal/track"
)

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
