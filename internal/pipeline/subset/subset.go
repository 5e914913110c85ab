// Package subset writes the packets of the messages that a run of the pipeline chooses:
// every segment, fragment and part of them, in the order in which they were captured, with
// what qsniff reads in them as packet comments. It chooses no messages and decodes nothing:
// package pipeline does both.
//
// A message is known at the packet that completes it, or later, and its other packets came
// before. So the Writer holds packets back in a bounded line, and what is known of them, their
// memos, until they leave it. Of a stream, packets that leave before their message is decided
// are counted. A file is read twice instead:
//
//  1. Plan.Collector goes through the run that is for this alone, and keeps in a Plan what
//     messages mean for packets that will have left a short line when these are decided.
//  2. Writer goes through the second run, with such a line. A packet is written when it leaves
//     it, if the memos of this run or the plan have that it is to be.
package subset

import (
	"bytes"
	"errors"
	"math"
	"strconv"
	"time"

	"qsniff/capture"
	"qsniff/capture/file"
	"qsniff/capture/packet/rewrite"
	"qsniff/internal/pipeline"
	"qsniff/internal/render"
	"qsniff/internal/render/tally"
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
	plan  *Plan // of the first run; nil: there was none
	known recent
	line  line
	stats tally.Subset
	notes
	editor editor
	packet capture.Packet // at work
	entry  entry          // of that
	found  []*stretch
	comm   [][]byte
	whole  []byte
}

// NewWriter returns a Writer. The caller closes it, and then o.Out.
func NewWriter(o Options) *Writer {
	w := &Writer{opt: o, plan: o.Plan, known: newRecent(planBytes), notes: o.notes()}
	if w.plan != nil {
		w.line = newLine(w.plan.near)
	} else {
		w.line = newLine(lineBytes)
		w.line.wait = int64(lineTime)
	}
	w.editor.change = o.Change
	return w
}

// Stats returns the counts so far.
func (w *Writer) Stats() tally.Subset {
	s := w.stats
	s.Uncommented, s.Unmarked = w.known.uncommented, w.known.unmarked
	if w.plan != nil {
		s.Uncommented += w.plan.uncommented
		s.Unmarked += w.plan.unmarked
	}
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
	w.known.addMessage(&w.known, m, w.line.released+1, math.MaxUint64)
	if w.plan == nil || m.Frames[0] > w.line.released { // else the plan has it
		w.known.addStretch(m, &w.known.long, &w.known.memos)
	}
	if w.plan != nil || !m.IsChosen {
		return
	}
	for _, frame := range m.Frames {
		if frame <= w.line.released {
			w.stats.Late++
		}
	}
}

// AddPackets implements pipeline.PacketSink: it holds the packets of a batch back, and writes
// those of the packets that leave the line whose messages are known.
func (w *Writer) AddPackets(b *capture.Batch) error {
	w.line.add(b)
	if err := w.line.release(false, w.writePacket); err != nil || !w.opt.WithoutDelay {
		return err
	}
	return w.opt.Out.Flush()
}

// Close writes what is held back. It does not close Options.Out.
func (w *Writer) Close() error { return w.line.release(true, w.writePacket) }

// writePacket writes a packet that leaves the line, with the comments of the capture about it,
// if it is to be written.
func (w *Writer) writePacket(p *capture.Packet, about []capture.Comment) error {
	e := &w.entry
	e.reset()
	w.known.take(p.No, e)
	if w.plan != nil {
		w.plan.take(p.No, e)
	}
	w.addStretches(p)
	defer w.known.forget(p.No)
	if !e.isMarked && (w.opt.Change == nil || !w.editor.isEmptySegment(p)) {
		return nil
	}
	w.comm = w.comm[:0]
	for i := range about {
		if text := about[i].Text; !isOwn(text) && w.opt.Change == nil {
			w.comm = append(w.comm, text)
		}
	}
	w.appendComments(e)
	w.packet = *p
	w.packet.Nanos += int64(w.opt.Shift)
	err := w.opt.Out.WriteCommented(&w.packet, w.comm)
	switch {
	case err == nil:
		w.stats.Packets++
	case errors.Is(err, file.ErrRefused):
		w.stats.Refused++
		return nil
	}
	return err
}

// mark is what the comments begin with that this package writes. Those that it wrote before,
// into a file from which another one is made, are left out: they name the packets of the
// file before.
const mark = "qsniff: "

var newline = []byte{'\n'}

func isOwn(comment []byte) bool { return bytes.HasPrefix(comment, []byte(mark)) }

// appendComments appends the comments that an entry of the plan has.
func (w *Writer) appendComments(e *entry) {
	for _, texts := range [...][][]byte{e.own, e.late} {
		for _, lines := range texts {
			for len(lines) > 0 {
				var line []byte
				line, lines, _ = bytes.Cut(lines, newline)
				w.comm = append(w.comm, line)
			}
		}
	}
	if w.opt.Comment != nil && len(e.wholes) > 0 {
		w.whole = appendWholes(w.whole[:0], e.wholes)
		w.comm = append(w.comm, w.whole)
	}
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

const (
	// limit: lineTime is how long packets of a stream are held back, in packet time: twice as long as the
	// joiners wait for the missing parts of a message (split.DefaultWait).
	lineTime = 10 * time.Second
)

// Frames is a set of frames, a bit for each packet of a capture. As the renderer of dialogues it prints
// nothing, and gets the frames that completed their messages.
type Frames []uint64

// Add adds a frame.
func (s *Frames) Add(frame uint64) {
	for uint64(len(*s)) <= frame/64 {
		*s = append(*s, 0)
	}
	(*s)[frame/64] |= 1 << (frame % 64)
}

// Has reports whether a frame is in the set.
func (s Frames) Has(frame uint64) bool {
	return frame/64 < uint64(len(s)) && s[frame/64]>>(frame%64)&1 != 0
}

// Append implements render.Renderer: a turn without text would be dropped.
func (*Frames) Append(dst []byte, _ *render.Event) []byte { return append(dst, '.') }

// AppendRecord implements render.Renderer.
func (*Frames) AppendRecord(dst []byte, _ *render.Record) []byte { return dst }

// AppendDialogue implements render.DialogueRenderer.
func (s *Frames) AppendDialogue(dst []byte, d *render.Dialogue) []byte {
	for i := range d.Turns {
		s.Add(d.Turns[i].Frame)
	}
	return dst
}

// Restrict returns a sink that passes to another one only messages which frames of the set completed. A nil
// set restricts nothing.
func (s *Frames) Restrict(to pipeline.PacketSink) pipeline.PacketSink {
	if s == nil {
		return to
	}
	return restricted{to, *s}
}

// restricted is the sink of Restrict.
type restricted struct {
	pipeline.PacketSink
	frames Frames
}

// AddMessage implements pipeline.PacketSink.
func (r restricted) AddMessage(p *pipeline.Pick) {
	p.IsChosen = p.IsChosen && r.frames.Has(p.Frame)
	r.PacketSink.AddMessage(p)
}
