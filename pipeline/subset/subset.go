// Package subset writes the packets of the messages that a run of the pipeline chooses:
// every segment, fragment and part of them, in the order in which they were captured, with
// what qsniff reads in them as packet comments. It chooses no messages and decodes nothing:
// package pipeline does both.
//
// A message is known at the packet that completes it, or later, and its other packets came
// before. A file is therefore read twice:
//
//  1. Plan.Collector goes through the run that is for this alone, and keeps in a Plan what
//     concerns packets that had passed when their message was decided.
//  2. Writer goes through the second run. After each batch it writes the packets which that
//     plan, or a message decided in the batch, names.
//
// A stream cannot be read twice. There the Writer holds packets back in a bounded line, and
// counts those that left it before their message was decided.
package subset

import (
	"bytes"
	"errors"
	"time"

	"qsniff/capture"
	"qsniff/capture/file"
	"qsniff/netlayer/rewrite"
	"qsniff/pipeline"
	"qsniff/render"
	"qsniff/render/tally"
)

// Options are how packets are written.
type Options struct {
	Out  *file.Writer
	Plan *Plan // of the first run; nil: there was none, packets are held back
	// Comment renders a message as the comment of the packet that completed it, one comment
	// a line; nil: there are no comments. It is used by several goroutines at a time.
	Comment render.Renderer
	// Edits says what is overwritten of messages; nil: nothing. Out has Writer.Edit as its
	// WriteOptions.Mask then.
	Edits Editor
	// Change, unless nil, changes each packet that is written, besides Edits: addresses. With
	// it, comments of the capture are left out, and segments of TCP without data are
	// written, for the beginning and end of connections.
	Change func(*rewrite.Packet)
	Shift  time.Duration // is added to times
	// WithoutDelay is set where somebody waits for packets as they are written.
	WithoutDelay bool
}

// Writer is a pipeline.PacketSink that writes the packets of chosen messages.
type Writer struct {
	opt   Options
	plan  *Plan
	line  line
	twice bool // the plan is of a first run
	stats tally.Subset
	notes
	editor editor
	entry  *entry // of the packet at work
	comm   [][]byte
	whole  []byte
}

// NewWriter returns a Writer. The caller closes it, and then o.Out.
func NewWriter(o Options) *Writer {
	w := &Writer{opt: o, plan: o.Plan, twice: o.Plan != nil, notes: o.notes()}
	if w.plan == nil {
		w.plan = NewPlan()
	}
	w.editor.change = o.Change
	return w
}

// Stats returns the counts so far.
func (w *Writer) Stats() tally.Subset {
	s := w.stats
	s.Uncommented, s.Unmarked = w.plan.uncommented, w.plan.unmarked
	s.Overwritten, s.Unpacked = w.editor.wiped, w.lost.Load()
	return s
}

// Edit overwrites in b, a copy of the bytes of p, which is being written, what Options.Edits
// says.
func (w *Writer) Edit(p *capture.Packet, b []byte) {
	w.editor.apply(p, b, w.entry.edits, w.entry.wipesAll)
}

// AppendNote implements pipeline.PacketSink: the note has comments and edits.
func (w *Writer) AppendNote(dst []byte, e *render.Event, isChosen bool) ([]byte, bool) {
	return w.append(dst, e, isChosen)
}

// AddMessage implements pipeline.PacketSink.
func (w *Writer) AddMessage(m *pipeline.Pick) {
	if m.IsChosen && !m.IsJoined {
		w.stats.Messages++
	}
	w.plan.addMessage(m, func(frame uint64) bool {
		if w.twice { // the plan has the others
			return frame == m.Frame && !m.IsLate
		}
		return frame > w.line.released
	})
	if w.twice {
		return
	}
	_, edits := splitNote(m.Note)
	if w.plan.addStretch(m, edits); !m.IsChosen {
		return
	}
	for _, frame := range m.Frames {
		if frame <= w.line.released {
			w.stats.Late++
		}
	}
}

// AddPackets implements pipeline.PacketSink: it writes those packets of a batch whose
// messages are known, or holds them back.
func (w *Writer) AddPackets(b *capture.Batch) error {
	if !w.twice {
		w.line.add(b)
		return w.release(false)
	}
	return w.writePackets(b)
}

// release writes packets that were held back long enough, or all.
func (w *Writer) release(all bool) error {
	for b := w.line.next(all); b != nil; b = w.line.next(all) {
		if err := w.writePackets(b); err != nil {
			return err
		}
		w.line.free(b)
	}
	return nil
}

// Close writes what is held back. It does not close Options.Out.
func (w *Writer) Close() error { return w.release(true) }

// writePackets writes those packets of a batch that the plan names.
func (w *Writer) writePackets(b *capture.Batch) error {
	next := 0
	for i := range b.Packets {
		p := &b.Packets[i]
		first := next
		for next < len(b.Comments) && b.Comments[next].At <= i {
			next++
		}
		e, ok := w.plan.take(p.No)
		ok = w.addStretches(p, &e, ok)
		if !ok && (w.opt.Change == nil || !w.editor.isEmptySegment(p)) {
			continue
		}
		w.comm = w.comm[:0]
		for k := first; k < next; k++ {
			if text := b.Comments[k].Text; !isOwn(text) && w.opt.Change == nil {
				w.comm = append(w.comm, text)
			}
		}
		w.entry = &e
		w.appendComments(&e)
		shifted := *p
		shifted.Nanos += int64(w.opt.Shift)
		err := w.opt.Out.WriteCommented(&shifted, w.comm)
		if errors.Is(err, file.ErrRefused) {
			w.stats.Refused++
			continue
		}
		if err != nil {
			return err
		}
		w.stats.Packets++
	}
	if w.opt.WithoutDelay {
		return w.opt.Out.Flush()
	}
	return nil
}

// mark is what the comments begin with that this package writes. Those that it wrote before,
// into a file from which another one is made, are left out: they name the packets of the
// file before.
const mark = "qsniff: "

func isOwn(comment []byte) bool { return bytes.HasPrefix(comment, []byte(mark)) }

// appendComments appends the comments that an entry of the plan has.
func (w *Writer) appendComments(e *entry) {
	for _, lines := range [...][]byte{e.comments, e.late} {
		for line := range bytes.Lines(lines) {
			w.comm = append(w.comm, bytes.TrimSuffix(line, []byte{'\n'}))
		}
	}
	if w.opt.Comment != nil && len(e.wholes) > 0 {
		w.whole = appendWholes(w.whole[:0], e.wholes)
		w.comm = append(w.comm, w.whole)
	}
}
