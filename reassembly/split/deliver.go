package split

import (
	"encoding/binary"
	"math"
	"slices"

	"qsniff/reassembly"
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

// layout is one arrangement of headers in a compressed set: head0 bytes in part 0 and
// headN in the others. prefix is 8 if size and CRC precede the compressed stream, else 0.
type layout struct {
	head0, prefix, headN int
	engine               wire.Engine
}

// layouts are those of compressed sets in the order in which they are tried. Servers on
// record use the first; documents and libraries have the others for newer engines.
// Under a wrong layout the size or the CRC does not match.
var layouts = [...]layout{
	{10, 8, 10, wire.SourceOld},
	{10, 8, 12, wire.Source}, // size and CRC in the place of part 0's size field
	{12, 8, 12, wire.Source},
	{12, 8, 10, wire.Source},
	{10, 0, 10, wire.SourceOld},
	{10, 0, 12, wire.Source},
	{12, 0, 12, wire.Source},
	{12, 0, 10, wire.Source},
}

// newOut empties the Set that is delivered next.
func (a *Assembler) newOut(k flowKey) *Set {
	o := &a.out
	*o = Set{
		Parts: o.Parts[:0], Pieces: o.Pieces[:0], Frames: o.Frames[:0], Expert: o.Expert[:0],
	}
	o.Src, o.Dst = k.ends()
	return o
}

func (a *Assembler) send() {
	if a.Deliver != nil {
		a.Deliver(&a.out)
	}
}

// deliver makes the Set of s and passes it to Deliver.
func (a *Assembler) deliver(s *partSet, why reason) {
	o := a.newOut(s.key)
	o.Engine, o.Size = s.engine, s.size
	o.ID = idOf(s.id, s.engine)
	o.Total, o.Received = int(s.total), s.n
	o.Compressed = s.isCompressed
	o.Ended = why == ended
	o.IsInferred = s.isInferred
	o.Disputed = a.isDisputed(s, why)
	o.First, o.Last = s.first, s.last
	clear(a.order[:])
	cut := false
	for p := s.head; p != 0; p = a.parts.next[p] {
		pt := &a.parts.items[p]
		a.order[pt.number] = p
		cut = cut || pt.isCut()
	}
	switch {
	case !s.isCompressed:
		n := s.engine.HeaderLen()
		a.joinPayloads(s, layout{head0: n, headN: n})
	case s.isWhole() && !cut:
		o.Outcome = a.decompressSet(s)
	default:
		a.joinPayloads(s, a.guessLayout(s))
		o.Run = 0
	}
	if !s.isWhole() {
		o.Outcome = Incomplete
	} else if cut {
		o.Outcome = Truncated
	}
	a.listFrames(s)
	a.raiseFindings(s, why)
	a.countOutcome(s, o.Outcome)
	a.send()
}

// isDisputed reports whether parts of the id of s, which is delivered for reason why, came with
// other bytes as well: in it, or in the set before or after it.
func (a *Assembler) isDisputed(s *partSet, why reason) bool {
	return s.isDisputed || s.conflicts > 0 || s.otherTotals > 0 || why == reused ||
		!s.isRepeat && a.findSet(s.key, s.id, memo, s.engine) != 0
}

func (a *Assembler) countOutcome(s *partSet, o Outcome) {
	n := &a.Counters
	n.Sets++
	if s.isCompressed {
		n.Compressed++
	}
	if s.isInferred {
		n.Inferred++
	}
	*[...]*uint64{&n.Complete, &n.Incomplete, &n.Truncated, &n.BadBzip2, &n.TooLarge, &n.Refused, &n.Unsupported, &n.Malformed}[o]++
}

// hasStreamAt reports whether a bzip2 stream starts where it would under layout l.
func (a *Assembler) hasStreamAt(s *partSet, l *layout) bool {
	if a.order[0] == 0 || s.total == 1 && l.head0 != l.headN {
		return false
	}
	b := a.startOf(&a.parts.items[a.order[0]])
	off := l.head0 + l.prefix
	return len(b) > off && wire.IsBzip2(b[off:])
}

// guessLayout returns the layout by which the bytes of a compressed set are shown when
// no layout gives the declared size and CRC: the first with a stream in its place.
func (a *Assembler) guessLayout(s *partSet) layout {
	for i := range layouts {
		if a.hasStreamAt(s, &layouts[i]) {
			return layouts[i]
		}
	}
	n := s.engine.HeaderLen()
	return layout{head0: n, headN: n, engine: s.engine}
}

// joinPayloads joins the payloads of the parts of s in a.joined, as layout l arranges
// them, and fills in what a.out has of that.
func (a *Assembler) joinPayloads(s *partSet, l layout) {
	o := &a.out
	a.joined, o.Parts, o.Pieces = a.joined[:0], o.Parts[:0], o.Pieces[:0]
	o.Run, o.Wire, o.Prefix, o.Declared, o.CRC = 0, 0, l.prefix, 0, 0
	gap := false
	for n := range int(s.total) {
		p := a.order[n]
		if p == 0 {
			gap = true
			continue
		}
		pt := &a.parts.items[p]
		skip := l.head0
		if n > 0 {
			skip = a.headLen(pt, l)
		}
		off := len(a.joined)
		a.appendPayload(pt, skip)
		added := len(a.joined) - off
		o.Parts = append(o.Parts, Part{pt.number, pt.isCut(), uint32(off), uint32(added), pt.frame})
		a.appendPieces(pt, skip, off, added)
		o.Wire += max(int(pt.wire)-skip, 0)
		if !gap {
			o.Run = len(a.joined)
		}
		gap = gap || pt.isCut()
	}
	o.Joined, o.Data = a.joined, a.joined
	if l.prefix > 0 && len(a.joined) >= l.prefix {
		o.Declared = binary.LittleEndian.Uint32(a.joined)
		o.CRC = binary.LittleEndian.Uint32(a.joined[4:])
	}
}

// headLen returns the length of what precedes the payload of a part n > 0: its header
// and, if they are there again as some libraries expect, copies of size and CRC.
func (a *Assembler) headLen(pt *keptPart, l layout) int {
	b := a.startOf(pt)
	if l.prefix > 0 && a.order[0] != 0 && len(b) >= l.headN+l.prefix && len(a.joined) >= l.prefix &&
		string(b[l.headN:l.headN+l.prefix]) == string(a.joined[:l.prefix]) {
		return l.headN + l.prefix
	}
	return l.headN
}

// appendPayload appends the bytes of a part after the first skip to joined.
func (a *Assembler) appendPayload(pt *keptPart, skip int) {
	left := int(pt.len)
	for block := pt.blocks; left > 0; block = a.blocks.next[block] {
		b := a.blocks.items[block][:min(left, blockSize)]
		left -= len(b)
		b = b[min(skip, len(b)):]
		skip = 0
		a.joined = append(a.joined, b...)
	}
}

// appendPieces adds to the Pieces of a.out which frames brought the n bytes at off in
// joined: those after the first skip bytes of the datagram.
func (a *Assembler) appendPieces(pt *keptPart, skip, off, n int) {
	o := &a.out
	if n == 0 {
		return
	}
	if pt.pieces == 0 {
		o.Pieces = append(o.Pieces, reassembly.Piece{Frame: pt.frame, Off: uint32(off), Len: uint32(n), At: uint32(skip)})
		return
	}
	at := uint64(skip) // in the datagram; 64 bits, because offsets of pieces are not checked
	end := at + uint64(n)
	for i := pt.pieces; i != 0; i = a.pieces.next[i] {
		pc := &a.pieces.items[i]
		lo := max(uint64(pc.Off), at)
		hi := min(uint64(pc.Off)+uint64(pc.Len), end)
		if hi > lo {
			o.Pieces = append(o.Pieces, reassembly.Piece{
				Frame: pc.Frame, Off: uint32(off + int(lo) - skip), Len: uint32(hi - lo), At: pc.At + uint32(lo-uint64(pc.Off)),
			})
			at = hi
		}
	}
}

// listFrames fills in Frames of a.out: all that brought parts of s, ascending.
func (a *Assembler) listFrames(s *partSet) {
	o := &a.out
	for p := s.head; p != 0; p = a.parts.next[p] {
		pt := &a.parts.items[p]
		o.Frames = append(o.Frames, pt.frame)
		for i := pt.pieces; i != 0; i = a.pieces.next[i] {
			o.Frames = append(o.Frames, a.pieces.items[i].Frame)
		}
	}
	slices.Sort(o.Frames)
	o.Frames = slices.Compact(o.Frames)
}
