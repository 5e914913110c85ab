package subset

import (
	"slices"
	"strconv"

	"qsniff/capture"
	"qsniff/pipeline"
	"qsniff/render"
)

// Plan is what is known of packets that are yet to be written: that they belong to a
// chosen message, and what is written about them.
type Plan struct {
	marked  bitmap
	entries map[uint64]int32 // by frame: index in pool
	pool    []entry          // used again
	unused  []int32
	size    int // bytes of comments in the entries

	uncommented, unmarked uint64
}

// entry is what is written about a packet.
type entry struct {
	comments []byte   // one a line
	late     []byte   // those of messages that a later packet decided
	wholes   []uint64 // the packets that completed the messages which this one is a part of
}

// NewPlan returns an empty plan.
func NewPlan() *Plan { return &Plan{entries: make(map[uint64]int32)} }

// add marks a packet, with the comments of the message that it completed or with the packet
// that completed its message. isLate: a later packet decided the message.
func (p *Plan) add(frame uint64, comments []byte, isLate bool, whole uint64) {
	if !p.marked.set(frame) {
		p.unmarked++
		return
	}
	if len(comments) == 0 && whole == 0 {
		return
	}
	i, ok := p.entries[frame]
	switch {
	case p.size+len(comments) > planBytes, !ok && len(p.entries) >= planEntries:
		p.uncommented++
		return
	case !ok && len(p.unused) > 0:
		i = p.unused[len(p.unused)-1]
		p.unused = p.unused[:len(p.unused)-1]
		p.entries[frame] = i
	case !ok:
		i = int32(len(p.pool))
		p.pool = append(p.pool, entry{})
		p.entries[frame] = i
	}
	e := &p.pool[i]
	if isLate {
		e.late = append(e.late, comments...)
	} else {
		e.comments = append(e.comments, comments...)
	}
	p.size += len(comments)
	if whole != 0 && len(e.wholes) < maxWholes && !slices.Contains(e.wholes, whole) {
		e.wholes = append(e.wholes, whole)
	}
}

// take returns what is written about a packet, and forgets it; ok: it is written. The entry
// is valid until the next call of add.
func (p *Plan) take(frame uint64) (e entry, ok bool) {
	if !p.marked.clear(frame) {
		return entry{}, false
	}
	i, has := p.entries[frame]
	if !has {
		return entry{}, true
	}
	e = p.pool[i]
	delete(p.entries, frame)
	p.unused = append(p.unused, i)
	p.size -= len(e.comments) + len(e.late)
	p.pool[i] = entry{comments: e.comments[:0], late: e.late[:0], wholes: e.wholes[:0]}
	return e, true
}

// appendWholes appends the comment of a packet that is a part of messages.
func appendWholes(dst []byte, wholes []uint64) []byte {
	dst = append(dst, mark+"part of frame "...)
	for i, n := range wholes {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		dst = strconv.AppendUint(dst, n, 10)
	}
	return dst
}

// Collector is the pipeline.PacketSink of the first run over a file.
type Collector struct {
	plan    *Plan
	comment render.Renderer
}

// Collector returns what fills the plan. comment is that of Options.
func (p *Plan) Collector(comment render.Renderer) *Collector { return &Collector{p, comment} }

// AppendNote implements pipeline.PacketSink. Most messages came in the packet that decided
// them: the second run meets these again.
func (c *Collector) AppendNote(dst []byte, e *render.Event, isChosen bool) ([]byte, bool) {
	if len(e.Frames) == 0 && !e.Origin.IsLate {
		return dst, false
	}
	if !e.Origin.IsLate {
		return dst, isChosen
	}
	return appendComment(dst, c.comment, e, isChosen)
}

// AddMessage implements pipeline.PacketSink.
func (c *Collector) AddMessage(m *pipeline.Pick) {
	for _, frame := range m.Frames {
		switch {
		case frame != m.Frame:
			c.plan.add(frame, nil, m.IsLate, m.Frame)
		case m.IsLate:
			c.plan.add(frame, m.Note, true, 0)
		}
	}
}

// AddPackets implements pipeline.PacketSink.
func (c *Collector) AddPackets(*capture.Batch) error { return nil }
