package split

import (
	"encoding/binary"
	"slices"

	"qsniff/reassembly"
	"qsniff/reassembly/wire"
)

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
