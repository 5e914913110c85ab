package a2s

import (
	"bytes"

	"qsniff/dissect"
)

// tag is an element that a game writes into the keywords.
type tag struct {
	lead string // what it begins with
	form form   // what is after that
	def  *dissect.Def
	also *dissect.Def // second of two numbers
}

// dialect is how a game writes keywords.
type dialect struct {
	tags []tag
	seps string // bytes between elements
	// free is the lead of a text that may hold separators: it ends before the
	// next element that begins with a key.
	free string
}

// elements cuts keywords into elements and trims blanks. Empty ones are skipped.
type elements struct {
	b   []byte
	off int
	d   *dialect
}

// next returns the next element and its offset, or nil.
func (e *elements) next() (off int, element []byte) {
	for e.off < len(e.b) {
		off = e.off
		end := e.end(off)
		if e.d.free != "" && bytes.HasPrefix(e.b[off:end], []byte(e.d.free)) {
			for end < len(e.b) && !startsWithKey(e.b[end+1:e.end(end+1)]) {
				end = e.end(end + 1)
			}
		}
		e.off = end + 1
		element = bytes.TrimLeft(e.b[off:end], " ")
		off = end - len(element)
		if element = bytes.TrimRight(element, " "); len(element) > 0 {
			return off, element
		}
	}
	return 0, nil
}

// end returns where the element that starts at offset from ends.
func (e *elements) end(from int) int {
	if i := bytes.IndexAny(e.b[from:], e.d.seps); i >= 0 {
		return from + i
	}
	return len(e.b)
}

// startsWithKey reports whether an element begins with a key as Unreal Engine writes
// them: capitals, or a name that ends in _ and the letter of its type.
func startsWithKey(element []byte) bool {
	i := bytes.IndexByte(element, ':')
	if i < 1 {
		return false
	}
	typed := i > 2 && element[i-2] == '_'
	for _, c := range element[:i] {
		lower := c >= 'a' && c <= 'z'
		if !lower && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') && c != '_' || lower && !typed {
			return false
		}
	}
	return true
}

// finder finds which tag an element is. Every tag counts once: a repeat is a word
// like any other.
type finder struct {
	d    *dialect
	seen uint64 // bit i: d.tags[i] was found
}

// find returns the tag of element, its value and that as a number, or nil.
func (s *finder) find(element []byte) (t *tag, v []byte, num numbers) {
	for i := range s.d.tags {
		t = &s.d.tags[i]
		if s.seen&(1<<i) != 0 || !bytes.HasPrefix(element, []byte(t.lead)) {
			continue
		}
		v = element[len(t.lead):]
		if num, ok := t.form.parse(v); ok {
			s.seen |= 1 << i
			return t, v, num
		}
	}
	return nil, nil, numbers{}
}

// addTags adds what the keywords at at say in the dialect of game app: one field for
// each tag, and what is none as a list of words, so that nothing is lost.
func addTags(cur *dissect.Cursor, keywords []byte, at dissect.Extent, app uint32) {
	d := dialectOf(app)
	if d == nil || len(keywords) == 0 {
		return
	}
	p := cur.Parts(at)
	p.Push(&defTags, 0, dissect.Extent{Off: at.Off})
	s := finder{d: d}
	for e := (elements{b: keywords, d: d}); ; {
		off, element := e.next()
		if element == nil {
			break
		}
		if t, v, num := s.find(element); t != nil {
			place := dissect.Extent{Off: at.Off + uint32(off), Len: uint32(len(element))}
			t.addField(&p, place, v, num)
		}
	}
	addWords(&p, keywords, at, d)
	p.Pop()
}

// addWords adds the list of the elements that are no tags.
func addWords(p *dissect.Parts, keywords []byte, at dissect.Extent, d *dialect) {
	p.Push(&defWords, dissect.Undeclared, dissect.Extent{Off: at.Off + at.Len})
	s := finder{d: d}
	for e := (elements{b: keywords, d: d}); ; {
		off, element := e.next()
		if element == nil {
			break
		}
		if t, _, _ := s.find(element); t == nil {
			p.Text(&defWord, dissect.Extent{Off: at.Off + uint32(off), Len: uint32(len(element))}, element)
		}
	}
	p.Pop()
}

// addField adds the field of an element at at, with value v.
func (t *tag) addField(p *dissect.Parts, at dissect.Extent, v []byte, num numbers) {
	switch {
	case t.def.Kind == dissect.Text:
		p.Text(t.def, at, v)
	case t.form == letter: // a Char is its byte
		p.Num(t.def, dissect.Extent{Off: at.Off + at.Len - 1, Len: 1}, num.first)
	default:
		p.Num(t.def, at, num.first)
	}
	if t.also != nil {
		p.Num(t.also, at, num.second)
	}
}
