package split

import "qsniff/reassembly/wire"

// candidate is a part of which the set is not found yet.
type candidate struct {
	*Datagram
	key   flowKey
	id    uint32
	b     []byte
	wire  int
	isCut bool
}

// fit is how well a part n > 0 matches a set whose form is known, the worst first.
type fit uint8

const (
	noFit         fit = iota
	doubtfulFit       // only if nothing better comes: another form fits as well
	numberTooHigh     // of this set and no other, but its number does not exist
	otherTotal        // of this set and no other, but it disagrees about the total
	goodFit
)

// route adds a part to its set: a part 0 that proves its form opens or joins a set of
// that form; another part joins the set of its id that it fits best; the rest is held.
func (a *Assembler) route(c *candidate) {
	if e := wire.ProveSplitForm(c.b); e != wire.None {
		if h, ok := wire.ParseSplit(c.b, e); ok && !a.isAwaited(c, e) {
			a.addFirst(c, h)
			return
		}
	}
	best, to := a.findBestFit(c)
	switch best {
	case goodFit, otherTotal:
		h, _ := wire.ParseSplit(c.b, a.sets.items[to].engine)
		if a.sets.items[to].state == memo {
			to = a.openRepeat(to)
		}
		a.insertPart(to, c, h)
		if a.sets.items[to].isWhole() {
			a.finishSet(to, whole)
		}
	case numberTooHigh:
		a.Counters.BadNumber++
		a.sets.items[to].otherTotals++
	default:
		a.holdPart(c)
	}
}

// isAwaited reports whether a part that looks like a proven part 0 of Source is rather
// one that an open GoldSource set of the same id lacks. A GoldSource part whose payload
// begins with 00 FF FF FF FF looks like that, and that its id, number and total all match
// an open set is the less likely coincidence.
func (a *Assembler) isAwaited(c *candidate, proved wire.Engine) bool {
	if proved == wire.GoldSource {
		return false
	}
	i := a.findSet(c.key, c.id, open, wire.GoldSource)
	if i == 0 {
		return false
	}
	s := &a.sets.items[i]
	h, ok := wire.ParseSplit(c.b, wire.GoldSource)
	return ok && h.Number > 0 && h.Total == s.total && !s.has(h.Number)
}

// findBestFit returns the set with known form that a part n > 0 fits best, and how well.
// Among sets that it fits equally well it prefers an open one that lacks the part, then
// an open one. Of a memo only a good fit counts.
func (a *Assembler) findBestFit(c *candidate) (best fit, to uint32) {
	rank := -1
	for i := a.firstSetOf(c.key); i != 0; i = a.sets.next[i] {
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
		} else if ft != goodFit {
			continue
		}
		if ft != noFit && r > rank {
			rank, best, to = r, ft, i
		}
	}
	return best, to
}

// fitOf returns how well part b, of which sent bytes were sent, matches set s, whose form
// is known, and its header in that form. A part 0 never fits: those that prove their form
// go to addFirst, and the others did not open this set.
func fitOf(s *partSet, b []byte, sent int) (fit, wire.SplitHeader) {
	h, ok := wire.ParseSplit(b, s.engine)
	if !ok || h.Number == 0 {
		return noFit, h
	}
	doubtful := fitsOtherFamily(b, s.engine) && h.Total != s.total
	switch {
	case s.isCompressed: // decompressing shows which of the two Source forms it is
	case s.engine == wire.Source && h.Size != s.size,
		s.engine == wire.SourceOld && wire.HasPlausibleSize(b, sent):
		doubtful = true
	}
	switch {
	case h.Number >= s.total && doubtful:
		return noFit, h
	case h.Number >= s.total:
		return numberTooHigh, h
	case doubtful:
		return doubtfulFit, h
	case h.Total != s.total:
		return otherTotal, h
	}
	return goodFit, h
}

// fitsOtherFamily reports whether b makes sense as a part n > 0 of GoldSource if e is
// a Source form, and the other way round.
func fitsOtherFamily(b []byte, e wire.Engine) bool {
	other := wire.GoldSource
	if e == wire.GoldSource {
		other = wire.SourceOld
	}
	h, ok := wire.ParseSplit(b, other)
	return ok && h.Number > 0
}

// addFirst adds a part 0 that proves its form to the open set with its id and form. If
// there is none, or that set is another message, it opens a set. Held parts that fit it
// are moved to it.
func (a *Assembler) addFirst(c *candidate, h wire.SplitHeader) {
	i := a.findSet(c.key, c.id, open, h.Engine)
	takesOver := i != 0 && a.startsNewMessage(&a.sets.items[i], c, h)
	if takesOver {
		a.Counters.IDReused++
		a.finishSet(i, reused)
		i = 0
	}
	if i == 0 {
		i = a.newSet(c.key, c.id, open, a.now)
		s := &a.sets.items[i]
		s.setForm(h, c.b)
		s.isRepeat = a.findSet(c.key, c.id, memo, h.Engine) != 0
		s.isDisputed = takesOver
	}
	a.insertPart(i, c, h)
	a.adoptHeld(i)
	if a.sets.items[i].isWhole() {
		a.finishSet(i, whole)
	}
}

// startsNewMessage reports whether the part 0 in c, with header h, belongs to another
// message than the parts of set s.
func (a *Assembler) startsNewMessage(s *partSet, c *candidate, h wire.SplitHeader) bool {
	if !s.has(0) {
		return h.Total != s.total
	}
	return !a.isSame(&a.parts.items[a.findPart(s, 0)], c.b, c.wire)
}

// setForm gives set s the form, total and size of header h, which is that of b. If the
// id has the bit for compression but b is a part 0 that starts like a plain message, the
// bit is wrong.
func (s *partSet) setForm(h wire.SplitHeader, b []byte) {
	s.state = open
	s.engine, s.total, s.size = h.Engine, h.Total, h.Size
	if h.Engine != wire.GoldSource && h.ID&wire.Compressed != 0 {
		s.isMislabelled = wire.IsPlain(b, h.Engine)
		s.isCompressed = !s.isMislabelled
	}
}

// openRepeat opens a set for late parts of the message of which memo i is left.
func (a *Assembler) openRepeat(i uint32) uint32 {
	like := a.sets.items[i]
	j := a.newSet(like.key, like.id, open, a.now)
	s := &a.sets.items[j]
	s.engine, s.total, s.size = like.engine, like.total, like.size
	s.isCompressed, s.isMislabelled = like.isCompressed, like.isMislabelled
	s.isRepeat = true
	return j
}

// insertPart adds a part with header h to set i, whose form is known, or counts it if
// the set has one with its number.
func (a *Assembler) insertPart(i uint32, c *candidate, h wire.SplitHeader) {
	s := &a.sets.items[i]
	if h.Total != s.total {
		a.Counters.TotalsDiffer++
		s.otherTotals++
	}
	if s.has(h.Number) {
		pt := &a.parts.items[a.findPart(s, h.Number)]
		a.countRepeated(s, a.isSame(pt, c.b, c.wire), pt.frame, c.Frame)
		return
	}
	p := a.keepPart(i, c)
	if p == 0 {
		return
	}
	a.linkPart(s, p, h.Number)
	if s.isRepeat {
		s.isRepeat = a.matchesMemo(s, h.Number, a.digestOf(c.b))
	}
}

// countRepeated counts a part, in frame second, whose number set s has from frame first:
// as a duplicate if equal, else as a conflict.
func (a *Assembler) countRepeated(s *partSet, equal bool, first, second uint64) {
	if equal {
		a.Counters.Duplicates++
		s.duplicates++
		s.duplicateFrames = [2]uint64{first, second}
		return
	}
	a.Counters.Conflicts++
	s.conflicts++
	s.conflictFrames = [2]uint64{first, second}
}

// matchesMemo reports whether the memo of the message of s has a part with this number
// and digest. If the memo is gone, it returns true: nothing shows a difference.
func (a *Assembler) matchesMemo(s *partSet, number uint8, sum uint64) bool {
	i := a.findSet(s.key, s.id, memo, s.engine)
	if i == 0 {
		return true
	}
	m := &a.sets.items[i]
	p := a.findPart(m, number)
	return p != 0 && a.parts.items[p].digest == sum
}

// holdPart keeps a part whose form is not known yet in the held set of its id.
func (a *Assembler) holdPart(c *candidate) {
	i := a.findSet(c.key, c.id, held, wire.None)
	if i == 0 {
		i = a.newSet(c.key, c.id, held, a.now)
	}
	s := &a.sets.items[i]
	if c.Hint != wire.None {
		s.hint = c.Hint
	}
	for p := s.head; p != 0; p = a.parts.next[p] {
		if pt := &a.parts.items[p]; a.isSame(pt, c.b, c.wire) {
			a.countRepeated(s, true, pt.frame, c.Frame)
			return
		}
	}
	if p := a.keepPart(i, c); p != 0 {
		a.Counters.Held++
		a.linkPart(s, p, 0)
	}
}
