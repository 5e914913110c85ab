package split

import (
	"math"

	"qsniff/reassembly/wire"
)

// reason is why a set is delivered.
type reason uint8

const (
	whole   reason = iota // nothing is missing
	expired               // the wait is over
	ended                 // the capture is over
	evicted               // others needed the memory
	reused                // its id came again for another message
)

// finishSet delivers set i and frees it; of a whole set it keeps a memo. An open set
// takes the held parts of its id first, if they fit at all. An incomplete set that only
// repeats a delivered one is counted and not delivered.
func (a *Assembler) finishSet(i uint32, why reason) {
	s := &a.sets.items[i]
	if s.state == held {
		a.deliverHeld(i, why)
		return
	}
	if h := a.findSet(s.key, s.id, held, wire.None); h != 0 && !s.isWhole() && why != reused {
		a.moveFitting(h, i, doubtfulFit)
		a.closeIfEmpty(h, i)
	}
	if !s.isWhole() {
		if s.isRepeat {
			a.Counters.Repeats++
			a.Counters.Sets++
		} else {
			a.deliver(s, why)
		}
		a.closeSet(i)
		return
	}
	a.deliver(s, whole)
	if m := a.findSet(s.key, s.id, memo, s.engine); m != 0 {
		a.closeSet(m)
	}
	a.retire(i)
}

// adoptHeld moves the held parts that fit set i, of which the form was just proved, to it.
func (a *Assembler) adoptHeld(i uint32) {
	s := &a.sets.items[i]
	if h := a.findSet(s.key, s.id, held, wire.None); h != 0 {
		a.moveFitting(h, i, otherTotal)
		a.closeIfEmpty(h, i)
	}
}

// closeIfEmpty closes held set h if its last part was moved to set i, which then has its
// duplicates too.
func (a *Assembler) closeIfEmpty(h, i uint32) {
	hs, s := &a.sets.items[h], &a.sets.items[i]
	if hs.n > 0 {
		return
	}
	if hs.duplicates > 0 {
		s.duplicates += hs.duplicates
		s.duplicateFrames = hs.duplicateFrames
	}
	a.closeSet(h)
}

// moveFitting moves the parts whose fit to set i is least or better from held set h to
// it, and reports whether there were any. Fitting parts whose number i has already are
// counted as duplicates or conflicts and freed, unless their fit is doubtful.
func (a *Assembler) moveFitting(h, i uint32, least fit) (moved bool) {
	hs, s := &a.sets.items[h], &a.sets.items[i]
	p := hs.head
	hs.head, hs.tail, hs.n, hs.blocks = 0, 0, 0, 0
	first := s.first
	for p != 0 {
		pt, next := &a.parts.items[p], a.parts.next[p]
		ft, head := fitOf(s, a.startOf(pt), int(pt.wire))
		switch {
		case ft < least || ft == numberTooHigh || ft == doubtfulFit && s.has(head.Number):
			a.linkPart(hs, p, 0)
		case s.has(head.Number):
			has := &a.parts.items[a.findPart(s, head.Number)]
			a.countRepeated(s, a.areSame(has, pt), has.frame, pt.frame)
			a.parts.next[p] = 0
			a.releaseParts(p)
		case (s.blocks+blocksFor(int(pt.len)))*blockSize > a.lim.SetBytes:
			a.Counters.OverSet++
			s.refused++
			a.parts.next[p] = 0
			a.releaseParts(p)
		default:
			moved = true
			s.isInferred = s.isInferred || ft == doubtfulFit
			a.linkHeld(s, p, head)
		}
		p = next
	}
	if s.first != first { // it has a part that came before its first one
		a.dequeue(&a.waiting, i)
		a.enqueue(&a.waiting, i, firstTime)
	}
	return moved
}

// linkHeld appends part p with header h, which was held, to set s, which lacks it.
func (a *Assembler) linkHeld(s *partSet, p uint32, h wire.SplitHeader) {
	pt := &a.parts.items[p]
	if h.Total != s.total {
		a.Counters.TotalsDiffer++
		s.otherTotals++
	}
	if s.isRepeat {
		s.isRepeat = a.matchesMemo(s, h.Number, a.digestBlocks(pt.blocks, int(pt.len)))
	}
	a.linkPart(s, p, h.Number)
}

// deliverHeld ends the wait of held set h, whose form no part proved. The open sets of
// the same id take what fits them; the rest is delivered in the forms that fit best, in
// as many sets as that takes.
func (a *Assembler) deliverHeld(h uint32, why reason) {
	for a.moveToWaiting(h) {
	}
	s := &a.sets.items[h]
	rest := s.head
	for rest != 0 {
		e := a.chooseForm(s, rest)
		rest = a.gatherCovered(s, rest, e)
		s.isDisputed = s.isDisputed || rest != 0
		if s.isWhole() {
			a.deliver(s, whole)
		} else {
			a.deliver(s, why)
		}
		a.releaseParts(s.head)
		*s = partSet{key: s.key, id: s.id, hint: s.hint, prev: s.prev, after: s.after, isDisputed: s.isDisputed}
	}
	a.closeSet(h)
}

// moveToWaiting moves the parts of held set h that fit an open set of the same id to the
// first such set, and reports whether there was one.
func (a *Assembler) moveToWaiting(h uint32) bool {
	hs := &a.sets.items[h]
	for i := a.firstSetOf(hs.key); i != 0; i = a.sets.next[i] {
		s := &a.sets.items[i]
		if s.id == hs.id && s.state == open && a.moveFitting(h, i, doubtfulFit) {
			if s.isWhole() {
				a.finishSet(i, whole)
			}
			return true
		}
	}
	return false
}

// chooseForm returns the form for the parts from rest on, which prove none: that of
// earlier messages of the flow if it parses any of them, else the form under which most
// of them make one set. Of two such forms the one that more parts look like one by one
// is chosen.
func (a *Assembler) chooseForm(s *partSet, rest uint32) wire.Engine {
	if s.hint != wire.None && a.countCovered(s, rest, s.hint) > 0 {
		return s.hint
	}
	var votes [len(forms) + 1]int
	for p := rest; p != 0; p = a.parts.next[p] {
		pt := &a.parts.items[p]
		b := a.startOf(pt)
		votes[wire.GuessSplitForm(b, int(pt.wire))] += 2
		if wire.HasPlausibleSize(b, int(pt.wire)) {
			votes[wire.Source]++
		} else {
			votes[wire.SourceOld]++
		}
	}
	if s.id&wire.Compressed != 0 { // GoldSource counts ids up and never gets there
		votes[wire.GoldSource] = -1
	}
	best, most := wire.None, 0
	for _, e := range forms {
		n := a.countCovered(s, rest, e)
		if n > most || n == most && n > 0 && votes[e] > votes[best] {
			best, most = e, n
		}
	}
	return best
}

// countCovered returns how many of the parts from rest on make one set under form e: the
// first that parses, and those that agree with it.
func (a *Assembler) countCovered(s *partSet, rest uint32, e wire.Engine) int {
	var probe partSet
	for p := rest; p != 0; p = a.parts.next[p] {
		b := a.startOf(&a.parts.items[p])
		if h, ok := wire.ParseSplit(b, e); ok && (probe.n == 0 || agrees(&probe, h)) && !probe.has(h.Number) {
			if probe.n == 0 {
				probe.setForm(h, b)
			}
			probe.got[h.Number>>6] |= 1 << (h.Number & 63)
			probe.n++
		}
	}
	return probe.n
}

// agrees reports whether a header of the same form and id belongs to set s. The
// parts of a compressed set may differ in the size field: one layout has it in parts n > 0 only.
func agrees(s *partSet, h wire.SplitHeader) bool {
	return h.Total == s.total && (s.isCompressed || h.Size == s.size)
}

// gatherCovered gives s the parts that countCovered counts, and returns the chain of the
// others.
func (a *Assembler) gatherCovered(s *partSet, rest uint32, e wire.Engine) (others uint32) {
	s.isInferred = true
	s.head, s.tail, s.n, s.blocks, s.got = 0, 0, 0, 0, [4]uint64{}
	s.first, s.last = math.MaxInt64, math.MinInt64
	link := &others
	var next uint32
	for p := rest; p != 0; p = next {
		next = a.parts.next[p]
		a.parts.next[p] = 0
		pt := &a.parts.items[p]
		b := a.startOf(pt)
		h, ok := wire.ParseSplit(b, e)
		if ok && s.n == 0 {
			s.setForm(h, b)
		}
		if ok && agrees(s, h) && !s.has(h.Number) {
			a.linkPart(s, p, h.Number)
			continue
		}
		*link = p
		link = &a.parts.next[p]
	}
	return others
}
