package subset

import (
	"encoding/binary"
	"slices"

	"qsniff/capture"
	"qsniff/internal/pipeline"
	"qsniff/internal/render"
)

// Plan is what a first run over a file found out about packets for which it is known too late
// in the second one: what a message means for those of its packets that have left the line when
// the message is decided. Few messages take that long.
type Plan struct {
	marked bitmap
	wiped  bitmap // packets whose edits had no room: all that they carry is overwritten
	memos  memos
	long   stretches
	room
	isOverfull bool // some packet could not even be marked as overwritten: all are
	near       int  // bytes that the line of the second run holds
	isSorted   bool
	next       uint64 // memo of the next packet that has any
}

// room counts what there was none for.
type room struct {
	uncommented, unmarked uint64
	number                [8]byte // for the text of a memo
}

// NewPlan returns an empty plan.
func NewPlan() *Plan { return &Plan{near: nearBytes, memos: newMemos(planBytes), long: newStretches()} }

func (p *Plan) mark(frame uint64) bool { return p.marked.set(frame) }

func (p *Plan) note(frame uint64, kind memoKind, text []byte) bool {
	return p.memos.add(frame, kind, text) != 0
}

func (p *Plan) wipe(frame uint64) { p.isOverfull = !p.wiped.set(frame) || p.isOverfull }

// take adds to an entry what the plan has about a packet, which is never asked for again. It is
// called with all packets in order, after the first run.
func (p *Plan) take(frame uint64, e *entry) {
	if !p.isSorted {
		p.isSorted, p.next = true, p.memos.sort()
	}
	e.isMarked = p.marked.clear(frame) || e.isMarked
	e.wipesAll = p.wiped.clear(frame) || p.isOverfull || e.wipesAll
	for ; p.next < p.memos.next && p.memos.at(p.next).frame <= frame; p.next++ {
		e.add(p.memos.at(p.next))
	}
}

// entry is what is written about a packet.
type entry struct {
	isMarked  bool     // it is written
	wipesAll  bool     // there was no room for the edits
	own, late [][]byte // comments
	wholes    []uint64 // the packets that completed the messages which this one is a part of
	edits     [][]byte
}

func (e *entry) reset() {
	*e = entry{own: e.own[:0], late: e.late[:0], wholes: e.wholes[:0], edits: e.edits[:0]}
}

// add adds a memo, which stays valid until the packet is written.
func (e *entry) add(m *memo) {
	switch m.kind {
	case ownComments:
		e.own = append(e.own, m.text)
	case lateComments:
		e.late = append(e.late, m.text)
	case partOf:
		e.addWhole(binary.LittleEndian.Uint64(m.text))
	case editsOf:
		e.edits = append(e.edits, m.text)
	}
}

func (e *entry) addWhole(frame uint64) {
	if len(e.wholes) < maxWholes && !slices.Contains(e.wholes, frame) {
		e.wholes = append(e.wholes, frame)
	}
}

// keeper keeps what is known of packets until they are written.
type keeper interface {
	mark(frame uint64) bool                             // it is to be written; false: there is no room
	note(frame uint64, kind memoKind, text []byte) bool // false: there is no room
	wipe(frame uint64)                                  // all that it carries is to be overwritten
}

// addMessage has k keep what a message means for those of its packets from first to last.
func (r *room) addMessage(k keeper, m *pipeline.Pick, first, last uint64) {
	comments, edits := splitNote(m.Note)
	kind := ownComments
	if m.IsLate {
		kind = lateComments
	}
	for _, frame := range m.Frames {
		if !m.IsChosen || frame < first || frame > last {
			continue
		}
		ok := k.mark(frame)
		switch {
		case !ok:
			r.unmarked++
			continue
		case frame != m.Frame:
			ok = k.note(frame, partOf, binary.LittleEndian.AppendUint64(r.number[:0], m.Frame))
		case len(comments) > 0:
			ok = k.note(frame, kind, comments)
		}
		if !ok {
			r.uncommented++
		}
	}
	for len(edits) > 0 {
		x, one, rest := cutEdit(edits)
		if edits = rest; x.frame >= first && x.frame <= last && !k.note(x.frame, editsOf, one) {
			k.wipe(x.frame)
		}
	}
}

// Collector is the pipeline.PacketSink of the first run over a file.
type Collector struct {
	plan *Plan
	line line
	notes
}

// Collector returns what fills the plan for a Writer with these Options.
func (p *Plan) Collector(o *Options) *Collector {
	c := &Collector{plan: p, line: newLine(p.near), notes: o.notes()}
	c.line.counts = true
	return c
}

// AppendNote implements pipeline.PacketSink. Most messages came in the packet that decided
// them: it is held when the second run meets these.
func (c *Collector) AppendNote(dst []byte, e *render.Event, isChosen bool) ([]byte, bool) {
	if len(e.Frames) == 0 && !e.Origin.IsLate {
		return dst, false
	}
	return c.append(dst, e, isChosen)
}

// AddMessage implements pipeline.PacketSink.
func (c *Collector) AddMessage(m *pipeline.Pick) {
	if c.line.released < m.Frames[0] {
		return // all are held then
	}
	c.plan.addMessage(c.plan, m, 0, c.line.released)
	c.plan.addStretch(m, &c.plan.long, &c.plan.memos)
}

// AddPackets implements pipeline.PacketSink.
func (c *Collector) AddPackets(b *capture.Batch) error {
	c.line.add(b)
	return c.line.release(false, nil)
}
