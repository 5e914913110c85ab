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
	wiped   bitmap           // packets whose edits had no room: all that they carry is overwritten
	entries map[uint64]int32 // by frame: index in pool
	pool    []entry          // used again
	unused  []int32
	size    int // bytes of comments and edits in the entries

	isOverfull bool // some packet could not even be marked as overwritten: all are

	stretches    map[connDir][]stretch
	stretchCount int
	stretchSize  int // bytes of edits in them

	uncommented, unmarked uint64
}

// entry is what is written about a packet.
type entry struct {
	comments []byte   // one a line
	late     []byte   // those of messages that a later packet decided
	edits    []byte   // encoded
	wipesAll bool     // there was no room for the edits
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
	e := p.entryOf(frame, len(comments))
	switch {
	case e == nil:
		p.uncommented++
		return
	case isLate:
		e.late = append(e.late, comments...)
	default:
		e.comments = append(e.comments, comments...)
	}
	if whole != 0 && len(e.wholes) < maxWholes && !slices.Contains(e.wholes, whole) {
		e.wholes = append(e.wholes, whole)
	}
}

// edit adds an encoded edit of a packet, whether or not it is to be written.
func (p *Plan) edit(frame uint64, edit []byte) {
	if e := p.entryOf(frame, len(edit)); e != nil {
		e.edits = append(e.edits, edit...)
	} else if !p.wiped.set(frame) {
		p.isOverfull = true
	}
}

// entryOf returns the entry of a packet, with room for so many bytes, or nil if there is no
// room.
func (p *Plan) entryOf(frame uint64, size int) *entry {
	i, ok := p.entries[frame]
	switch {
	case p.size+size > planBytes, !ok && len(p.entries) >= planEntries:
		return nil
	case !ok && len(p.unused) > 0:
		i = p.unused[len(p.unused)-1]
		p.unused = p.unused[:len(p.unused)-1]
		p.entries[frame] = i
	case !ok:
		i = int32(len(p.pool))
		p.pool = append(p.pool, entry{})
		p.entries[frame] = i
	}
	p.size += size
	return &p.pool[i]
}

// take returns what is written about a packet, and forgets it; ok: it is written. The entry
// is valid until the next call of add.
func (p *Plan) take(frame uint64) (e entry, ok bool) {
	ok, e.wipesAll = p.marked.clear(frame), p.wiped.clear(frame) || p.isOverfull
	if len(p.entries) == 0 {
		return e, ok
	}
	i, has := p.entries[frame]
	if !has {
		return e, ok
	}
	wipesAll := e.wipesAll
	e = p.pool[i]
	e.wipesAll = wipesAll
	delete(p.entries, frame)
	p.unused = append(p.unused, i)
	p.size -= len(e.comments) + len(e.late) + len(e.edits)
	p.pool[i] = entry{comments: e.comments[:0], late: e.late[:0], edits: e.edits[:0], wholes: e.wholes[:0]}
	return e, ok
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
	plan *Plan
	notes
}

// Collector returns what fills the plan for a Writer with these Options.
func (p *Plan) Collector(o *Options) *Collector { return &Collector{p, o.notes()} }

// AppendNote implements pipeline.PacketSink. Most messages came in the packet that decided
// them: the second run meets these again.
func (c *Collector) AppendNote(dst []byte, e *render.Event, isChosen bool) ([]byte, bool) {
	if len(e.Frames) == 0 && !e.Origin.IsLate {
		return dst, false
	}
	return c.append(dst, e, isChosen)
}

// AddMessage implements pipeline.PacketSink.
func (c *Collector) AddMessage(m *pipeline.Pick) {
	c.plan.addMessage(m, func(frame uint64) bool { return frame != m.Frame || m.IsLate })
	_, edits := splitNote(m.Note)
	c.plan.addStretch(m, edits)
}

// AddPackets implements pipeline.PacketSink.
func (c *Collector) AddPackets(*capture.Batch) error { return nil }

// addMessage adds what a message means for those of its packets that has returns true of.
func (p *Plan) addMessage(m *pipeline.Pick, has func(frame uint64) bool) {
	comments, edits := splitNote(m.Note)
	for _, frame := range m.Frames {
		switch {
		case !m.IsChosen || !has(frame):
		case frame == m.Frame:
			p.add(frame, comments, m.IsLate, 0)
		default:
			p.add(frame, nil, m.IsLate, m.Frame)
		}
	}
	for len(edits) > 0 {
		x, own, rest := cutEdit(edits)
		if edits = rest; has(x.frame) {
			p.edit(x.frame, own)
		}
	}
}
