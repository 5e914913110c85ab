package pipeline

import (
	"qsniff/internal/render"
	"qsniff/internal/track"
)

// hold keeps what a stream showed, in its order, from the first message on of which it is
// unknown whether the Filter chooses it: the outcome of its exchange decides. It has copies
// of spans, in segments that are used again.
type hold struct {
	outcomes *streamOutcomes
	held     []*segment // oldest first
	next     int        // span of the oldest that leaves next
	unused   []*segment
	bytes    int
}

// heldSpanBytes is what a held span takes besides its text.
const heldSpanBytes = 256

// isEmpty reports whether nothing is held.
func (h *hold) isEmpty() bool { return len(h.held) == 0 }

// newest returns the segment to add to.
func (h *hold) newest() *segment {
	if n := len(h.held); n > 0 && !h.held[n-1].isFull() && len(h.held[n-1].spans) < segmentSights {
		return h.held[n-1]
	}
	s := new(segment)
	if n := len(h.unused); n > 0 {
		s, h.unused = h.unused[n-1], h.unused[:n-1]
	}
	h.held = append(h.held, s)
	return s
}

// add copies a span of seg.
func (h *hold) add(seg *segment, x *span) {
	to := h.newest()
	before := to.size()
	to.copySpan(seg, x)
	h.bytes += to.size() - before
}

// addRecord adds x, which is no message, with its findings and the text that appendText
// appends.
func (h *hold) addRecord(x span, found []track.Found, appendText func(dst []byte) ([]byte, render.Hole)) {
	to := h.newest()
	before := to.size()
	x.start = len(to.buf)
	var hole render.Hole
	to.buf, hole = appendText(to.buf)
	x.end = len(to.buf)
	x.noteHole(&hole)
	x.found[0] = int32(len(to.found))
	to.found = append(to.found, found...)
	x.found[1] = int32(len(to.found))
	to.spans = append(to.spans, x)
	h.bytes += to.size() - before
}

// front returns the span that leaves next, with its segment. Something is held.
func (h *hold) front() (*segment, *span) {
	seg := h.held[0]
	return seg, &seg.spans[h.next]
}

// isDue reports whether the front is to leave; isMatch is what was decided of it.
func (h *hold) isDue(x *span) (isMatch, due bool) {
	v := h.outcomes
	isMatch, due = v.decide(x.truth, x.fact.ID)
	if !due && (h.bytes > holdBytes || v.now-x.fact.Age > int64(holdTime)) {
		return v.conclude(x.truth, x.fact.ID), true
	}
	return isMatch, due
}

// drop removes the front.
func (h *hold) drop() {
	h.next++
	s := h.held[0]
	if h.next < len(s.spans) {
		return
	}
	h.bytes -= s.size()
	h.held = h.held[:copy(h.held, h.held[1:])]
	h.next = 0
	s.reset()
	h.unused = append(h.unused, s)
}

// size returns how many bytes the segment takes, roughly.
func (s *segment) size() int { return len(s.buf) + len(s.notes) + heldSpanBytes*len(s.spans) }

// copySpan appends a copy of a span of from, with what belongs to it.
func (s *segment) copySpan(from *segment, x *span) {
	c := *x
	c.start = len(s.buf)
	s.buf = append(s.buf, from.buf[x.start:x.end]...)
	c.end = len(s.buf)
	c.found[0] = int32(len(s.found))
	for _, f := range from.found[x.found[0]:x.found[1]] {
		s.addFound(f)
	}
	c.found[1] = int32(len(s.found))
	if x.post >= 0 {
		c.post = int32(len(s.posts))
		s.posts = append(s.posts, from.posts[x.post])
	}
	if x.pick > 0 {
		p := from.picks[x.pick-1]
		frames, notes := from.frames[p.frames[0]:p.frames[1]], from.notes[p.notes[0]:p.notes[1]]
		p.frames[0], p.notes[0] = len(s.frames), len(s.notes)
		s.frames, s.notes = append(s.frames, frames...), append(s.notes, notes...)
		p.frames[1], p.notes[1] = len(s.frames), len(s.notes)
		s.picks = append(s.picks, p)
		c.pick = int32(len(s.picks))
	}
	s.spans = append(s.spans, c)
}
