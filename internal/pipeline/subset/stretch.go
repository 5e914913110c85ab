package subset

import (
	"net/netip"

	"qsniff/capture"
	"qsniff/capture/packet"
	"qsniff/internal/pipeline"
)

// A message over TCP in very many short segments has a list of only some of them: where
// they are joined, one stands for several. The others are found by their numbers.

// stretches are the numbers of messages over TCP that came in several segments, in the order
// in which these were decided.
type stretches struct {
	newest      map[connDir]uint64 // number of the newest stretch of a direction
	ring        []stretch          // stretch n is at n modulo the length, a power of two
	first, next uint64             // stretches first to next-1 are there; none is number 0
}

// connDir is a direction of a connection.
type connDir struct{ src, dst netip.AddrPort }

// stretch is the numbers of a message in several segments.
type stretch struct {
	of       connDir
	before   uint64 // number of the stretch before it in that direction, which may have been dropped
	seq, n   uint32
	frame    uint64 // that completed the message
	isChosen bool
	edits    []byte // encoded, of any of its packets: they are by number
}

func newStretches() stretches {
	return stretches{newest: make(map[connDir]uint64), first: 1, next: 1}
}

func (s *stretches) at(n uint64) *stretch { return &s.ring[n&uint64(len(s.ring)-1)] }

// addStretch adds the numbers of a message over TCP that came in several packets to s. texts
// keeps its edits.
func (r *room) addStretch(m *pipeline.Pick, s *stretches, texts *memos) {
	if !m.IsTCP || len(m.Frames) < 2 || m.IsJoined {
		return
	}
	x := stretch{of: connDir{m.Src, m.Dst}, seq: m.Seq, n: uint32(m.Len), frame: m.Frame, isChosen: m.IsChosen}
	_, edits := splitNote(m.Note)
	if edits = editsAbout(edits, m.Frame); len(edits) > 0 {
		n := texts.add(m.Frame, stretchEdits, edits)
		if n == 0 {
			r.unmarked++
			return
		}
		x.edits = texts.at(n).text
	}
	if s.next-s.first >= planStretches {
		r.unmarked++
		return
	}
	s.push(&x)
}

// push adds x as the newest.
func (s *stretches) push(x *stretch) {
	if s.next-s.first == uint64(len(s.ring)) {
		old := *s
		s.ring = make([]stretch, max(2*len(old.ring), minRing))
		for n := old.first; n < old.next; n++ {
			*s.at(n) = *old.at(n)
		}
	}
	x.before = s.newest[x.of]
	*s.at(s.next) = *x
	s.newest[x.of] = s.next
	s.next++
}

// drop drops stretches from the first one on as long as they end in packets up to frame.
func (s *stretches) drop(frame uint64) {
	for ; s.first < s.next && s.at(s.first).frame <= frame; s.first++ {
		if of := s.at(s.first).of; s.newest[of] == s.first {
			delete(s.newest, of)
		}
	}
}

// appendTo appends the stretches that bytes of a packet are in, the newest first.
func (s *stretches) appendTo(dst []*stretch, frame uint64, x *packet.Packet) []*stretch {
	seq := firstSeq(x)
	for n := s.newest[connDir{x.Src, x.Dst}]; n >= s.first; n = s.at(n).before {
		t := s.at(n)
		if frame <= t.frame && int32(seq-t.seq-t.n) < 0 && int32(seq+uint32(x.Wire)-t.seq) > 0 {
			dst = append(dst, t)
		}
	}
	return dst
}

// addStretches adds to the entry at work what the stretches that packet p has bytes of mean
// for it.
func (w *Writer) addStretches(p *capture.Packet) {
	if w.known.long.isEmpty() && (w.plan == nil || w.plan.long.isEmpty()) {
		return
	}
	x := &w.editor.empty
	x.Decode(p.Link, p.Data, int(p.Wire))
	if x.Stop != packet.TCP || x.Wire == 0 {
		return
	}
	found := w.known.long.appendTo(w.found[:0], p.No, x)
	if w.plan != nil {
		found = w.plan.long.appendTo(found, p.No, x)
	}
	for i := len(found) - 1; i >= 0; i-- {
		s := found[i]
		w.entry.edits = append(w.entry.edits, s.edits)
		if s.isChosen && !w.entry.isMarked {
			w.entry.isMarked = true
			w.entry.wholes = append(w.entry.wholes, s.frame)
		}
	}
	w.found = found
}

func (s *stretches) isEmpty() bool { return s.first == s.next }
