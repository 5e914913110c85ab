package split

import "qsniff/wire"

// candidate is a datagram that looks for its set.
type candidate struct {
	*Fragment
	key  flowKey
	id   uint32
	b    []byte
	wire int
	cut  bool
}

// fit is how well a part n > 0 goes with a set whose form is known.
type fit uint8

const (
	stranger fit = iota
	late         // only if nothing better comes: another form fits as well
	beyond       // of this set and no other, but its number does not exist
	odd          // of this set and no other, but it disagrees about the total
	good
)

// route finds the set of a part: by what the bytes prove, then by what is known
// about the same id between the same ends, and else the part is held.
func (a *Assembler) route(c *candidate) {
	if e := wire.SplitProof(c.b); e != wire.None {
		if h, ok := wire.ParseSplit(c.b, e); ok && !a.wanted(c, e) {
			a.addFirst(c, h)
			return
		}
	}
	best, to := a.bestFit(c)
	switch best {
	case good, odd:
		h, _ := wire.ParseSplit(c.b, a.sets.items[to].engine)
		if a.sets.items[to].state == memo {
			to = a.copyOf(to)
		}
		a.insert(to, c, h)
		if a.sets.items[to].done() {
			a.finish(to, whole)
		}
	case beyond:
		a.Counters.BadNumber++
		a.sets.items[to].odd++
	default:
		a.hold(c)
	}
}

// wanted reports whether a part that proves itself a part 0 of Source is what a
// GoldSource set of the same id waits for: payload that begins with 00 FF FF FF
// FF looks like that, and the numbers say it is less of a coincidence.
func (a *Assembler) wanted(c *candidate, proved wire.Engine) bool {
	if proved == wire.GoldSource {
		return false
	}
	i := a.find(c.key, c.id, open, wire.GoldSource)
	if i == 0 {
		return false
	}
	s := &a.sets.items[i]
	h, ok := wire.ParseSplit(c.b, wire.GoldSource)
	return ok && h.Number > 0 && h.Total == s.total && !s.has(h.Number)
}

// bestFit finds the set with known form that a part n > 0 belongs to. Among
// equals a set that lacks the part comes first, then one that waits.
func (a *Assembler) bestFit(c *candidate) (best fit, to uint32) {
	rank := -1
	for i := a.setsOf(c.key); i != 0; i = a.sets.next[i] {
		s := &a.sets.items[i]
		if s.id != c.id || s.state == held {
			continue
		}
		ft, h := fitOf(s, c.b, c.wire)
		r := int(ft) * 4
		if s.state == open {
			r++
			if !s.has(h.Number) {
				r += 2
			}
		} else if ft != good {
			continue
		}
		if ft != stranger && r > rank {
			rank, best, to = r, ft, i
		}
	}
	return best, to
}

// fitOf judges the part b, of sent bytes, against set s, whose form is known. No part 0 fits:
// one that does not prove itself is not what began this set.
func fitOf(s *set, b []byte, sent int) (fit, wire.SplitHeader) {
	h, ok := wire.ParseSplit(b, s.engine)
	if !ok || h.Number == 0 {
		return stranger, h
	}
	doubtful := otherFamily(b, s.engine) && h.Total != s.total
	switch {
	case s.packed: // the two Source forms are told apart by decompressing
	case s.engine == wire.Source && h.Size != s.size,
		s.engine == wire.SourceOld && wire.LooksSized(b, sent):
		doubtful = true
	}
	switch {
	case h.Number >= s.total && doubtful:
		return stranger, h
	case h.Number >= s.total:
		return beyond, h
	case doubtful:
		return late, h
	case h.Total != s.total:
		return odd, h
	}
	return good, h
}

// otherFamily reports whether b makes sense as a part n > 0 of GoldSource if e is
// a Source form, and the other way round.
func otherFamily(b []byte, e wire.Engine) bool {
	other := wire.GoldSource
	if e == wire.GoldSource {
		other = wire.SourceOld
	}
	h, ok := wire.ParseSplit(b, other)
	return ok && h.Number > 0
}

// addFirst puts a part 0 that proves its form into its set, which it opens or
// decides.
func (a *Assembler) addFirst(c *candidate, h wire.SplitHeader) {
	i := a.find(c.key, c.id, open, h.Engine)
	if i != 0 && a.reused(&a.sets.items[i], c, h) {
		a.Counters.IDReused++
		a.finish(i, reused)
		i = 0
	}
	if i == 0 {
		i = a.newSet(c.key, c.id, open, a.now)
		s := &a.sets.items[i]
		s.decide(h, c.b)
		s.again = a.find(c.key, c.id, memo, h.Engine) != 0
	}
	a.insert(i, c, h)
	a.adopt(i)
	if a.sets.items[i].done() {
		a.finish(i, whole)
	}
}

// reused reports whether part 0 begins another message than set s is.
func (a *Assembler) reused(s *set, c *candidate, h wire.SplitHeader) bool {
	if !s.has(0) {
		return h.Total != s.total
	}
	return !a.same(&a.parts.items[a.partNumbered(s, 0)], c.b, c.wire)
}

// decide gives a set the form and the numbers of header h, which b has. The bit
// for compression is a claim: a part 0 that starts like a plain message is one.
func (s *set) decide(h wire.SplitHeader, b []byte) {
	s.state = open
	s.engine, s.total, s.size = h.Engine, h.Total, h.Size
	if h.Engine != wire.GoldSource && h.ID&wire.Compressed != 0 {
		s.plain = wire.IsPlain(b, h.Engine)
		s.packed = !s.plain
	}
}

// copyOf opens a set for parts of a message that was delivered already.
func (a *Assembler) copyOf(i uint32) uint32 {
	like := a.sets.items[i]
	j := a.newSet(like.key, like.id, open, a.now)
	s := &a.sets.items[j]
	s.engine, s.total, s.size = like.engine, like.total, like.size
	s.packed, s.plain = like.packed, like.plain
	s.again = true
	return j
}

// insert puts a part into a set of known form.
func (a *Assembler) insert(i uint32, c *candidate, h wire.SplitHeader) {
	s := &a.sets.items[i]
	if h.Total != s.total {
		a.Counters.TotalsDiffer++
		s.odd++
	}
	if s.has(h.Number) {
		pt := &a.parts.items[a.partNumbered(s, h.Number)]
		a.came(s, a.same(pt, c.b, c.wire), pt.frame, c.Frame)
		return
	}
	p := a.keep(i, c)
	if p == 0 {
		return
	}
	a.link(s, p, h.Number)
	if s.again {
		s.again = a.remembered(s, h.Number, a.sum(c.b))
	}
}

// came counts a part that a set has already.
func (a *Assembler) came(s *set, equal bool, first, second uint64) {
	if equal {
		a.Counters.Duplicates++
		s.dups++
		s.dupFrames = [2]uint64{first, second}
		return
	}
	a.Counters.Conflicts++
	s.clashes++
	s.clashFrames = [2]uint64{first, second}
}

// remembered reports whether a delivered set had the same part. When it is
// forgotten the answer is yes: nothing speaks against it.
func (a *Assembler) remembered(s *set, number uint8, sum uint64) bool {
	i := a.find(s.key, s.id, memo, s.engine)
	if i == 0 {
		return true
	}
	m := &a.sets.items[i]
	p := a.partNumbered(m, number)
	return p != 0 && a.parts.items[p].sum == sum
}

// hold keeps a part whose form is not known yet.
func (a *Assembler) hold(c *candidate) {
	i := a.find(c.key, c.id, held, wire.None)
	if i == 0 {
		i = a.newSet(c.key, c.id, held, a.now)
	}
	s := &a.sets.items[i]
	if c.Hint != wire.None {
		s.hint = c.Hint
	}
	for p := s.head; p != 0; p = a.parts.next[p] {
		if pt := &a.parts.items[p]; a.same(pt, c.b, c.wire) {
			a.came(s, true, pt.frame, c.Frame)
			return
		}
	}
	if p := a.keep(i, c); p != 0 {
		a.Counters.Held++
		a.link(s, p, 0)
	}
}
