package subset

import (
	"qsniff/internal/pipeline"
	"qsniff/internal/render"
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
